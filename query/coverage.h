/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How much of a window is known, and what was lost in it. It is fed with what was read (coverage_add_tape) and what could
 * not be read (coverage_add_unread), in any order; coverage_finish() then turns that into covered time and gaps.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "query/cpu-filter.h"
#include "query/window.h"
#include "tape/tape.h"

/* A part of the window that no segment covers, or a segment that could not be read. */
struct selection_gap {
	uint64_t from_ns;
	uint64_t to_ns;
	char why[256]; /* "nothing recorded", or what was wrong with which segment */
	bool unread; /* the latter: something was recorded there */
};

struct coverage {
	uint64_t window_ns;
	uint64_t covered_ns;
	uint64_t lost_samples; /* of all losses that overlap the window */
	bool lost_over_edge; /* one reaches over its edge: some of them were lost outside */
	bool lost_in_part; /* there is time in the window in which none was lost */
	uint64_t lost_sideband;
	uint64_t throttled; /* times that a CPU was throttled */
	uint64_t damaged; /* records or segments that could not be read */
	uint64_t frames; /* of the samples that were selected, user and kernel */
	uint64_t named; /* those that have a name */
	uint64_t clock_error_ns; /* the largest of the samples that were selected */
	array_of(struct selection_gap) gaps;
};

struct coverage_interval {
	uint64_t from_ns;
	uint64_t to_ns;
};

/* Working state between the feeding and the finish. Zeroed is empty. */
struct coverage_parts {
	array_of(struct coverage_interval) covered, lost;
	array_of(struct selection_gap) unread;
};

void coverage_parts_done(struct coverage_parts *parts);

/*
 * Counts a tape's time, and those of its losses that overlap the window and concern the CPUs. `before` is the tape that
 * was added last, or NULL: where one ends on the perf clock as the other begins, nothing is missing between them,
 * whatever the wall clock did. 0 or -ENOMEM.
 */
int coverage_add_tape(struct coverage *coverage, struct coverage_parts *parts,
	const struct window *window, const struct cpu_set_filter *cpus, const struct tape *before,
	const struct tape *tape);
/* The losses alone: those of a tape behind the window may have begun within it. 0 or -ENOMEM. */
int coverage_add_losses(struct coverage *coverage, struct coverage_parts *parts,
	const struct window *window, const struct cpu_set_filter *cpus, const struct tape *tape);
/* A segment that is known to be there and could not be read. 0 or -ENOMEM. */
int coverage_add_unread(struct coverage *coverage, struct coverage_parts *parts, uint64_t from_ns,
	uint64_t to_ns, const char *why);
/* 0 or -ENOMEM. */
int coverage_finish(
	struct coverage *coverage, struct coverage_parts *parts, const struct window *window);

/* Is all of the window covered, and nothing of it lost? */
bool coverage_is_whole(const struct coverage *coverage);

/* "covered 99.2 % (1.0 s missing), 0 samples lost, ...", one line for people, no newline. */
void coverage_describe(const struct coverage *coverage, struct buffer *text);
