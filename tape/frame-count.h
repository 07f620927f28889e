/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Counts the frames of samples: all frames, those with a name, and the others by module. */

#include <stdint.h>

#include "tape/stack-ends.h"
#include "tape/tape.h"

struct frame_count {
	const struct tape *tape;
	/* The counts of each stack, and of each frame as a leaf; indexed by their numbers. */
	uint64_t *stacks, *frames;
};

/* Allocates the counts. Returns 0 or -ENOMEM. Call frame_count_done() also after a failure. */
int frame_count_init(struct frame_count *count, const struct tape *tape);
void frame_count_done(struct frame_count *count);

/* Counts the frames of a stack and its leaf, `times` times. */
static inline void frame_count_add(struct frame_count *count, uint32_t stack, uint32_t leaf,
				   uint64_t times)
{
	count->stacks[stack] += times;
	count->frames[leaf] += times;
}

struct frame_totals {
	uint64_t frames, named;
	/* How the user stacks end. */
	struct stack_shares ends;
	/* The frames without a name, indexed by module of the tape. The caller frees it. */
	uint64_t *unnamed;
};

/* Adds up the frames. Call it once, after counting all stacks. Returns 0 or -ENOMEM. */
int frame_count_finish(struct frame_count *count, struct frame_totals *ret_totals);
