/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Counts the frames of samples: all frames, the frames with a name, and the reasons why the others
 * have none.
 */

#include <stdint.h>

#include "query/coverage/coverage.h"
#include "tape/tape.h"

struct frame_count {
	const struct tape *tape;
	/* How often a stack, or a frame as the leaf, was counted; indexed by its number. */
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

/*
 * Adds the result to the coverage. Call it once, after all stacks were counted. Returns 0 or
 * -ENOMEM.
 */
int frame_count_finish(struct frame_count *count, struct coverage *coverage);
/* Adds the frame counts of one coverage to another. */
void frame_count_merge(struct coverage *coverage, const struct coverage *other);
