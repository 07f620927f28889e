/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The samples of a window: those that pass the filter, in time order over all CPUs and segments, and how much of the window
 * is known. Memory follows the window.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "query/window.h"
#include "store/store-reader.h"
#include "store/tape.h"

/* A set of CPUs; a zeroed one is all of them. */
struct cpu_set_filter {
	array_of(bool) wanted; /* by CPU number */
};

/* "3,8-11". -EINVAL with a text; at most CPU 65535. */
int cpu_filter_parse(const char *text, struct cpu_set_filter *ret_filter, struct error *error);
void cpu_filter_done(struct cpu_set_filter *filter);
bool cpu_filter_passes(const struct cpu_set_filter *filter, uint32_t cpu);

struct selection_row {
	uint64_t realtime_ns;
	uint32_t tape; /* index into tapes */
	uint32_t sample; /* index into its samples */
};

/* A part of the window that no segment covers, or a segment that could not be read. */
struct selection_gap {
	uint64_t from_ns;
	uint64_t to_ns;
	char why[128]; /* "nothing recorded", or what was wrong with which segment */
};

struct coverage {
	uint64_t window_ns;
	uint64_t covered_ns;
	uint64_t lost_samples;
	uint64_t lost_sideband;
	uint64_t throttled; /* times that a CPU was throttled */
	uint64_t damaged; /* records or segments that could not be read */
	uint64_t frames; /* of the samples that were selected, user and kernel */
	uint64_t named; /* those that have a name */
	uint64_t clock_error_ns;
	array_of(struct selection_gap) gaps;
};

struct selection {
	struct window window;
	array_of(struct tape *) tapes;
	array_of(struct selection_row) rows;
	struct coverage coverage;
};

/*
 * 0, also when nothing was recorded: rows.count is 0 then, and coverage.covered_ns tells whether anything was covered.
 * Damaged segments are left out and reported in the coverage.
 */
int selection_make(struct store_reader *reader, const struct window *window,
	const struct cpu_set_filter *cpus, struct selection **ret_selection, struct error *error);
struct selection *selection_free(struct selection *selection);
DEFINE_CLEANUP(selection, struct selection *, selection_free)

/* "covered 99.2 % (1.0 s missing), 0 samples lost, ...", one line for people, no newline. */
void coverage_describe(const struct coverage *coverage, struct buffer *text);
