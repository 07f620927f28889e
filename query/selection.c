// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index says which segments may overlap the window; each is loaded, and of its samples those are taken whose own wall
 * clock time lies in the window. That time alone decides, so that a row is never outside of it; how the samples are found
 * (by halving, or one by one where the wall clock was set back within the tape) is only a matter of speed.
 */
#include "query/selection.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tape/clocks.h"

struct selection *selection_free(struct selection *selection)
{
	if (!selection)
		return NULL;
	for (size_t i = 0; i < selection->tapes.count; i++)
		tape_free(selection->tapes.items[i]);
	array_done(&selection->tapes);
	array_done(&selection->rows);
	array_done(&selection->coverage.gaps);
	free(selection);
	return NULL;
}

/* Does a later sample never have an earlier wall clock time? */
static bool wall_clock_rises(const struct tape *tape)
{
	for (size_t i = 1; i < tape->anchors.count; i++) {
		const struct tape_anchor *a = &tape->anchors.items[i - 1], *b = a + 1;
		int64_t perf_ns = b->perf_ns - a->perf_ns;
		int64_t wall_ns = b->realtime_ns - a->realtime_ns;

		if (wall_ns < 0 || perf_ns - wall_ns > CLOCKS_STEP_NS)
			return false;
	}
	return true;
}

/* The first sample at or after a moment of the wall clock, given that that clock rises. */
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

static int add_rows(struct selection *selection, const struct cpu_set_filter *cpus, uint32_t number)
{
	const struct tape *tape = selection->tapes.items[number];
	const struct window *window = &selection->window;
	bool rises = wall_clock_rises(tape);
	size_t end = rises ? first_at(tape, window->to_ns) : tape->samples.count;

	for (size_t i = rises ? first_at(tape, window->from_ns) : 0; i < end; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		struct selection_row row = { .tape = number, .sample = i };
		uint64_t error_ns = 0;

		if (!cpu_filter_passes(cpus, sample->cpu))
			continue;
		row.realtime_ns = tape_to_realtime(tape, sample->time_ns, &error_ns);
		if (row.realtime_ns < window->from_ns || row.realtime_ns >= window->to_ns)
			continue;
		if (array_push(&selection->rows, row) < 0)
			return -ENOMEM;
		selection->coverage.clock_error_ns =
			MAX(selection->coverage.clock_error_ns, error_ns);
	}
	return 0;
}

/* Each stack's counts are its parent's and one more; parents come first, so one pass knows them all. */
static int count_frames(struct selection *selection, uint32_t number, size_t first_row)
{
	const struct tape *tape = selection->tapes.items[number];
	struct tally {
		uint32_t frames, named;
	} *tallies = calloc(MAX(tape->stacks.count, 1), sizeof(*tallies));
	_cleanup_free_ void *owned = tallies;

	if (!tallies)
		return -ENOMEM;
	for (size_t i = 1; i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		tallies[i] = tallies[stack->parent];
		tallies[i].frames++;
		tallies[i].named += tape->frames.items[stack->frame].symbol != 0;
	}
	for (size_t i = first_row; i < selection->rows.count; i++) {
		const struct tape_sample *sample =
			&tape->samples.items[selection->rows.items[i].sample];

		selection->coverage.frames += tallies[sample->stack].frames + 1;
		selection->coverage.named += tallies[sample->stack].named +
					     (tape->frames.items[sample->frame].symbol != 0);
	}
	return 0;
}

static int add_tape(struct selection *selection, struct coverage_parts *parts,
	const struct cpu_set_filter *cpus, struct tape *tape)
{
	size_t count = selection->tapes.count, first_row = selection->rows.count;
	const struct tape *before = count ? selection->tapes.items[count - 1] : NULL;
	int r = array_push(&selection->tapes, tape);

	if (r < 0) {
		tape_free(tape);
		return r;
	}
	r = coverage_add_tape(&selection->coverage, parts, &selection->window, cpus, before, tape);
	if (r == 0)
		r = add_rows(selection, cpus, count);
	if (r == 0 && selection->rows.count > first_row)
		r = count_frames(selection, count, first_row);
	return r;
}

