/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Walks of user stacks in a recording: the unwind tables, the walks, and the size of the copies.
 * Programs with deep stacks need larger copies than others. If the copies were too small for too
 * many stacks of a segment, their size doubles, as far as the memory for the rings allows.
 */

#include "naming/finder.h"
#include "recorder/dumps/dumps.h"
#include "recorder/perf/perf-events.h"
#include "recorder/run/progress.h"

struct stack_dumps {
	struct perf_events *events;
	struct unwind_tables *tables;
	/* NULL: the kernel's callers stay as they are. */
	struct dumps *dumps;
	/* The user chose the size. */
	bool fixed;
	/* The begin of the present segment, on the monotonic clock, and the counts at that time. */
	uint64_t since_ns;
	struct dumps_counts since;
	/* The size of the copies, as text for a fact of tapes; "": the kernel makes no copies. */
	char bytes_text[24];
};

/*
 * Prepares the walks if the events copy stacks. `finder` finds the files of modules. Returns 0 or a
 * negative errno.
 */
int stack_dumps_start(struct stack_dumps *stacks, struct perf_events *events,
		      struct tracker *tracker, const struct finder *finder, bool fixed);
void stack_dumps_done(struct stack_dumps *stacks);

/*
 * Aligns the two timers of each CPU, and chooses the size for the next segment. Returns 0 or
 * -ENOMEM.
 */
int stack_dumps_turn(struct stack_dumps *stacks, uint64_t segment_ns);
/* Puts the counts into the progress. */
void stack_dumps_fill(const struct stack_dumps *stacks, struct recorder_progress *progress);
