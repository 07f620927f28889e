// SPDX-License-Identifier: GPL-2.0-only
#include "naming/first-samples.h"

#include "base/cleanup.h"

/* Notes that a frame was sampled at a time. */
static void first_samples_note(const struct tape *tape, uint32_t frame, uint64_t time_ns,
			       uint64_t *times)
{
	uint64_t *first = &times[tape->frames.items[frame].module];

	*first = MIN(*first, time_ns);
}

int first_samples_find(const struct tape *tape, uint64_t **ret_times)
{
	_cleanup_free_ uint64_t *times = malloc((tape->modules.count + 1) * sizeof(*times));
	_cleanup_free_ uint64_t *stacks = malloc((tape->stacks.count + 1) * sizeof(*stacks));

	if (!times || !stacks)
		return -ENOMEM;
	memset(times, 0xff, tape->modules.count * sizeof(*times));
	memset(stacks, 0xff, tape->stacks.count * sizeof(*stacks));
	for (size_t i = 0; i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];

		first_samples_note(tape, sample->frame, sample->time_ns, times);
		stacks[sample->stack] = MIN(stacks[sample->stack], sample->time_ns);
	}
	/* a parent has a smaller number than its children */
	for (size_t i = tape->stacks.count; i-- > 1;) {
		uint64_t *parent = &stacks[tape->stacks.items[i].parent];

		first_samples_note(tape, tape->stacks.items[i].frame, stacks[i], times);
		*parent = MIN(*parent, stacks[i]);
	}
	*ret_times = take_ptr(times);
	return 0;
}