/* These are not the segment's fault. */
static bool is_ours(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

/* What cannot be read is a gap with a reason, and the window goes on; that memory ran out is nobody's gap. */
static int add_segment(struct selection *selection, struct coverage_parts *parts,
	const struct cpu_set_filter *cpus, struct store_reader *reader,
	const struct store_segment *segment, struct error *error)
{
	const struct segment_want want = {
		selection->window.from_ns,
		selection->window.to_ns,
		SEGMENT_SAMPLES | SEGMENT_LOSSES,
	};
	struct error said = { 0 };
	struct tape *tape = NULL;
	int r = store_reader_load(reader, segment, &want, &tape, &said);

	if (r == 0)
		return add_tape(selection, parts, cpus, tape);
	if (is_ours(r)) {
		if (error)
			*error = said;
		return r;
	}
	if (r == -ENOENT)
		error_set(&said, r, "segment %s was removed by retention", segment->name);
	else
		selection->coverage.damaged++;
	return coverage_add_unread(
		&selection->coverage, parts, segment->begin_ns, segment->end_ns, said.text);
}

static int compare_rows(const void *a, const void *b)
{
	const struct selection_row *left = a, *right = b;

	if (left->realtime_ns != right->realtime_ns)
		return left->realtime_ns < right->realtime_ns ? -1 : 1;
	if (left->tape != right->tape)
		return left->tape < right->tape ? -1 : 1;
	return (left->sample > right->sample) - (left->sample < right->sample);
}

/* They are in order already unless segments overlap or the wall clock was set back. */
static void sort_rows(struct selection *selection)
{
	const struct selection_row *rows = selection->rows.items;

	for (size_t i = 1; i < selection->rows.count; i++) {
		if (compare_rows(&rows[i - 1], &rows[i]) > 0) {
			qsort(selection->rows.items, selection->rows.count, sizeof(*rows),
				compare_rows);
			return;
		}
	}
}

/*
 * The kernel tells of lost samples with the next record that it has room for, and by then another segment may have begun: the one
 * behind the window is asked too, if it knows of any.
 */
static int add_later_losses(struct selection *selection, struct coverage_parts *parts,
	const struct cpu_set_filter *cpus, struct store_reader *reader, struct error *error)
{
	const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES };
	const struct window *window = &selection->window;
	struct store_segments segments = { 0 };
	uint64_t before_ns, after_ns;
	int r = store_reader_near(
		reader, window->to_ns, window->to_ns, &before_ns, &after_ns, error);

	if (r == 0 && after_ns)
		r = store_reader_find(reader, after_ns, after_ns + 1, &segments, error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];
		_cleanup_(cleanup_tape) struct tape *tape = NULL;

		if (!segment->lost || segment->begin_ns < window->to_ns)
			continue;
		r = store_reader_load(reader, segment, &want, &tape, error);
		if (r == 0)
			r = coverage_add_losses(&selection->coverage, parts, window, cpus, tape);
		else if (!is_ours(r))
			r = 0; /* it is not in the window */
	}
	array_done(&segments.list);
	return r;
}

static int load_window(struct selection *selection, struct store_reader *reader,
	const struct cpu_set_filter *cpus, struct error *error)
{
	const struct window *window = &selection->window;
	struct coverage_parts parts = { 0 };
	struct store_segments segments = { 0 };
	int r = store_reader_find(reader, window->from_ns, window->to_ns, &segments, error);

	for (size_t i = 0; r == 0 && i < segments.list.count; i++)
		r = add_segment(selection, &parts, cpus, reader, &segments.list.items[i], error);
	if (r == 0)
		r = add_later_losses(selection, &parts, cpus, reader, error);
	if (r == 0)
		r = coverage_finish(&selection->coverage, &parts, window);
	array_done(&segments.list);
	coverage_parts_done(&parts);
	return r;
}

int selection_make(struct store_reader *reader, const struct window *window,
	const struct cpu_set_filter *cpus, struct selection **ret_selection, struct error *error)
{
	_cleanup_(cleanup_selection) struct selection *selection = calloc(1, sizeof(*selection));
	int r;

	if (!selection)
		return -ENOMEM;
	selection->window = *window;
	r = load_window(selection, reader, cpus, error);
	if (r < 0)
		return r;
	sort_rows(selection);
	*ret_selection = take_ptr(selection);
	return 0;
}
