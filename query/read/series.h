/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The host's gauges over a window, step by step. A step is the time from one reading of a gauge to
 * the next. Most gauges are counters, of which only the growth in a step is interesting. Steps come
 * in the order of segments, and within a segment gauge by gauge.
 */

#include "query/window/glob.h"
#include "query/read/loader.h"

/* The unit of a gauge's figures, which follows from the end of the gauge's name. */
enum series_unit {
	/* the value as it was read */
	SERIES_LEVEL,
	/* a level in seconds */
	SERIES_SECONDS,
	SERIES_PER_SECOND,
	/* a number of events: a rate would hide rare events such as timeouts */
	SERIES_COUNT,
	/* share of time, from a counter of milliseconds or microseconds */
	SERIES_PER_CENT,
};

struct series_step {
	const char *name;
	/* number of the name, from 0, the same in all segments */
	uint32_t series;
	enum series_unit unit;
	/*
	 * time of the previous reading; without such a reading equal to to_ns, and then only a
	 * level has a figure
	 */
	uint64_t from_ns;
	/* time of the reading */
	uint64_t to_ns;
	/* the value that was read */
	int64_t value;
	/* the growth between the readings, in the unit; for a level the new value itself */
	double figure;
	/* for a level: the previous value, which held until this reading */
	double held;
	bool has_figure;
};

static inline bool series_is_level(enum series_unit unit)
{
	return unit == SERIES_LEVEL || unit == SERIES_SECONDS;
}

struct series_options {
	struct question question;
	/* an empty list passes all */
	struct globs names;
	/* Selects among the gauges with these names. NULL selects all. */
	bool (*wants)(void *context, const char *name);
	/*
	 * Receives the steps that overlap the window. A negative return value ends the run and
	 * becomes its result.
	 */
	int (*see)(void *context, const struct series_step *step);
	/*
	 * Receives each tape that is read, without samples. Tapes come in the order of their begin.
	 * May be NULL. A negative return value ends the run and becomes its result.
	 */
	int (*see_tape)(void *context, const struct tape *tape);
	void *context;
	/* Reports that `done` of `of` segments are done. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

/* Runs the query. The caller frees the gaps of the coverage. Returns 0 or a negative errno. */
int series_run(struct store_reader *reader, const struct series_options *options,
	       struct coverage *ret_coverage, struct error *error);

enum series_unit series_unit(const char *name);
/*
 * Returns when the wait of a step of thread/NAME/wait_us began, if it was a single one: the kernel
 * adds a wait when the thread runs again, so the wait may begin before the step. Returns the end of
 * the step if the thread did not wait.
 */
uint64_t series_wait_begin_ns(const struct series_step *step);
/*
 * Returns the upper limit of a figure of the gauge, or INFINITY. The kernel counts a CPU's time in
 * ticks, so one second may seem to have 101 %; it counts the wait of a thread when the wait ends,
 * so one second may seem to have 600 %. Only single figures exceed the limit; their mean is right.
 */
double series_max(const char *name);
/*
 * Returns the length of the suffix that names the unit of the raw values. The figures may have
 * another unit.
 */
size_t series_suffix(const char *name);
/*
 * Returns true if the name matches the pattern with or without its suffix. A NULL pattern matches
 * all names.
 */
bool series_has_name(const char *name, const char *glob);
