/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Which host recorded the segments of a window, with which event and at which frequency. Evidence
 * of two hosts looks the same otherwise. A window may hold segments of several hosts.
 */

#include "base/bytes.h"
#include "tape/tape.h"

struct recorded_facts {
	/* The values in the order of their text, such as "a, b"; "" if none is known. */
	char host[256];
	char event[256];
	char frequency[64];
};

/* Adds the facts of a tape. A list that is full ends in "..." and takes no more. */
void recorded_facts_add(struct recorded_facts *facts, const struct tape *tape);
/* Puts the member "host" of a JSON object: the names, or null if the host is unknown. */
void recorded_facts_put_host(const struct recorded_facts *facts, struct buffer *json);
