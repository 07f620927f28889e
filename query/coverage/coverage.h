/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How much of a window is known, and what was lost in it. The caller passes each tape that it read
 * to coverage_add_tape(), and each segment that it could not read to coverage_add_unread(), in any
 * order. coverage_finish() then computes the covered time and the gaps.
 *
 * If a CPU was offline or a callchain was truncated, the coverage reports that, but the window
 * still counts as covered. If the user selected CPUs, time in which all selected CPUs were offline
 * is not covered.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "query/window/cpu-filter.h"
#include "query/coverage/recorded-facts.h"
#include "query/coverage/stacks-text.h"
#include "query/coverage/unnamed-text.h"
#include "query/window/window.h"
#include "tape/tape.h"

/*
 * Two adjacent segments use different anchors to convert their ends to the wall clock, so these
 * ends differ by microseconds. A difference of up to a tenth of the usual sampling period is
 * therefore not a gap.
 */
#define COVERAGE_GAP_MIN_NS NSEC_PER_MSEC

/* The cause of a gap. coverage_cause_name() gives the words that programs read. */
enum coverage_cause {
	COVERAGE_CAUSE_UNKNOWN,
	COVERAGE_CAUSE_STOPPED,
	COVERAGE_CAUSE_DURATION,
	COVERAGE_CAUSE_KILLED,
	COVERAGE_CAUSE_ENDED,
	COVERAGE_CAUSE_REBOOTED,
	COVERAGE_CAUSE_SUSPENDED,
	COVERAGE_CAUSE_STALLED,
	COVERAGE_CAUSE_UNSAVED,
	COVERAGE_CAUSE_NOT_BEGUN,
	COVERAGE_CAUSE_NOT_IN_FILE,
	COVERAGE_CAUSE_FUTURE,
	COVERAGE_CAUSE_UNWRITTEN,
	COVERAGE_CAUSE_REMOVED,
	COVERAGE_CAUSE_VANISHED,
	COVERAGE_CAUSE_UNREADABLE,
	COVERAGE_CAUSE_DAMAGED,
	COVERAGE_CAUSE_OFFLINE,
};

/*
 * A part of the window that is not covered: no segment spans it, its segment reports it as not
 * covered, or its segment could not be read.
 */
struct coverage_gap {
	uint64_t from_ns;
	uint64_t to_ns;
	/*
	 * The reason, for people: "nothing recorded" or a better explanation
	 * (query/coverage/gap-causes.h), "not written yet", "removed by retention", a stall of the
	 * recorder, a suspended machine, "CPU 1 was offline", "damaged or truncated before it was
	 * sealed", or the fault of a segment.
	 */
	char why[256];
	enum coverage_cause cause;
	/* "1", "8-15": only these CPUs were offline; "": the gap concerns all CPUs */
	char cpus[64];
	/* something was recorded there, but it is damaged or its segment cannot be read */
	bool unread;
	/* the cause of the gap counts as damage, unless something else covers its time */
	bool counts;
	/*
	 * the whole stretch that retention removed, of which this gap is a part; 0 for other gaps
	 */
	uint64_t since_ns;
	uint64_t until_ns;
};

struct coverage {
	uint64_t window_ns;
	uint64_t covered_ns;
	/*
	 * The losses that overlap the window. A loss of samples that crosses the edge of the window
	 * counts only in proportion to its time within the window.
	 */
	/* samples for which the kernel had no room; includes losses of unknown kinds */
	uint64_t lost_samples;
	/* samples that were taken, but could not be stored */
	uint64_t unsaved;
	/* `lost_samples` or `unsaved` includes a loss that crosses the edge of the window */
	bool lost_over_edge;
	/* a part of the window has neither lost nor unsaved samples */
	bool lost_in_part;
	/* samples that were due, but were never taken */
	uint64_t skipped;
	/* `skipped` includes a loss that crosses the edge of the window */
	bool skipped_over_edge;
	uint64_t lost_sideband;
	/* records of names of processes that made too many; other processes are not affected */
	uint64_t refused;
	/* how many times a CPU was throttled; at least 1 if it happened at all */
	uint64_t throttled;
	/* lowest number of samples per second that the kernel allowed; 0 means no limit */
	uint64_t limit;
	/* the limit applied only to a part of the window */
	bool limit_in_part;
	/* how many times a CPU was offline */
	uint64_t offline;
	/* one of the selected CPUs was offline */
	bool asked_offline;
	/* how many times the recorder stalled */
	uint64_t stalled;
	/*
	 * how long in the window a signal stopped the recorder, and how long it got no CPU; the
	 * ring buffers kept the samples that fitted
	 */
	uint64_t stalled_signal_ns;
	uint64_t stalled_cpu_ns;
	/* records or segments that could not be read */
	uint64_t damaged;
	/* callchains that were cut short */
	uint64_t truncated;
	/* lost trace events; samples are not affected */
	uint64_t lost_events;
	/* user and kernel frames of the selected samples */
	uint64_t frames;
	/* the frames among them that have a name */
	uint64_t named;
	/* why the other frames have no name */
	struct unnamed_text unnamed;
	/* how the user stacks end, if some tape was recorded with copies of stacks */
	struct stack_shares stacks;
	bool stacks_read;
	struct recorded_facts facts;
	/* the largest error of the selected samples' times */
	uint64_t clock_error_ns;
	/* "4-7": the selected CPUs that the recorder was configured to leave out; "" if none */
	char left_out[256];
	/*
	 * if CPUs were left out: the CPUs that the recorder recorded; "" if it recorded all CPUs in
	 * a part of the window
	 */
	char recorded[256];
	/* some CPUs were left out only in a part of the window */
	bool left_out_in_part;
	/* none of the selected CPUs was recorded */
	bool left_out_all;
	array_of(struct coverage_gap) gaps;
};

