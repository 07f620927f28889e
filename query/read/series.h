/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The host's figures of a window, step by step, in the order of segments, and within one gauge by
 * gauge. Most gauges are counters: what one looks at is by how much they grew, which a step from
 * one reading to the next says.
 */

#include "query/window/glob.h"
#include "query/read/loader.h"

/* What a gauge's figures are; by its name, which ends in its unit. */
enum series_unit {
	/* as it was read */
	SERIES_LEVEL,
	/* a level too */
	SERIES_SECONDS,
	SERIES_PER_SECOND,
	/* how often: of what is rare, as a timeout is, a rate says nothing */
	SERIES_COUNT,
	/* of the time: a counter of milliseconds or microseconds */
	SERIES_PER_CENT,
};

struct series_step {
	const char *name;
	/* a number for the name, from 0 on, the same in all segments */
	uint32_t series;
	enum series_unit unit;
	/* of the reading before; the same as to_ns where there is none: then it has no figure,
	 * unless it is a level */
	uint64_t from_ns;
	/* of the reading */
	uint64_t to_ns;
	/* what was read */
	int64_t value;
	/* between the readings; of a level, what was read */
	double figure;
	/* a level: what was read before, and was so until this reading */
	double held;
	bool has_figure;
};

static inline bool series_is_level(enum series_unit unit)
{
	return unit == SERIES_LEVEL || unit == SERIES_SECONDS;
}

struct series_options {
	struct question question;
	/* of none, all */
	struct globs names;
	/* Of those of these names, which; NULL: all. */
	bool (*wants)(void *context, const char *name);
	/* Steps that reach into the window. A negative answer ends it and is handed on. */
	int (*see)(void *context, const struct series_step *step);
	/* Each tape that is read, with what is not samples, in the order of their begin. May be
	 * NULL; the same of its answer. */
	int (*see_tape)(void *context, const struct tape *tape);
	void *context;
	/* How many segments of how many are done. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

/* The gaps of the coverage are the caller's. 0 or a negative errno. */
int series_run(struct store_reader *reader, const struct series_options *options,
	       struct coverage *ret_coverage, struct error *error);

enum series_unit series_unit(const char *name);
/*
 * The most that a figure of that name can be: a CPU's time is counted in ticks, a second's reading
 * has one more or less, and 101 % are none. It is so of single figures; their mean is right without
 * it. INFINITY where there is no such thing.
 */
double series_most(const char *name);
/* How many characters at the end of a name say its unit, which its figures are not in. */
size_t series_suffix(const char *name);
/* Is it called so, with its unit or without? NULL: any is. */
bool series_is_called(const char *name, const char *glob);
