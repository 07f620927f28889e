// SPDX-License-Identifier: GPL-2.0-only
#include "tape/frame-count.h"

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

/* Counts how the user stacks end. Call it before frame_count_add_callers() changes the counts. */
static int frame_count_add_ends(const struct frame_count *count, struct stack_shares *shares)
{
	_cleanup_free_ uint8_t *kinds = NULL;
	int r = stack_ends_make(count->tape, &kinds);

	for (size_t i = 1; r == 0 && i < count->tape->stacks.count; i++)
		stack_ends_add(shares, kinds[i], count->stacks[i]);
	return r;
}

int frame_count_finish(struct frame_count *count, struct frame_totals *ret_totals)
{
	const struct tape *tape = count->tape;
	struct frame_totals totals = { 0 };

	if (frame_count_add_ends(count, &totals.ends) < 0)
		return -ENOMEM;
	totals.unnamed = calloc(tape->modules.count, sizeof(*totals.unnamed));
	if (!totals.unnamed)
		return -ENOMEM;
	frame_count_add_callers(count);
	for (size_t i = 0; i < tape->frames.count; i++) {
		const struct tape_frame *frame = &tape->frames.items[i];

		if (!count->frames[i] || tape_is_no_stack(tape, i) || tape_is_mark(tape, i))
			continue;
		totals.frames += count->frames[i];
		if (frame->symbol)
			totals.named += count->frames[i];
		else
			totals.unnamed[frame->module] += count->frames[i];
	}
	*ret_totals = totals;
	return 0;
}
