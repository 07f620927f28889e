/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The symbols of a kernel at its place in memory. Private to naming/. */

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
	/* The symbols' addresses minus the addresses in the tape's kernel. */
	uint64_t shift;
	/*
	 * The paths of the kernel's modules in the tapes so far. A new path may need fresh symbols.
	 */
	struct strings modules;
	bool read;
	/* The symbols were read for the current tape, so they include every module. */
	bool fresh;
};

void kernel_done(struct kernel *kernel);
/*
 * Names the frames of a module of the kernel. Returns 1 if the symbols of the kernel are not
 * available, 0, or -ENOMEM.
 */
int kernel_name(struct kernel *kernel, const struct finder *finder, struct tape *tape,
		const struct frame_table *frames);
/*
 * Sets *ret_runs to whether the tape's kernel runs now. Reads the symbols of the kernel if that is
 * unknown. Returns 0 or -ENOMEM.
 */
int kernel_runs(struct kernel *kernel, const struct finder *finder, const struct tape *tape,
		bool *ret_runs);
/*
 * Sets *ret_is to whether the tape's kernel runs now and the machine has not booted since. Decides
 * by the kernel's place in memory.
 */
int kernel_is_of_boot(struct kernel *kernel, const struct finder *finder, const struct tape *tape,
		      bool *ret_is);
