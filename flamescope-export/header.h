/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The '#' lines that an answer starts with: of what it is, how much of it is known, and what was
 * changed for Flamescope. */

#include <stdbool.h>

#include "base/bytes.h"
#include "flamescope-export/flamescope.h"
#include "query/read/selection.h"

struct header {
	const struct selection *selection;
	const struct flamescope_options *options;
	/* names */
	uint64_t changed;
	/* samples whose stack was too deep */
	uint64_t truncated;
	/* samples shown under that name */
	uint64_t idle_irq;
	/* all names stand behind DISGUISE_BYTES */
	bool disguised;
	/* what the time of the last sample, or of the last microsecond, was moved by */
	int moved_us;
};

void header_put(const struct header *header, struct buffer *text);
/* The name that all samples' lines carry: Flamescope's file has one event. */
void header_put_event(const struct selection *selection, struct buffer *text);
