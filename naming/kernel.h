/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The kernel's symbols, for one build and one place in memory. Private to naming/. */

#include <stdbool.h>

#include "naming/finder.h"
#include "naming/frames.h"
#include "symbolizer/symbols.h"

/* Starts zeroed. */
struct kernel {
	/* The tape's kernel runs now. */
	bool runs;
	struct symbols *symbols;
	struct tape_module module;
	/* The distance of the symbols from the addresses in the tape's kernel. */
	uint64_t shift;
	/* The modules that had symbols when they were read. */
	struct strings modules;
	bool read;
	/* The symbols were read for the current tape, so they include every module. */
	bool fresh;
};

void kernel_done(struct kernel *kernel);
/*
 * Names the frames of a module of the kernel. Returns 1 without any symbols of the kernel, 0, or
 * -ENOMEM.
 */
int kernel_name(struct kernel *kernel, const struct finder *finder, struct tape *tape,
		const struct frame_table *frames);
/*
 * Sets *ret_runs if the tape's kernel runs now; reads its symbols if that is unknown. Returns 0 or
 * -ENOMEM.
 */
int kernel_runs(struct kernel *kernel, const struct finder *finder, const struct tape *tape,
		bool *ret_runs);
/*
 * Sets *ret_is if the tape's kernel runs now since the same boot, as far as its place in memory
 * shows.
 */
int kernel_is_of_boot(struct kernel *kernel, const struct finder *finder, const struct tape *tape,
		      bool *ret_is);
