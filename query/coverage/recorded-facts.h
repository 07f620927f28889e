/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The hosts that recorded the segments of a window, with their events and frequencies. Without
 * these facts, recordings of two hosts look the same. A window may contain segments of several
 * hosts.
 */

#include "base/bytes.h"
#include "tape/tape.h"

struct recorded_facts {
	/* The values in the order of their text, such as "a, b"; "" if none is known. */
	char host[256];
	char event[256];
	char frequency[64];
};

/* Adds the facts of a tape. A full list ends in "..." and takes no more values. */
void recorded_facts_add(struct recorded_facts *facts, const struct tape *tape);
/* Adds a host alone. */
void recorded_facts_add_host(struct recorded_facts *facts, const char *host);
/* Puts the member "host" of a JSON object: the names, or null if the host is unknown. */
void recorded_facts_put_host(const struct recorded_facts *facts, struct buffer *json);
