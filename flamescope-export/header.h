/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The '#' lines at the start of an answer: what it contains, how complete it is, and what changed
 * for Flamescope.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "flamescope-export/flamescope.h"
#include "query/read/selection.h"

struct header {
	const struct selection *selection;
	const struct flamescope_options *options;
	/* The number of changed names. */
	uint64_t changed;
	/* Samples whose stack was too deep. */
	uint64_t truncated;
	/* Samples shown under the name idle-irq. */
	uint64_t idle_irq;
	/* Padding moves all names behind DISGUISE_BYTES. */
	bool disguised;
	/* The time of the last sample, or of the last microsecond, moved by this much. */
	int moved_us;
};

void header_put(const struct header *header, struct buffer *text);
/* Puts the event's name for all samples, because a file of Flamescope has one event. */
void header_put_event(const struct selection *selection, struct buffer *text);