static inline void coverage_done(struct coverage *coverage)
{
	array_done(&coverage->gaps);
}

struct coverage_interval {
	uint64_t from_ns;
	uint64_t to_ns;
};

/* The begin and the end of a tape, on both clocks. */
struct coverage_span {
	char boot_id[40];
	uint64_t perf_begin_ns, perf_end_ns;
	uint64_t begin_ns, end_ns;
};

/*
 * A piece of a condition that lasts, such as throttling. The recorder reports such a condition once
 * per second and again in each segment.
 */
struct coverage_lasting {
	uint32_t kind;
	uint32_t cpu;
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t count;
};

/* Fractional counts of samples, because several small fractions add up to a sample. */
struct coverage_shares {
	double lost, unsaved, skipped;
};

/* The working state between adding and finishing; empty if zeroed. */
struct coverage_parts {
	array_of(struct coverage_interval) covered, lost, lowered;
	/* reasons for uncovered time */
	array_of(struct coverage_gap) reasons;
	array_of(struct coverage_span) spans;
	/* spans whose samples were taken but not stored */
	array_of(struct coverage_span) unsaved;
	array_of(struct coverage_lasting) lasting;
	/* fractions of the losses that cross the edges of the window */
	struct coverage_shares shares;
	struct cpu_set_filter left_out;
	/* CPUs of the tapes that do not record all CPUs; an empty set means no CPU, not all CPUs */
	struct cpu_set_filter recorded;
	/* at least one tape records all CPUs */
	bool all_recorded;
	/* number of selected CPUs; 0 means all */
	size_t asked;
	/* at least one tape records a selected CPU */
	bool asked_recorded;
};

void coverage_parts_done(struct coverage_parts *parts);

/*
 * Adds a tape's time, and its losses that overlap the window and concern the CPUs. Two tapes of a
 * boot that meet on the perf clock have no gap between them, even if the wall clock jumped. Returns
 * 0 or -ENOMEM.
 */
int coverage_add_tape(struct coverage *coverage, struct coverage_parts *parts,
		      const struct window *window, const struct cpu_set_filter *cpus,
		      const struct tape *tape);
/*
 * Adds only the tape's losses. The losses of a tape after the window may have begun in the window.
 * Returns 0 or -ENOMEM.
 */
int coverage_add_losses(struct coverage *coverage, struct coverage_parts *parts,
			const struct window *window, const struct cpu_set_filter *cpus,
			const struct tape *tape);
/*
 * Adds time of the wall clock that is known to be recorded, without any details. Returns 0 or
 * -ENOMEM.
 */
int coverage_add_recorded(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns);
/* Adds a segment that exists but could not be read. Returns 0 or -ENOMEM. */
int coverage_add_unread(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns,
			const char *why);
/*
 * Adds time whose segment files vanished. If the files came back, their segments cover this time
 * again. Returns 0 or -ENOMEM.
 */
int coverage_add_vanished(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns);
/* Adds time whose segments retention removed. Returns 0 or -ENOMEM. */
int coverage_add_removed(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns);
/*
 * Adds a recorder's own report that it could not store `samples` samples in the time of `span`.
 * Returns 0 or -ENOMEM.
 */
int coverage_add_unsaved(struct coverage *coverage, struct coverage_parts *parts,
			 const struct window *window, const struct coverage_span *span,
			 uint64_t samples);
/* Adds time that the recorder may still write. Returns 0 or -ENOMEM. */
int coverage_add_unwritten(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns);
/* Computes the covered time, the gaps and the losses. Returns 0 or -ENOMEM. */
int coverage_finish(struct coverage *coverage, struct coverage_parts *parts,
		    const struct window *window);

/* Returns one word for the cause, such as "killed". */
const char *coverage_cause_name(enum coverage_cause cause);

/* Returns true if the whole window is covered and nothing in it was lost. */
bool coverage_is_whole(const struct coverage *coverage);

/*
 * Appends one line for people without a newline: "covered 99.2 % (1.0 s not recorded), 0 samples
 * lost, ...".
 */
void coverage_describe(const struct coverage *coverage, struct buffer *text);
/* Appends the first `count` gaps as a JSON array. */
void coverage_put_gaps(const struct coverage *coverage, size_t count, struct buffer *json);
/* Appends {"coverage":{...}} and a newline: the last line of all JSON Lines output. */
void coverage_put_json(const struct coverage *coverage, const struct window *window,
		       struct buffer *json);
