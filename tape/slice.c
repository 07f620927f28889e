// SPDX-License-Identifier: GPL-2.0-only
#include "tape/slice.h"

#include "tape/clocks.h"

#define NOT_NEEDED UINT32_MAX
#define NEEDED (UINT32_MAX - 1)

/* Of the perf clock: [from, to). */
struct range {
	uint64_t from_ns;
	uint64_t to_ns;
};

struct slice {
	const struct tape *from;
	struct tape *to;
	/* in order, none next to another */
	array_of(struct range) ranges;
	/* of each row there the number here, or one of the above */
	uint32_t *modules, *frames, *stacks, *threads;
};

static void slice_done(struct slice *cut)
{
	tape_free(cut->to);
	array_done(&cut->ranges);
	free(cut->modules);
	free(cut->frames);
	free(cut->stacks);
	free(cut->threads);
}

/* The first moment in a stretch between two anchors from which on the wall clock shows that time or
 * a later one; else its end. */
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

static int add_range(struct slice *cut, uint64_t from_ns, uint64_t to_ns)
{
	size_t count = cut->ranges.count;

	if (from_ns >= to_ns)
		return 0;
	if (count && cut->ranges.items[count - 1].to_ns == from_ns) {
		cut->ranges.items[count - 1].to_ns = to_ns;
		return 0;
	}
	return array_push(&cut->ranges, (struct range){ from_ns, to_ns });
}

/*
 * When the wall clock showed a time in the window: several times, when it was set back. Also before
 * the tape begins and behind its end, as lines of the log may be from there.
 */
static int find_ranges(struct slice *cut, uint64_t from_ns, uint64_t to_ns)
{
	struct range stretch = { 0 };

	for (size_t i = 0; i <= cut->from->anchors.count; i++) {
		int r;

		stretch.to_ns = i < cut->from->anchors.count ? cut->from->anchors.items[i].perf_ns
							     : INT64_MAX;
		r = add_range(cut, slice_reaches(cut->from, &stretch, from_ns),
			      slice_reaches(cut->from, &stretch, to_ns));
		if (r < 0)
			return r;
		stretch.from_ns = stretch.to_ns;
	}
	return 0;
}

static bool slice_is_within(const struct slice *cut, uint64_t perf_ns)
{
	for (size_t i = 0; i < cut->ranges.count; i++)
		if (perf_ns < cut->ranges.items[i].to_ns)
			return perf_ns >= cut->ranges.items[i].from_ns;
	return false;
}

/* What of the ranges the tape covers is what the cut covers. What it does not, between two of them,
 * is elsewhere: a gap here. */
