/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the bounds of functions in .eh_frame, the section for unwinding, which stripped files keep.
 * A pure decoder: it reads one entry after the other, does not trust the bytes, and never reads
 * beyond its source.
 */

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/file-window.h"

struct eh_frame {
	struct window entries;
	/* The same section again, to read the common entries to which function entries refer. */
	struct window common;
	/* The section's address in memory. */
	uint64_t address;
	uint64_t at;
	/* The common entry that was read last. */
	uint64_t common_at;
	uint8_t common_encoding;
	bool common_signal;
	uint8_t word_size;
};

struct eh_function {
	uint64_t start;
	uint64_t size;
	/*
	 * The function is a signal trampoline. The function's entry starts one byte early, see
	 * symbolizer/trampolines.h.
	 */
	bool signal;
};

void eh_frame_init(struct eh_frame *frame, const struct file_window *source, uint64_t address,
		   size_t word_size);
void eh_frame_done(struct eh_frame *frame);
/*
 * Returns 1 with the next function, or 0 at the end or at the first invalid entry. Skips functions
 * in unusual encodings.
 */
int eh_frame_next(struct eh_frame *frame, struct eh_function *ret_function);
