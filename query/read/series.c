// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/series.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "tape/clocks.h"
#include "tape/tape-events.h"

/*
 * The slowest sources are read once per minute. A counter's growth over a longer time says nothing
 * about a moment.
 */
#define STEP_MAX_NS (150 * NSEC_PER_SEC)

struct last {
	bool there;
	/* a number in `boots` */
	uint64_t boot;
	uint64_t time_ns;
	int64_t value;
};

struct run {
	const struct series_options *options;
	struct loader loader;
	struct strings names;
	/* indexed by series */
	array_of(struct last) lasts;
	struct strings boots;
	/* number of tapes of the window that were read */
	uint64_t tapes;
};

static bool series_ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

size_t series_suffix(const char *name)
{
	if (series_ends_with(name, TAPE_GAUGE_OLDEST))
		return strlen("_s");
	return series_ends_with(name, "_ms") || series_ends_with(name, "_us") ? 3 : 0;
}

bool series_has_name(const char *name, const char *glob)
{
	_cleanup_free_ char *shown = NULL;

	if (!series_suffix(name) || glob_passes(glob, name))
		return glob_passes(glob, name);
	shown = strndup(name, strlen(name) - series_suffix(name));
	return shown && glob_passes(glob, shown);
}

/* Returns true for gauges that count events of which a host has few. */
static bool is_rare(const char *name)
{
	static const char *const ends[] = { "_timeouts",      "/carrier_changes", "/starts",
					    TAPE_GAUGE_MADE,  "/oom_kill",	  "/drop_slab",
					    "/drop_pagecache" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (series_ends_with(name, ends[i]))
			return true;
	return false;
}

double series_max(const char *name)
{
	bool cpu = strncmp(name, "cpu", 3) == 0 && isdigit((unsigned char)name[3]);
	bool pressure = strncmp(name, "pressure/", strlen("pressure/")) == 0;
	bool wait = strncmp(name, "thread/", strlen("thread/")) == 0;

	return (cpu || pressure || wait) && series_suffix(name) ? 100 : INFINITY;
}

enum series_unit series_unit(const char *name)
{
	static const char *const levels[] = { "host/blocked", "memory_cgroups/", "dying-cgroups/" };

	if (series_ends_with(name, TAPE_GAUGE_OLDEST) || series_ends_with(name, "/oldest"))
		return SERIES_SECONDS;
	if (series_suffix(name))
		return SERIES_PER_CENT;
	if (series_ends_with(name, "_cpu") || series_ends_with(name, "/running"))
		return SERIES_LEVEL;
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (strncmp(name, levels[i], strlen(levels[i])) == 0)
			return SERIES_LEVEL;
	return is_rare(name) ? SERIES_COUNT : SERIES_PER_SECOND;
}

/*
 * A counter that went back was reset. Some counters, such as the time that a CPU waited for a disk,
 * go back slightly without a reset.
 */
static void set_figure(struct series_step *step, const struct last *last)
{
	int64_t grown;
	double seconds;

	if (series_is_level(step->unit)) {
		step->figure = step->value;
		step->held = step->from_ns < step->to_ns ? last->value : step->value;
		step->has_figure = true;
		return;
	}
	if (step->from_ns >= step->to_ns ||
	    __builtin_sub_overflow(step->value, last->value, &grown) || grown < 0)
		return;
	seconds = (double)(step->to_ns - step->from_ns) / NSEC_PER_SEC;
	step->figure = step->unit == SERIES_COUNT ? grown : grown / seconds;
	if (step->unit == SERIES_PER_CENT)
		step->figure /= series_ends_with(step->name, "_us") ? 1e4 : 10;
	step->has_figure = true;
}

uint64_t series_wait_begin_ns(const struct series_step *step)
{
	uint64_t growth_ns;

	if (!step->has_figure || step->from_ns >= step->to_ns)
		return step->to_ns;
	growth_ns = step->figure / 100 * (step->to_ns - step->from_ns);
	return step->to_ns - MIN(growth_ns, step->to_ns);
}

static int take_point(struct run *run, const char *name, uint32_t series, uint64_t boot,
		      uint64_t time_ns, int64_t value)
{
	const struct window *window = &run->options->question.window;
	struct last *last = &run->lasts.items[series];
	bool follows = last->there && last->boot == boot && last->time_ns < time_ns &&
		       time_ns - last->time_ns <= STEP_MAX_NS;
	struct series_step step = {
		.name = name,
		.series = series,
		.unit = series_unit(name),
		.from_ns = follows ? last->time_ns : time_ns,
		.to_ns = time_ns,
		.value = value,
	};

	set_figure(&step, last);
	*last = (struct last){ true, boot, time_ns, value };
	if (step.to_ns < window->from_ns || step.from_ns >= window->to_ns)
		return 0;
	return run->options->see(run->options->context, &step);
}

/* Returns the number of a gauge. */
static int find_series(struct run *run, const char *name, uint32_t *ret_series)
{
	uint32_t id;
	int r = strings_add(&run->names, name, strlen(name), &id);

	while (r == 0 && run->lasts.count <= id)
		r = array_push(&run->lasts, (struct last){ 0 });
	*ret_series = id;
	return r;
}

static bool is_wanted(const struct series_options *options, const char *name)
{
	bool called = !options->names.count;

	for (size_t i = 0; !called && i < options->names.count; i++)
		called = series_has_name(name, options->names.list[i]);
	if (!called)
		return false;
	return !options->wants || options->wants(options->context, name);
}

static int series_take_gauge(struct run *run, const struct tape *tape, uint64_t boot,
			     const struct tape_gauge *gauge)
{
	const char *name = strings_at(&tape->strings, gauge->name);
	uint32_t series;
	int r;

	if (!is_wanted(run->options, name))
		return 0;
	r = find_series(run, name, &series);
	for (uint32_t i = 0; r == 0 && i < gauge->count; i++) {
		const struct tape_point *point = &tape->points.items[gauge->first + i];

		r = take_point(run, name, series, boot,
			       clocks_from_perf(tape, CLOCKS_REALTIME, point->time_ns, NULL),
			       point->value);
	}
	return r;
}

static int series_take_gauges(struct run *run, const struct tape *tape)
{
	const char *boot_id = tape_fact(tape, "boot_id");
	uint32_t boot;
	int r = strings_add(&run->boots, boot_id, strlen(boot_id), &boot);

	for (size_t i = 0; r == 0 && i < tape->gauges.count; i++)
		r = series_take_gauge(run, tape, boot, &tape->gauges.items[i]);
	return r;
}

static int series_take_tape(struct run *run, const struct tape *tape)
{
	int r = series_take_gauges(run, tape);

	if (r < 0)
		return r;
	if (run->options->see_tape)
		r = run->options->see_tape(run->options->context, tape);
	return r;
}

static int series_read_segment(struct run *run, const struct store_segment *segment,
			       struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct loaded loaded;
	int r;

	loader_read(&run->loader, segment, 0, SEGMENT_CONTEXT | SEGMENT_LOSSES, &loaded);
	r = loader_take(&run->loader, segment, &loaded, &tape, error);
	run->tapes += r == 1;
	return r == 1 ? series_take_tape(run, tape) : r;
}

static int series_read_segments(struct run *run, struct error *error)
{
	const struct series_options *options = run->options;
	size_t count = run->loader.segments.list.count;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = series_read_segment(run, &run->loader.segments.list.items[i], error);
		if (r == 0 && options->progress)
			options->progress(options->progress_context, i + 1, count);
	}
	return r < 0 ? r : loader_finish(&run->loader, error);
}

