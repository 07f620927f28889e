// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/weights.h"

#include <errno.h>
#include <stdlib.h>

/* If the timer was stopped for more slots than this, the samples do not show what the CPU did. */
#define WEIGHT_MAX 16

static int weights_compare_stretches(const void *a, const void *b)
{
	const struct weights_stretch *left = a, *right = b;

	if (left->cpu != right->cpu)
		return left->cpu < right->cpu ? -1 : 1;
	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

/*
 * Adds a throttled stretch. It has at least one sample, because the sample that exceeds the limit
 * still arrives.
 */
static int weights_add_stretch(struct weights *weights, const struct tape_loss *skipped)
{
	uint64_t slots = (skipped->to_ns - skipped->from_ns) / weights->sample_ns;
	uint64_t came = slots - MIN(slots, skipped->count) + 1;
	double weight = MIN((double)skipped->count / came + 1, WEIGHT_MAX);
	struct weights_stretch stretch = { skipped->cpu, skipped->from_ns, skipped->to_ns,
					   weights->sample_ns * weight };

	return array_push(&weights->throttled, stretch);
}

int weights_make(struct weights *weights, const struct tape *tape, uint64_t sample_ns)
{
	int r = 0;

	weights->sample_ns = sample_ns;
	for (size_t i = 0; r == 0 && sample_ns && i < tape->losses.count; i++)
		if (tape_is_throttled(tape, i))
			r = weights_add_stretch(weights, &tape->losses.items[i]);
	if (weights->throttled.count)
		qsort(weights->throttled.items, weights->throttled.count,
		      sizeof(*weights->throttled.items), weights_compare_stretches);
	return r;
}

void weights_done(struct weights *weights)
{
	array_done(&weights->throttled);
}

/* Finds the last stretch that begins before the sample. No other stretch can contain the sample. */
uint64_t weights_of(const struct weights *weights, const struct tape_sample *sample)
{
	const struct weights_stretch *list = weights->throttled.items, *found;
	size_t low = 0, high = weights->throttled.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool before =
			list[middle].cpu < sample->cpu || (list[middle].cpu == sample->cpu &&
							   list[middle].from_ns <= sample->time_ns);

		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	found = low ? &list[low - 1] : NULL;
	return found && found->cpu == sample->cpu && sample->time_ns < found->to_ns
		       ? found->sample_ns
		       : weights->sample_ns;
}
