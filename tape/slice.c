// SPDX-License-Identifier: GPL-2.0-only
#include "tape/slice.h"

#include "base/clock.h"
#include "tape/clocks.h"
#include "tape/tape-events.h"

/* The least time between two readings of a rare gauge. */
#define RARE_NS (5 * NSEC_PER_SEC)
#define NOT_NEEDED UINT32_MAX
#define NEEDED (UINT32_MAX - 1)

/* A range [from, to) of the perf clock. */
struct range {
	uint64_t from_ns;
	uint64_t to_ns;
};

struct slice {
	const struct tape *from;
	struct tape *to;
	/* In order, and not adjacent. */
	array_of(struct range) ranges;
	/* For each row of the source, its number in the result, or one of the values above. */
	uint32_t *modules, *frames, *stacks, *threads;
};

static void slice_done(struct slice *slice)
{
	tape_free(slice->to);
	array_done(&slice->ranges);
	free(slice->modules);
	free(slice->frames);
	free(slice->stacks);
	free(slice->threads);
}

/*
 * Returns the first moment between two anchors at which the wall clock has reached a time. Returns
 * the end of the stretch if it does not reach the time.
 */
static uint64_t slice_reaches(const struct tape *tape, const struct range *stretch,
			      uint64_t realtime_ns)
{
	uint64_t low = stretch->from_ns, high = stretch->to_ns;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (clocks_from_perf(tape, CLOCKS_REALTIME, middle, NULL) < realtime_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_range(struct slice *slice, uint64_t from_ns, uint64_t to_ns)
{
	size_t count = slice->ranges.count;

	if (from_ns >= to_ns)
		return 0;
	if (count && slice->ranges.items[count - 1].to_ns == from_ns) {
		slice->ranges.items[count - 1].to_ns = to_ns;
		return 0;
	}
	return array_push(&slice->ranges, (struct range){ from_ns, to_ns });
}

/*
 * Finds the ranges in which the wall clock was in the window. There are several if the clock was
 * set back. Ranges may lie before the tape's begin or after its end, because lines of the log may
 * lie there.
 */
static int find_ranges(struct slice *slice, uint64_t from_ns, uint64_t to_ns)
{
	struct range stretch = { 0 };

	for (size_t i = 0; i <= slice->from->anchors.count; i++) {
		int r;

		stretch.to_ns = i < slice->from->anchors.count
					? slice->from->anchors.items[i].perf_ns
					: INT64_MAX;
		r = add_range(slice, slice_reaches(slice->from, &stretch, from_ns),
			      slice_reaches(slice->from, &stretch, to_ns));
		if (r < 0)
			return r;
		stretch.from_ns = stretch.to_ns;
	}
	return 0;
}

static bool slice_is_within(const struct slice *slice, uint64_t perf_ns)
{
	for (size_t i = 0; i < slice->ranges.count; i++)
		if (perf_ns < slice->ranges.items[i].to_ns)
			return perf_ns >= slice->ranges.items[i].from_ns;
	return false;
}

/*
 * Sets the begin and the end of the slice. The slice covers the parts of the ranges that the tape
 * covers. The time between two ranges becomes a gap.
 */
static int set_span(struct slice *slice)
{
	const struct tape *from = slice->from;
	struct tape *to = slice->to;
	bool found = false;

	for (size_t i = 0; i < slice->ranges.count; i++) {
		uint64_t begin_ns = MAX(slice->ranges.items[i].from_ns, from->begin_ns);
		uint64_t end_ns = MIN(slice->ranges.items[i].to_ns, from->end_ns);
		struct tape_loss gap = { TAPE_LOSS_GAP, TAPE_ALL_CPUS, to->end_ns, begin_ns, 1 };

		if (begin_ns >= end_ns)
			continue;
		if (found && array_push(&to->losses, gap) < 0)
			return -ENOMEM;
		if (!found)
			to->begin_ns = begin_ns - begin_ns % TAPE_TIME_UNIT_NS;
		to->end_ns = end_ns;
		found = true;
	}
	to->end_ns += (TAPE_TIME_UNIT_NS - to->end_ns % TAPE_TIME_UNIT_NS) % TAPE_TIME_UNIT_NS;
	return found;
}

static uint32_t *new_map(size_t rows)
{
	uint32_t *map = malloc((rows + 1) * sizeof(*map));

	for (size_t i = 0; map && i < rows; i++)
		map[i] = NOT_NEEDED;
	return map;
}

static int new_maps(struct slice *slice)
{
	slice->modules = new_map(slice->from->modules.count);
	slice->frames = new_map(slice->from->frames.count);
	slice->stacks = new_map(slice->from->stacks.count);
	slice->threads = new_map(slice->from->threads.count);
	return slice->modules && slice->frames && slice->stacks && slice->threads ? 0 : -ENOMEM;
}

/*
 * Copies the samples in the ranges. Until slice_renumber(), the copies have the row numbers of the
 * source.
 */
static int take_samples(struct slice *slice)
{
	const struct tape *from = slice->from;

	for (size_t i = 0; i < from->samples.count; i++) {
		const struct tape_sample *sample = &from->samples.items[i];

		if (!slice_is_within(slice, sample->time_ns))
			continue;
		slice->stacks[sample->stack] = NEEDED;
		slice->frames[sample->frame] = NEEDED;
		slice->threads[sample->thread] = NEEDED;
		if (array_push(&slice->to->samples, *sample) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int slice_take_string(struct slice *slice, uint32_t *id)
{
	const char *text = tape_string(slice->from, *id);

	return strings_add(&slice->to->strings, text, strlen(text), id);
}

static int take_fact(struct slice *slice, const struct tape_fact *fact, struct tape_fact *ret_fact)
{
	*ret_fact = *fact;
	if (slice_take_string(slice, &ret_fact->key) < 0 ||
	    slice_take_string(slice, &ret_fact->value) < 0)
		return -ENOMEM;
	return 0;
}

/*
 * Returns whether a fact holds for the slice. If the recording went on after the window, its end is
 * not in the slice. Sums over all samples do not hold for a part of them.
 */
static bool holds_for_slice(const struct slice *slice, const char *key)
{
	bool ends_early = slice->to->end_ns < slice->from->end_ns;
	bool is_part = ends_early || slice->to->begin_ns > slice->from->begin_ns;

	return !(ends_early && strcmp(key, TAPE_ENDED) == 0) &&
	       !(is_part && strcmp(key, TAPE_UNNAMED) == 0);
}

static int slice_take_facts(struct slice *slice)
{
	const struct tape *from = slice->from;

	for (size_t i = 0; i < from->facts.count; i++) {
		struct tape_fact fact;

		if (!holds_for_slice(slice, tape_string(from, from->facts.items[i].key)))
			continue;
		if (take_fact(slice, &from->facts.items[i], &fact) < 0 ||
		    array_push(&slice->to->facts, fact) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->anchors.count; i++)
		if (array_push(&slice->to->anchors, from->anchors.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int slice_take_fields(struct slice *slice, struct tape_fields *fields)
{
	uint32_t first = slice->to->fields.count;

	for (uint32_t i = 0; i < fields->count; i++) {
		struct tape_fact fact;

		if (take_fact(slice, &slice->from->fields.items[fields->first + i], &fact) < 0 ||
		    array_push(&slice->to->fields, fact) < 0)
			return -ENOMEM;
	}
	fields->first = first;
	return 0;
}

/*
 * Returns the time of the events of dying cgroups that the slice copies from outside the window:
 * the last ones before it, else the first ones after it. Returns 0 if the window has such events.
 */
static uint64_t find_dying(const struct slice *slice)
{
	uint64_t begin_ns = slice->ranges.items[0].from_ns, before_ns = 0, after_ns = 0;

	for (size_t i = 0; i < slice->from->events.count; i++) {
		const struct tape_event *event = &slice->from->events.items[i];

		if (strcmp(tape_string(slice->from, event->name), TAPE_EVENT_DYING) != 0)
			continue;
		if (slice_is_within(slice, event->time_ns))
			return 0;
		if (event->time_ns < begin_ns)
			before_ns = event->time_ns;
		else if (!after_ns)
			after_ns = event->time_ns;
	}
	return before_ns ? before_ns : after_ns;
}

static int slice_take_events(struct slice *slice)
{
	uint64_t dying_ns = find_dying(slice);

	for (size_t i = 0; i < slice->from->events.count; i++) {
		struct tape_event event = slice->from->events.items[i];
		bool is_dying = event.time_ns == dying_ns &&
				strcmp(tape_string(slice->from, event.name), TAPE_EVENT_DYING) == 0;

		if (!is_dying && !slice_is_within(slice, event.time_ns))
			continue;
		slice->threads[event.thread] = NEEDED;
		if (slice_take_string(slice, &event.name) < 0 ||
		    slice_take_fields(slice, &event.fields) < 0 ||
		    array_push(&slice->to->events, event) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int slice_take_lines(struct slice *slice)
{
	for (size_t i = 0; i < slice->from->lines.count; i++) {
		struct tape_line line = slice->from->lines.items[i];

		if (slice_is_within(slice, line.time_ns) &&
		    (slice_take_string(slice, &line.text) < 0 ||
		     array_push(&slice->to->lines, line) < 0))
			return -ENOMEM;
	}
	return 0;
}

static int take_incidents(struct slice *slice)
{
	for (size_t i = 0; i < slice->from->incidents.count; i++) {
		struct tape_incident incident = slice->from->incidents.items[i];

		if (slice_is_within(slice, incident.time_ns) &&
		    (slice_take_string(slice, &incident.kind) < 0 ||
		     slice_take_string(slice, &incident.text) < 0 ||
		     slice_take_string(slice, &incident.source) < 0 ||
		     slice_take_fields(slice, &incident.fields) < 0 ||
		     array_push(&slice->to->incidents, incident) < 0))
			return -ENOMEM;
	}
	return 0;
}

/* Returns whether a gauge is read so rarely that a slice may lack a reading. */
static bool slice_is_rare(const struct tape_point *points, uint32_t count)
{
	return count && points[count - 1].time_ns - points[0].time_ns >= (count - 1) * RARE_NS;
}

/* Copies the last reading before the slice, else the first reading after it. */
static int slice_take_near(struct slice *slice, const struct tape_point *points, uint32_t count)
{
	uint32_t before = 0;

	if (!slice_is_rare(points, count) || !slice->ranges.count)
		return 0;
	while (before < count && points[before].time_ns < slice->ranges.items[0].from_ns)
		before++;
	return array_push(&slice->to->points, points[before ? before - 1 : 0]);
}

/*
 * The recorder reads some gauges once a minute. A slice without a reading of a gauge gets the
 * nearest one, because the level of such a gauge may explain what the slice shows.
 */
static int take_gauge(struct slice *slice, struct tape_gauge gauge)
{
	const struct tape_point *run = slice->from->points.items + gauge.first;
	uint32_t points = gauge.count;

	gauge.first = slice->to->points.count;
	for (uint32_t i = 0; i < points; i++)
		if (slice_is_within(slice, run[i].time_ns) &&
		    array_push(&slice->to->points, run[i]) < 0)
			return -ENOMEM;
	if (slice->to->points.count == gauge.first && slice_take_near(slice, run, points) < 0)
		return -ENOMEM;
	gauge.count = slice->to->points.count - gauge.first;
	if (!gauge.count)
		return 0;
	return slice_take_string(slice, &gauge.name) < 0 ? -ENOMEM
							 : array_push(&slice->to->gauges, gauge);
}

static int take_gauges(struct slice *slice)
{
	int r = 0;

	for (size_t i = 0; i < slice->from->gauges.count && r == 0; i++)
		r = take_gauge(slice, slice->from->gauges.items[i]);
	return r;
}

/* Copies the losses that overlap the slice, and losses without length at its begin or end. */
static int take_losses(struct slice *slice)
{
	for (size_t i = 0; i < slice->from->losses.count; i++) {
		const struct tape_loss *loss = &slice->from->losses.items[i];
		bool before = loss->to_ns < slice->to->begin_ns ||
			      (loss->to_ns == slice->to->begin_ns && loss->from_ns < loss->to_ns);
		bool behind = loss->from_ns > slice->to->end_ns ||
			      (loss->from_ns == slice->to->end_ns && loss->from_ns < loss->to_ns);

		if (!before && !behind && array_push(&slice->to->losses, *loss) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Marks the rows that kept rows refer to: callers of stacks, frames of stacks, modules of frames.
 * Row 0 of each table always exists.
 */
static void mark_references(struct slice *slice)
{
	const struct tape *from = slice->from;

	for (size_t i = from->stacks.count; i-- > 1;) {
		if (slice->stacks[i] == NOT_NEEDED)
			continue;
		slice->stacks[from->stacks.items[i].parent] = NEEDED;
		slice->frames[from->stacks.items[i].frame] = NEEDED;
	}
	for (size_t i = 0; i < from->frames.count; i++)
		if (slice->frames[i] == NEEDED)
			slice->modules[from->frames.items[i].module] = NEEDED;
	slice->stacks[0] = slice->frames[0] = slice->modules[0] = 0;
}

static int take_modules(struct slice *slice)
{
	const struct tape *from = slice->from;

	for (size_t i = 1; i < from->modules.count; i++) {
		struct tape_module module = from->modules.items[i];

		if (slice->modules[i] == NOT_NEEDED)
			continue;
		slice->modules[i] = slice->to->modules.count;
		if (slice_take_string(slice, &module.path) < 0 ||
		    array_push(&slice->to->modules, module) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->pids.count; i++)
		if (slice->modules[i] != NOT_NEEDED &&
		    array_push(&slice->to->pids, from->pids.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int slice_take_frames(struct slice *slice)
{
	for (size_t i = 1; i < slice->from->frames.count; i++) {
		struct tape_frame frame = slice->from->frames.items[i];

		if (slice->frames[i] == NOT_NEEDED)
			continue;
		slice->frames[i] = slice->to->frames.count;
		frame.module = slice->modules[frame.module];
		if (slice_take_string(slice, &frame.symbol) < 0 ||
		    array_push(&slice->to->frames, frame) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int take_stacks(struct slice *slice)
{
	for (size_t i = 1; i < slice->from->stacks.count; i++) {
		struct tape_stack stack = slice->from->stacks.items[i];

		if (slice->stacks[i] == NOT_NEEDED)
			continue;
		slice->stacks[i] = slice->to->stacks.count;
		stack.parent = slice->stacks[stack.parent];
		stack.frame = slice->frames[stack.frame];
		if (array_push(&slice->to->stacks, stack) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int slice_take_threads(struct slice *slice)
{
	for (size_t i = 0; i < slice->from->threads.count; i++) {
		struct tape_thread thread = slice->from->threads.items[i];

		if (slice->threads[i] == NOT_NEEDED)
			continue;
		slice->threads[i] = slice->to->threads.count;
		if (slice_take_string(slice, &thread.comm) < 0 ||
		    slice_take_string(slice, &thread.cgroup) < 0 ||
		    array_push(&slice->to->threads, thread) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Replaces the row numbers of the source in all copied tables. */
static void slice_renumber(struct slice *slice)
{
	for (size_t i = 0; i < slice->to->samples.count; i++) {
		struct tape_sample *sample = &slice->to->samples.items[i];

		sample->thread = slice->threads[sample->thread];
		sample->stack = slice->stacks[sample->stack];
		sample->frame = slice->frames[sample->frame];
	}
	for (size_t i = 0; i < slice->to->events.count; i++)
		slice->to->events.items[i].thread =
			slice->threads[slice->to->events.items[i].thread];
}

static int slice_fill(struct slice *slice)
{
	static int (*const rows[])(struct slice *) = { new_maps,	 slice_take_facts,
						       take_samples,	 slice_take_events,
						       slice_take_lines, take_incidents,
						       take_gauges,	 take_losses };
	static int (*const tables[])(struct slice *) = { take_modules, slice_take_frames,
							 take_stacks, slice_take_threads };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i](slice) < 0)
			return -ENOMEM;
	mark_references(slice);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i](slice) < 0)
			return -ENOMEM;
	slice_renumber(slice);
	return 0;
}

int tape_slice(const struct tape *tape, uint64_t from_ns, uint64_t to_ns, struct tape **ret_tape)
{
	_cleanup_(slice_done) struct slice slice = { .from = tape };
	int r = tape_new(&slice.to);

	if (r < 0)
		return r;
	r = find_ranges(&slice, from_ns, to_ns);
	if (r < 0)
		return r;
	r = set_span(&slice);
	if (r < 0)
		return r;
	if (r == 0) {
		*ret_tape = NULL;
		return 0;
	}
	slice.to->sequence = tape->sequence;
	slice.to->unsealed = tape->unsealed;
	if (slice_fill(&slice) < 0)
		return -ENOMEM;
	/* the slice is complete, so it needs no tables for interning */
	tape_freeze(slice.to);
	*ret_tape = take_ptr(slice.to);
	return 0;
}