static int set_span(struct slice *cut)
{
	const struct tape *from = cut->from;
	struct tape *to = cut->to;
	bool found = false;

	for (size_t i = 0; i < cut->ranges.count; i++) {
		uint64_t begin_ns = MAX(cut->ranges.items[i].from_ns, from->begin_ns);
		uint64_t end_ns = MIN(cut->ranges.items[i].to_ns, from->end_ns);
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

static int new_maps(struct slice *cut)
{
	cut->modules = new_map(cut->from->modules.count);
	cut->frames = new_map(cut->from->frames.count);
	cut->stacks = new_map(cut->from->stacks.count);
	cut->threads = new_map(cut->from->threads.count);
	return cut->modules && cut->frames && cut->stacks && cut->threads ? 0 : -ENOMEM;
}

/* Numbers still as they are there. */
static int take_samples(struct slice *cut)
{
	const struct tape *from = cut->from;

	for (size_t i = 0; i < from->samples.count; i++) {
		const struct tape_sample *sample = &from->samples.items[i];

		if (!slice_is_within(cut, sample->time_ns))
			continue;
		cut->stacks[sample->stack] = NEEDED;
		cut->frames[sample->frame] = NEEDED;
		cut->threads[sample->thread] = NEEDED;
		if (array_push(&cut->to->samples, *sample) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int slice_take_string(struct slice *cut, uint32_t *id)
{
	const char *text = tape_string(cut->from, *id);

	return strings_add(&cut->to->strings, text, strlen(text), id);
}

static int take_fact(struct slice *cut, const struct tape_fact *fact, struct tape_fact *ret_fact)
{
	*ret_fact = *fact;
	if (slice_take_string(cut, &ret_fact->key) < 0 ||
	    slice_take_string(cut, &ret_fact->value) < 0)
		return -ENOMEM;
	return 0;
}

static int slice_take_facts(struct slice *cut)
{
	const struct tape *from = cut->from;

	for (size_t i = 0; i < from->facts.count; i++) {
		struct tape_fact fact;

		/* what came behind the cut was recorded */
		if (cut->to->end_ns < from->end_ns &&
		    strcmp(tape_string(from, from->facts.items[i].key), TAPE_ENDED) == 0)
			continue;
		if (take_fact(cut, &from->facts.items[i], &fact) < 0 ||
		    array_push(&cut->to->facts, fact) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->anchors.count; i++)
		if (array_push(&cut->to->anchors, from->anchors.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int slice_take_fields(struct slice *cut, struct tape_fields *fields)
{
	uint32_t first = cut->to->fields.count;

	for (uint32_t i = 0; i < fields->count; i++) {
		struct tape_fact fact;

		if (take_fact(cut, &cut->from->fields.items[fields->first + i], &fact) < 0 ||
		    array_push(&cut->to->fields, fact) < 0)
			return -ENOMEM;
	}
	fields->first = first;
	return 0;
}

static int slice_take_events(struct slice *cut)
{
	for (size_t i = 0; i < cut->from->events.count; i++) {
		struct tape_event event = cut->from->events.items[i];

		if (!slice_is_within(cut, event.time_ns))
			continue;
		cut->threads[event.thread] = NEEDED;
		if (slice_take_string(cut, &event.name) < 0 ||
		    slice_take_fields(cut, &event.fields) < 0 ||
		    array_push(&cut->to->events, event) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int slice_take_lines(struct slice *cut)
{
	for (size_t i = 0; i < cut->from->lines.count; i++) {
		struct tape_line line = cut->from->lines.items[i];

		if (slice_is_within(cut, line.time_ns) && (slice_take_string(cut, &line.text) < 0 ||
							   array_push(&cut->to->lines, line) < 0))
			return -ENOMEM;
	}
	return 0;
}

static int take_incidents(struct slice *cut)
{
	for (size_t i = 0; i < cut->from->incidents.count; i++) {
		struct tape_incident incident = cut->from->incidents.items[i];

		if (slice_is_within(cut, incident.time_ns) &&
		    (slice_take_string(cut, &incident.kind) < 0 ||
		     slice_take_string(cut, &incident.text) < 0 ||
		     slice_take_string(cut, &incident.source) < 0 ||
		     slice_take_fields(cut, &incident.fields) < 0 ||
		     array_push(&cut->to->incidents, incident) < 0))
			return -ENOMEM;
	}
	return 0;
}

static int take_gauge(struct slice *cut, struct tape_gauge gauge)
{
	const struct tape_point *run = cut->from->points.items + gauge.first;
	uint32_t points = gauge.count;

	gauge.first = cut->to->points.count;
	for (uint32_t i = 0; i < points; i++)
		if (slice_is_within(cut, run[i].time_ns) &&
		    array_push(&cut->to->points, run[i]) < 0)
			return -ENOMEM;
	gauge.count = cut->to->points.count - gauge.first;
	if (!gauge.count)
		return 0;
	return slice_take_string(cut, &gauge.name) < 0 ? -ENOMEM
						       : array_push(&cut->to->gauges, gauge);
}

static int take_gauges(struct slice *cut)
{
	int r = 0;

	for (size_t i = 0; i < cut->from->gauges.count && r == 0; i++)
		r = take_gauge(cut, cut->from->gauges.items[i]);
	return r;
}

/* One of no length is of that moment; the tape's end is one too, of which a loss may tell. */
static int take_losses(struct slice *cut)
{
	for (size_t i = 0; i < cut->from->losses.count; i++) {
		const struct tape_loss *loss = &cut->from->losses.items[i];
		bool before = loss->to_ns < cut->to->begin_ns ||
			      (loss->to_ns == cut->to->begin_ns && loss->from_ns < loss->to_ns);
		bool behind = loss->from_ns > cut->to->end_ns ||
			      (loss->from_ns == cut->to->end_ns && loss->from_ns < loss->to_ns);

		if (!before && !behind && array_push(&cut->to->losses, *loss) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A stack needs its callers, each its frame, and that its module. Rows 0 are there always. */
static void need_what_is_referred_to(struct slice *cut)
{
	const struct tape *from = cut->from;

	for (size_t i = from->stacks.count; i-- > 1;) {
		if (cut->stacks[i] == NOT_NEEDED)
			continue;
		cut->stacks[from->stacks.items[i].parent] = NEEDED;
		cut->frames[from->stacks.items[i].frame] = NEEDED;
	}
	for (size_t i = 0; i < from->frames.count; i++)
		if (cut->frames[i] == NEEDED)
			cut->modules[from->frames.items[i].module] = NEEDED;
	cut->stacks[0] = cut->frames[0] = cut->modules[0] = 0;
}

static int take_modules(struct slice *cut)
{
	const struct tape *from = cut->from;

	for (size_t i = 1; i < from->modules.count; i++) {
		struct tape_module module = from->modules.items[i];

		if (cut->modules[i] == NOT_NEEDED)
			continue;
		cut->modules[i] = cut->to->modules.count;
		if (slice_take_string(cut, &module.path) < 0 ||
		    array_push(&cut->to->modules, module) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->pids.count; i++)
		if (cut->modules[i] != NOT_NEEDED &&
		    array_push(&cut->to->pids, from->pids.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int slice_take_frames(struct slice *cut)
{
	for (size_t i = 1; i < cut->from->frames.count; i++) {
		struct tape_frame frame = cut->from->frames.items[i];

		if (cut->frames[i] == NOT_NEEDED)
			continue;
		cut->frames[i] = cut->to->frames.count;
		frame.module = cut->modules[frame.module];
		if (slice_take_string(cut, &frame.symbol) < 0 ||
		    array_push(&cut->to->frames, frame) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int take_stacks(struct slice *cut)
{
	for (size_t i = 1; i < cut->from->stacks.count; i++) {
		struct tape_stack stack = cut->from->stacks.items[i];

		if (cut->stacks[i] == NOT_NEEDED)
			continue;
		cut->stacks[i] = cut->to->stacks.count;
		stack.parent = cut->stacks[stack.parent];
		stack.frame = cut->frames[stack.frame];
		if (array_push(&cut->to->stacks, stack) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int slice_take_threads(struct slice *cut)
{
	for (size_t i = 0; i < cut->from->threads.count; i++) {
		struct tape_thread thread = cut->from->threads.items[i];

		if (cut->threads[i] == NOT_NEEDED)
			continue;
		cut->threads[i] = cut->to->threads.count;
		if (slice_take_string(cut, &thread.comm) < 0 ||
		    slice_take_string(cut, &thread.cgroup) < 0 ||
		    array_push(&cut->to->threads, thread) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The tables are there by now: to their numbers. */
static void slice_renumber(struct slice *cut)
{
	for (size_t i = 0; i < cut->to->samples.count; i++) {
		struct tape_sample *sample = &cut->to->samples.items[i];

		sample->thread = cut->threads[sample->thread];
		sample->stack = cut->stacks[sample->stack];
		sample->frame = cut->frames[sample->frame];
	}
	for (size_t i = 0; i < cut->to->events.count; i++)
		cut->to->events.items[i].thread = cut->threads[cut->to->events.items[i].thread];
}

static int slice_fill(struct slice *cut)
{
	static int (*const rows[])(struct slice *) = { new_maps,	 slice_take_facts,
						       take_samples,	 slice_take_events,
						       slice_take_lines, take_incidents,
						       take_gauges,	 take_losses };
	static int (*const tables[])(struct slice *) = { take_modules, slice_take_frames,
							 take_stacks, slice_take_threads };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i](cut) < 0)
			return -ENOMEM;
	need_what_is_referred_to(cut);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i](cut) < 0)
			return -ENOMEM;
	slice_renumber(cut);
	return 0;
}

int tape_cut(const struct tape *tape, uint64_t from_ns, uint64_t to_ns, struct tape **ret_tape)
{
	_cleanup_(slice_done) struct slice cut = { .from = tape };
	int r = tape_new(&cut.to);

	if (r == 0)
		r = find_ranges(&cut, from_ns, to_ns);
	if (r == 0)
		r = set_span(&cut);
	if (r < 0)
		return r;
	if (r == 0) {
		*ret_tape = NULL;
		return 0;
	}
	cut.to->sequence = tape->sequence;
	cut.to->unsealed = tape->unsealed;
	if (slice_fill(&cut) < 0)
		return -ENOMEM;
	/* nothing is interned into it any more */
	tape_filled(cut.to);
	*ret_tape = take_ptr(cut.to);
	return 0;
}
