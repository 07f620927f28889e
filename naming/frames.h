/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The frames of one module of a tape, by their numbers. Private to naming/. */

#include "tape/tape.h"

/* Where the namer looks up the name of a frame, see naming/frame-uses.h. */
enum frame_use {
	/* At the address itself. */
	FRAME_EXACT = 1,
	/* One byte before the address. */
	FRAME_CALLER = 2,
	FRAME_BOTH = FRAME_EXACT | FRAME_CALLER,
	/* The frame already had a name before. */
	FRAME_NAMED = 4,
};

struct frame_table {
	uint32_t module;
	const uint32_t *items;
	size_t count;
	/* For each frame of the tape: values of enum frame_use, ORed. */
	const uint8_t *uses;
};

/* Returns the address at which to look up the i-th frame of the table, in its file or in memory. */
static inline uint64_t frame_lookup(const struct tape *tape, const struct frame_table *frames,
				    size_t i)
{
	uint64_t address = tape->frames.items[frames->items[i]].address;

	return address - (address && frames->uses[frames->items[i]] & FRAME_CALLER ? 1 : 0);
}

static inline int name_frame(struct tape *tape, struct tape_frame *frame, const char *name,
			     uint64_t offset)
{
	int r = strings_add(&tape->strings, name, strlen(name), &frame->symbol);

	if (r == 0)
		frame->offset = offset;
	return r;
}
