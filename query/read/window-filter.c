// SPDX-License-Identifier: GPL-2.0-only
/*
 * Only a sample's own wall clock time decides whether it belongs to the window. How the samples are
 * found affects only the speed: bisection, or a linear search if the wall clock was set back within
 * the tape.
 */
#include "query/read/window-filter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/sort.h"
#include "query/read/frame-account.h"
#include "query/read/frame-filter.h"
#include "tape/stack-class.h"
#include "tape/clocks.h"

/* Returns the first sample at or after a moment. The wall clock times must rise. */
static size_t first_at(const struct tape *tape, uint64_t realtime_ns)
{
	size_t low = 0, high = tape->samples.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tape_to_realtime(tape, tape->samples.items[middle].time_ns, NULL) < realtime_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void window_filter_times_done(struct window_filter_times *times)
{
	array_done(&times->list);
	free(take_ptr(times->kinds));
}

struct timed {
	uint64_t realtime_ns;
	struct tape_sample sample;
	uint8_t kind;
};

static int sort_by_time(struct tape *tape, struct window_filter_times *times)
{
	size_t count = times->list.count;
	_cleanup_free_ struct timed *rows = NULL, *scratch = NULL;

	if (sort_is_sorted(times->list.items, count, sizeof(*times->list.items), 0))
		return 0;
	rows = malloc(count * sizeof(*rows));
	scratch = malloc(count * sizeof(*scratch));
	if (!rows || !scratch)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct timed){ times->list.items[i], tape->samples.items[i],
					  times->kinds ? times->kinds[i] : STACK_CLASS_IDLE };
	sort_by_number(rows, scratch, count, sizeof(*rows), offsetof(struct timed, realtime_ns));
	for (size_t i = 0; i < count; i++) {
		times->list.items[i] = rows[i].realtime_ns;
		tape->samples.items[i] = rows[i].sample;
		if (times->kinds)
			times->kinds[i] = rows[i].kind;
	}
	return 0;
}

static int keep_selected(struct tape *tape, const struct window *window,
			 const struct filter *filter, const bool *threads, uint64_t *error_ns,
			 struct window_filter_times *times)
{
	struct tape_sample *samples = tape->samples.items;
	bool rises = clocks_wall_rises(tape);
	size_t begin = rises ? first_at(tape, window->from_ns) : 0, kept = 0;
	size_t end = rises ? first_at(tape, window->to_ns) : tape->samples.count;
	uint8_t *kinds = times->kinds;

	if (begin < end && array_reserve(&times->list, end - begin) < 0)
		return -ENOMEM;
	for (size_t i = begin; i < end; i++) {
		uint64_t realtime_ns, off_ns = 0;

		if (!cpu_filter_passes(&filter->cpus, samples[i].cpu) ||
		    (threads && !threads[samples[i].thread]) ||
		    (filter->no_idle && kinds[i] == STACK_CLASS_IDLE))
			continue;
		realtime_ns = tape_to_realtime(tape, samples[i].time_ns, &off_ns);
		if (realtime_ns < window->from_ns || realtime_ns >= window->to_ns)
			continue;
		*error_ns = MAX(*error_ns, off_ns);
		times->list.items[times->list.count++] = realtime_ns;
		if (kinds)
			kinds[kept] = kinds[i];
		samples[kept++] = samples[i];
	}
	tape->samples.count = kept;
	return 0;
}

/* The caller may keep the tape, so free the memory of the samples that were removed. */
static void window_filter_trim(struct tape *tape)
{
	size_t wanted = MAX(tape->samples.count, (size_t)1);
	void *smaller;

	if (tape->samples.capacity / 2 < wanted)
		return;
	smaller = realloc(tape->samples.items, wanted * sizeof(*tape->samples.items));
	if (!smaller)
		return;
	tape->samples.items = smaller;
	tape->samples.capacity = wanted;
}

int window_filter_samples(struct tape *tape, const struct window *window,
			  const struct filter *filter, uint64_t *error_ns,
			  struct window_filter_times *ret_times)
{
	_cleanup_free_ bool *threads = NULL;
	_cleanup_(window_filter_times_done) struct window_filter_times times = { 0 };
	int r = 0;

	if (filter_has_threads(filter))
		r = filter_threads(filter, tape, &threads);
	if (r < 0)
		return r;
	r = frame_filter_kinds(filter, tape, &times.kinds);
	if (r < 0)
		return r;
	r = keep_selected(tape, window, filter, threads, error_ns, &times);
	if (r < 0)
		return r;
	if (filter->frames == FILTER_FRAMES_ALL)
		free(take_ptr(times.kinds));
	r = frame_filter_frames(filter, tape);
	if (r < 0)
		return r;
	r = sort_by_time(tape, &times);
	if (r < 0)
		return r;
	window_filter_trim(tape);
	if (ret_times) {
		*ret_times = times;
		times = (struct window_filter_times){ 0 };
	}
	return 0;
}

int window_filter_count_samples(const struct tape *tape, struct coverage *coverage)
{
	_cleanup_(frame_count_done) struct frame_count count = { 0 };
	int r;

	if (!tape->samples.count)
		return 0;
	r = frame_count_init(&count, tape);
	for (size_t i = 0; r == 0 && i < tape->samples.count; i++)
		frame_count_add(&count, tape->samples.items[i].stack, tape->samples.items[i].frame,
				1);
	return r < 0 ? r : frame_account_add(&count, coverage);
}
