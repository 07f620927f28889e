// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/stack-dumps.h"

#include <stdio.h>

#include "base/clock.h"

/* The size doubles when more than 1/SMALL_PART of the walked stacks needed more than the copy. */
#define SMALL_PART 20
/* With fewer stacks, the size stays. */
#define STACKS_MIN 200

static void stack_dumps_describe(struct stack_dumps *stacks)
{
	size_t ring_bytes, bytes = perf_dumps_bytes(stacks->events, &ring_bytes);

	stacks->bytes_text[0] = 0;
	if (bytes)
		snprintf(stacks->bytes_text, sizeof(stacks->bytes_text), "%zu", bytes);
}

int stack_dumps_start(struct stack_dumps *stacks, struct perf_events *events,
		      struct tracker *tracker, const struct finder *finder, bool fixed)
{
	const struct unwind_tables_options options = { .finder = *finder,
						       .tracker = tracker,
						       .own_vdso = true };
	struct dumps_options dumps = { .tracker = tracker, .events = events };
	size_t ring_bytes;
	int r;

	stacks->events = events;
	stacks->fixed = fixed;
	stack_dumps_describe(stacks);
	if (!perf_dumps_bytes(events, &ring_bytes))
		return 0;
	r = unwind_tables_new(&options, &stacks->tables);
	if (r < 0)
		return r;
	dumps.tables = stacks->tables;
	stacks->since_ns = clock_ns(CLOCK_MONOTONIC);
	return dumps_new(&dumps, &stacks->dumps);
}

void stack_dumps_done(struct stack_dumps *stacks)
{
	dumps_free(stacks->dumps);
	unwind_tables_free(stacks->tables);
}

/* Returns whether too many walks since the begin of the segment needed more than the copy. */
static bool stack_dumps_are_small(const struct stack_dumps *stacks,
				  const struct dumps_counts *counts)
{
	uint64_t small = counts->small - stacks->since.small;
	uint64_t walked = counts->whole + counts->cut - stacks->since.whole - stacks->since.cut;

	return walked >= STACKS_MIN && small > walked / SMALL_PART;
}

int stack_dumps_turn(struct stack_dumps *stacks, uint64_t segment_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct dumps_counts counts;
	size_t ring_bytes, bytes;
	int r = 0;

	if (!stacks->dumps)
		return 0;
	dumps_align(stacks->dumps);
	if (now_ns - stacks->since_ns < segment_ns)
		return 0;
	dumps_counts(stacks->dumps, &counts);
	bytes = perf_dumps_bytes(stacks->events, &ring_bytes);
	if (!stacks->fixed && bytes < PERF_DUMPS_STACK_MAX &&
	    stack_dumps_are_small(stacks, &counts))
		r = perf_dumps_resize(stacks->events, MIN(2 * bytes, (size_t)PERF_DUMPS_STACK_MAX));
	stack_dumps_describe(stacks);
	stacks->since_ns = now_ns;
	stacks->since = counts;
	return r == -ENOMEM ? r : 0;
}

static void stack_dumps_fill_ends(const struct dump_walk *walk, struct recorder_progress *progress)
{
	size_t size = 0, room = sizeof(progress->stacks_cut_by);

	progress->stacks_cut_by[0] = 0;
	for (unsigned int end = STACK_WHOLE + 1; end < STACK_ENDS && size < room; end++)
		if (walk->ends[end])
			size += snprintf(progress->stacks_cut_by + size, room - size, "%s%s %llu",
					 size ? ", " : "", stack_end_text(end),
					 (unsigned long long)walk->ends[end]);
}

void stack_dumps_fill(const struct stack_dumps *stacks, struct recorder_progress *progress)
{
	struct unwind_tables_counts tables;
	struct dumps_counts counts;
	size_t ring_bytes;

	if (!stacks->dumps)
		return;
	dumps_counts(stacks->dumps, &counts);
	unwind_tables_counts(stacks->tables, &tables);
	progress->stack_bytes = perf_dumps_bytes(stacks->events, &ring_bytes);
	progress->stack_ring_bytes = ring_bytes;
	progress->stacks_whole = counts.whole;
	progress->stacks_cut = counts.cut;
	progress->stacks_small = counts.small;
	stack_dumps_fill_ends(dumps_walks(stacks->dumps), progress);
	progress->stacks_frame_pointers = counts.frame_pointers;
	progress->stacks_spliced = dumps_walks(stacks->dumps)->spliced;
	progress->stacks_lost = counts.lost;
	progress->stacks_aligned = counts.aligned;
	progress->unwind_tables = tables.tables;
	progress->unwind_tables_bytes = tables.bytes;
	progress->unwind_tables_longest_ns = tables.longest_ns;
	progress->unwind_tables_failed = tables.failed;
}
