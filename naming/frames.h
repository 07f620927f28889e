/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The numbers of the frames of one module of a tape. Private to naming/. */

#include "tape/tape.h"

struct frame_table {
	uint32_t module;
	const uint32_t *items;
	size_t count;
};

static inline int name_frame(struct tape *tape, struct tape_frame *frame, const char *name,
			     uint64_t offset)
{
	int r = strings_add(&tape->strings, name, strlen(name), &frame->symbol);

	if (r == 0)
		frame->offset = offset;
	return r;
}
