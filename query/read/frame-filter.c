// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/frame-filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tape/stack-class.h"

int frame_filter_kinds(const struct filter *filter, const struct tape *tape, uint8_t **ret_kinds)
{
	struct stack_class_marks marks = { 0 };
	uint8_t *kinds;

	*ret_kinds = NULL;
	if (!filter->no_idle && filter->frames == FILTER_FRAMES_ALL)
		return 0;
	kinds = malloc(MAX(tape->samples.count, (size_t)1) * sizeof(*kinds));
	if (!kinds || stack_class_marks_make(&marks, tape) < 0) {
		free(kinds);
		stack_class_marks_done(&marks);
		return -ENOMEM;
	}
	for (size_t i = 0; i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		const struct tape_thread *thread = &tape->threads.items[sample->thread];
		bool idle = thread->pid == 0 && thread->tid == 0;

		kinds[i] = stack_class_kind(&marks, idle, sample->stack, sample->frame);
	}
	stack_class_marks_done(&marks);
	*ret_kinds = kinds;
	return 0;
}

static bool frame_filter_is_kept(const struct filter *filter, const struct tape *tape,
				 uint32_t frame)
{
	return stack_class_is_kernel(tape, frame) == (filter->frames == FILTER_FRAMES_KERNEL);
}

/*
 * Maps each stack to the stack that remains without the removed frames. Parents come before their
 * children, so the result for the parent is known.
 */
static void frame_filter_shorten(const struct filter *filter, struct tape *tape, uint32_t *left)
{
	left[0] = 0;
	for (uint32_t i = 1; i < tape->stacks.count; i++) {
		struct tape_stack *stack = &tape->stacks.items[i];

		left[i] =
			frame_filter_is_kept(filter, tape, stack->frame) ? i : left[stack->parent];
		stack->parent = left[stack->parent];
	}
}

int frame_filter_frames(const struct filter *filter, struct tape *tape)
{
	_cleanup_free_ uint32_t *left = NULL;
	uint32_t none;

	if (filter->frames == FILTER_FRAMES_ALL || !tape->samples.count)
		return 0;
	left = malloc(tape->stacks.count * sizeof(*left));
	if (!left || tape_add_no_stack(tape, &none) < 0)
		return -ENOMEM;
	frame_filter_shorten(filter, tape, left);
	for (size_t i = 0; i < tape->samples.count; i++) {
		struct tape_sample *sample = &tape->samples.items[i];
		const struct tape_stack *callers = &tape->stacks.items[left[sample->stack]];

		if (frame_filter_is_kept(filter, tape, sample->frame) &&
		    !tape_is_no_stack(tape, sample->frame)) {
			sample->stack = left[sample->stack];
		} else if (left[sample->stack]) {
			sample->frame = callers->frame;
			sample->stack = callers->parent;
		} else {
			sample->frame = none;
			sample->stack = 0;
		}
	}
	return 0;
}
