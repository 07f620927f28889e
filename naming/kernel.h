/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The kernel's names, of one build and at one place. Of this folder alone. */

#include <stdbool.h>

#include "naming/finder.h"
#include "naming/frames.h"
#include "symbolizer/symbols.h"

/* Zeroed to start. */
struct kernel {
	/* it is the one that runs now */
	bool runs;
	struct symbols *symbols;
	struct tape_module module;
	/* how far they lie above where the tape's kernel has them */
	uint64_t shift;
	/* that there were names for when they were read */
	struct strings modules;
	bool read;
	/* read for the tape at hand: whatever else came, is in it */
	bool fresh;
};

void kernel_done(struct kernel *kernel);
/* Names the frames of one of its modules. 1 when there are no names of it at all, 0 or -ENOMEM. */
int kernel_name(struct kernel *kernel, const struct finder *finder, struct tape *tape,
		const struct frame_table *frames);
/* Is it the tape's kernel that runs now? Read where that is not known yet. 0 or -ENOMEM. */
int kernel_runs(struct kernel *kernel, const struct finder *finder, const struct tape *tape,
		bool *ret_runs);
/* The same, and since the same boot, as far as its place in memory tells that. */
int kernel_is_of_boot(struct kernel *kernel, const struct finder *finder, const struct tape *tape,
		      bool *ret_is);
