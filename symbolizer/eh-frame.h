/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Where functions begin and end, as .eh_frame says it for unwinding: it stays in stripped files. A
 * pure decoder, one entry after the other; nothing in it is believed, and nothing reaches beyond
 * its source.
 */

#include <stdint.h>

#include "symbolizer/file-window.h"

struct eh_frame {
	struct window entries;
	/* the entries that others refer to */
	struct window common;
	/* where the section is in memory */
	uint64_t address;
	uint64_t at;
	/* the one that was read last */
	uint64_t common_at;
	uint8_t common_encoding;
	uint8_t word_size;
};

struct eh_function {
	uint64_t start;
	uint64_t size;
};

void eh_frame_init(struct eh_frame *frame, const struct file_window *source, uint64_t address,
		   size_t word_size);
void eh_frame_done(struct eh_frame *frame);
/* 1 with the next function, 0 at the end, also where the rest makes no sense. Those that are
 * written in ways nobody uses are passed over. */
int eh_frame_next(struct eh_frame *frame, struct eh_function *ret_function);
