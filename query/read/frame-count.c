// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/frame-count.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

int frame_count_init(struct frame_count *count, const struct tape *tape)
{
	*count = (struct frame_count){
		.tape = tape,
		.stacks = calloc(tape->stacks.count, sizeof(*count->stacks)),
		.frames = calloc(tape->frames.count, sizeof(*count->frames)),
	};
	return count->stacks && count->frames ? 0 : -ENOMEM;
}

void frame_count_done(struct frame_count *count)
{
	free(take_ptr(count->stacks));
	free(take_ptr(count->frames));
}

/*
 * Adds the count of each stack to its parent, because a stack contains its parent's frames. Parents
 * have smaller numbers, so one pass from the end is enough.
 */
static void frame_count_add_callers(struct frame_count *count)
{
	const struct tape *tape = count->tape;

	for (size_t i = tape->stacks.count; i-- > 1;) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		count->stacks[stack->parent] += count->stacks[i];
		count->frames[stack->frame] += count->stacks[i];
	}
}

int frame_count_finish(struct frame_count *count, struct coverage *coverage)
{
	const struct tape *tape = count->tape;
	_cleanup_free_ uint64_t *unnamed = calloc(tape->modules.count, sizeof(*unnamed));

	if (!unnamed)
		return -ENOMEM;
	frame_count_add_callers(count);
	for (size_t i = 0; i < tape->frames.count; i++) {
		const struct tape_frame *frame = &tape->frames.items[i];

		if (!count->frames[i] || tape_is_no_stack(tape, i))
			continue;
		coverage->frames += count->frames[i];
		if (frame->symbol)
			coverage->named += count->frames[i];
		else
			unnamed[frame->module] += count->frames[i];
	}
	return unnamed_text_add(&coverage->unnamed, tape, unnamed);
}

void frame_count_merge(struct coverage *coverage, const struct coverage *other)
{
	coverage->frames += other->frames;
	coverage->named += other->named;
	unnamed_text_merge(&coverage->unnamed, &other->unnamed);
}
