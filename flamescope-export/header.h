/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Puts the '#' lines at the start of an answer. They say what the answer contains, how complete it
 * is, and what the export changed for Flamescope.
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
	/* Number of samples whose stack was too deep. */
	uint64_t truncated;
	/* Number of samples shown under the name idle-irq. */
	uint64_t idle_irq;
	/* The number of columns that Flamescope draws. */
	uint64_t columns;
	/* Padding moves all names beyond the first DISGUISE_BYTES. */
	bool disguised;
	/*
	 * The writer moved the samples of the last microsecond by this number of microseconds;
	 * negative: to an earlier time.
	 */
	int moved_us;
};

void header_put(const struct header *header, struct buffer *text);
/* Puts one event name for all samples, because Flamescope supports one event per file. */
void header_put_event(const struct selection *selection, struct buffer *text);
