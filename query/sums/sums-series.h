/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The sums of a few rows, stretch by stretch: since when a thread group, a function or a CPU stands
 * out in a long window, without decoding samples.
 *
 * A stretch is the part of one segment in the window, usually two minutes. A value of a stretch
 * comes from the digest of the segment, or from its samples at the edges of the window and where a
 * filter needs them; the result is the same. The sum over the stretches is what window-sums gives
 * for the whole window. For CPUs, a grid of window-sums has shorter columns of any length.
 *
 * Find the rows first, with window_sums_read(). Memory use follows the distinct names, and the
 * stretches times the rows.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"
#include "tape/stack-class.h"

enum sums_series_kind {
	/* a CPU, by its number */
	SUMS_SERIES_CPU,
	/* the threads of one name, as a tally of TALLY_BY_NAME names them ("kworker/" and a star)
	 */
	SUMS_SERIES_GROUP,
	/* a function, or "[libc.so.6]" for the unnamed functions of a module */
	SUMS_SERIES_FUNCTION,
};

struct sums_series_row {
	enum sums_series_kind kind;
	uint32_t cpu;
	const char *name;
};

/* The time of one row in one stretch. */
struct sums_series_value {
	/* of a CPU with its idle time, of a group without idle time; zeroed for a function */
	struct stack_class spent;
	/* of a function: on top of the stack, and anywhere in it; 0 for other rows */
	uint64_t self_ns, total_ns;
};

struct sums_series_stretch {
	/* within the window */
	uint64_t from_ns, to_ns;
	/* the part of this time that is covered; 0: the values are not known */
	uint64_t covered_ns;
	/* the time of all CPUs; divide by its work to get shares */
	struct stack_class all;
	uint64_t samples;
	/* the digest sufficed */
	bool digested;
};

struct sums_series_options {
	/* the window and the filter; its hook is called from one thread at a time */
	struct question question;
	/* the caller keeps the names alive */
	const struct sums_series_row *rows;
	size_t count;
	/* at least 1 */
	unsigned int threads;
	/*
	 * Reports that `done` of `of` segments are done. Called from one thread at a time. May be
	 * NULL.
	 */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

struct sums_series {
	/* in the order of their begin */
	array_of(struct sums_series_stretch) stretches;
	/* for each stretch the values of all rows */
	array_of(struct sums_series_value) values;
	/* number of rows */
	size_t rows;
	struct coverage coverage;
	uint64_t samples;
};

static inline const struct sums_series_value *sums_series_value(const struct sums_series *series,
								size_t stretch, size_t row)
{
	return &series->values.items[stretch * series->rows + row];
}

/* Returns 0, or a negative errno with a message. Free the result with sums_series_done(). */
int sums_series_read(struct store_reader *reader, const struct sums_series_options *options,
		     struct sums_series *ret_series, struct error *error);
void sums_series_done(struct sums_series *series);