static int read_neighbour(struct run *run, struct store_reader *reader,
			  const struct store_segment *segment, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	const struct window *window = &run->options->question.window;
	bool within = segment->begin_ns < window->to_ns && segment->end_ns > window->from_ns;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error own = { 0 };
	int r;

	if (within || *segment->damage)
		return 0;
	r = store_reader_load(reader, segment, &want, &tape, &own);
	if (error_is_exhaustion(r))
		return error_set(error, r, "%s", own.text);
	/* the answer does not depend on a neighbour: ignore a neighbour that is gone or damaged */
	return r < 0 ? 0 : series_take_gauges(run, tape);
}

/*
 * Reads the segments in a stretch before or after the window, because the two readings of a step
 * may be in different segments. Without the neighbours, a short window at the edge of a segment
 * would have no steps of the slowest sources.
 */
static int read_neighbours(struct run *run, struct store_reader *reader, uint64_t from_ns,
			   uint64_t to_ns, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = from_ns < to_ns ? store_reader_find(reader, from_ns, to_ns, &segments, error) : 0;

	for (size_t i = 0; r == 0 && i < segments.list.count; i++)
		r = read_neighbour(run, reader, &segments.list.items[i], error);
	return r;
}

static int read_all(struct run *run, struct store_reader *reader, struct error *error)
{
	const struct window *window = &run->options->question.window;
	uint64_t before_ns = MIN(window->from_ns, STEP_MAX_NS),
		 behind_ns = MIN(UINT64_MAX - window->to_ns, STEP_MAX_NS);
	int r = read_neighbours(run, reader, window->from_ns - before_ns, window->from_ns, error);

	if (r < 0)
		return r;
	r = series_read_segments(run, error);
	/* if no tape of the window was read, its neighbours alone must not produce an answer */
	if (r < 0)
		return r;
	if (run->tapes)
		r = read_neighbours(run, reader, window->to_ns, window->to_ns + behind_ns, error);
	return r;
}

static void series_run_done(struct run *run)
{
	loader_done(&run->loader);
	strings_done(&run->names);
	strings_done(&run->boots);
	array_done(&run->lasts);
}

int series_run(struct store_reader *reader, const struct series_options *options,
	       struct coverage *ret_coverage, struct error *error)
{
	_cleanup_(series_run_done) struct run run = { .options = options };
	int r = loader_open(reader, &options->question, &run.loader, error);

	if (r < 0)
		return r;
	r = read_all(&run, reader, error);
	if (r < 0)
		return r;
	*ret_coverage = run.loader.coverage;
	/* gauges are about the whole host, so left-out CPUs do not matter */
	*ret_coverage->left_out = 0;
	memset(&run.loader.coverage.gaps, 0, sizeof(run.loader.coverage.gaps));
	return 0;
}
