/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How much of a window is known, and what was lost in it. It is fed with what was read
 * (coverage_add_tape) and what could not be read (coverage_add_unread), in any order;
 * coverage_finish() then turns that into covered time and gaps.
 *
 * A CPU that was not there and callchains that were cut are told, but are nothing that is missing
 * of the window; unless that CPU is asked for: time in which none of those that are asked for was
 * there is not covered.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "query/window/cpu-filter.h"
#include "query/coverage/unnamed-text.h"
#include "query/window/window.h"
#include "tape/tape.h"

/*
 * Two segments' ends are placed on the wall clock each by its own anchors, which differ by
 * microseconds; a tenth of the usual sampling period is no gap.
 */
#define COVERAGE_GAP_MIN_NS NSEC_PER_MSEC

/* A part of the window that no segment covers, or in which a segment says that it does not, or a
 * segment that could not be read. */
struct coverage_gap {
	uint64_t from_ns;
	uint64_t to_ns;
	/*
	 * "nothing recorded", or what is known of that (query/coverage/gap-causes.h), "not written
	 * yet", "removed by retention", that the recorder stood still, that the machine slept, "CPU
	 * 1 was offline", "damaged or cut off before it was sealed", or what was wrong with which
	 * segment
	 */
	char why[256];
	/* the same as one word, for programs; NULL: not known */
	const char *cause;
	/* "1", "8-15": these were not there, and the others may be covered; "" it is of all
	 */
	char cpus[64];
	/* the last two of why: something was recorded there */
	bool unread;
	/* as damage, for as far as nothing else covers it */
	bool counts;
	/* of what retention removed: all of the stretch that this is a part of; else 0 */
	uint64_t since_ns;
	uint64_t until_ns;
};

struct coverage {
	uint64_t window_ns;
	uint64_t covered_ns;
	/* Of losses that overlap the window. Of samples, a loss that reaches over its edge has the
	 * share of its time that is within. */
	/* that the kernel had no room for; those of unknown kinds too */
	uint64_t lost_samples;
	/* that were taken and given up, for want of room */
	uint64_t unsaved;
	/* some of these two are such a share */
	bool lost_over_edge;
	/* there is time in the window in which none of these two was lost */
	bool lost_in_part;
	/* that were due and did not come */
	uint64_t skipped;
	/* some of them are such a share */
	bool skipped_over_edge;
	uint64_t lost_sideband;
	/* times that a CPU was throttled; once at least if it was at all */
	uint64_t throttled;
	/* samples a second that the kernel allowed at the least, fewer than were asked for; 0: all
	 */
	uint64_t limit;
	/* and not in all of the window */
	bool limit_in_part;
	/* times that one was not there */
	uint64_t offline;
	/* one that was asked for */
	bool asked_offline;
	/* times that the recorder stood still */
	uint64_t stalled;
	/* of the window: that a signal kept the recorder from running, and that it got no CPU; the
	 * rings held what they had room for */
	uint64_t stalled_signal_ns;
	uint64_t stalled_cpu_ns;
	/* records or segments that could not be read */
	uint64_t damaged;
	/* callchains */
	uint64_t truncated;
	/* trace events, which no sample misses */
	uint64_t lost_events;
	/* of the samples that were selected, user and kernel */
	uint64_t frames;
	/* those that have a name */
	uint64_t named;
	/* of all the segments' frames */
	struct unnamed_text unnamed;
	/* the largest of the samples that were selected */
	uint64_t clock_error_ns;
	/* "4-7": of the CPUs that were asked for, those that the recorder was told to leave alone;
	 * "" none */
	char left_out[256];
	/* then which it recorded, unless it was all for a part of the window */
	char recorded[256];
	/* some of them only for a part of the window */
	bool left_out_in_part;
	/* none of those that were asked for was recorded */
	bool left_out_all;
	array_of(struct coverage_gap) gaps;
};

struct coverage_interval {
	uint64_t from_ns;
	uint64_t to_ns;
};

/* Where a tape begins and ends, on both clocks. */
struct coverage_span {
	char boot_id[40];
	uint64_t perf_begin_ns, perf_end_ns;
	uint64_t begin_ns, end_ns;
};

/* A piece of what lasts: the recorder tells of it second by second, and each segment anew. */
struct coverage_lasting {
	uint32_t kind;
	uint32_t cpu;
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t count;
};

/* Samples, by parts of one: several small shares are a sample together. */
struct coverage_shares {
	double lost, unsaved, skipped;
};

/* Working state between the feeding and the finish. Zeroed is empty. */
struct coverage_parts {
	array_of(struct coverage_interval) covered, lost, lowered;
	/* for what is not covered */
	array_of(struct coverage_gap) reasons;
	array_of(struct coverage_span) spans;
	/* what was taken and not stored */
	array_of(struct coverage_span) unsaved;
	array_of(struct coverage_lasting) lasting;
	/* of the losses over the window's edges */
	struct coverage_shares shares;
	struct cpu_set_filter left_out,
		/* of tapes that are not of all CPUs; empty is none here */
		recorded;
	/* there is a tape that is */
	bool all_recorded;
	/* how many CPUs were asked for; 0: all */
	size_t asked;
	/* there is a tape that is of one that was asked for */
	bool asked_recorded;
};

void coverage_parts_done(struct coverage_parts *parts);

/*
 * Counts a tape's time, and those of its losses that overlap the window and concern the CPUs. Where
 * one tape ends on the perf clock as another of its boot begins, nothing is missing between them,
 * whatever the wall clock did. 0 or -ENOMEM.
 */
int coverage_add_tape(struct coverage *coverage, struct coverage_parts *parts,
		      const struct window *window, const struct cpu_set_filter *cpus,
		      const struct tape *tape);
/* The losses alone: those of a tape behind the window may have begun within it. 0 or -ENOMEM. */
int coverage_add_losses(struct coverage *coverage, struct coverage_parts *parts,
			const struct window *window, const struct cpu_set_filter *cpus,
			const struct tape *tape);
/* Time of the wall clock of which no more is known than that it was recorded. 0 or -ENOMEM. */
int coverage_add_recorded(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns);
/* A segment that is known to be there and could not be read. 0 or -ENOMEM. */
int coverage_add_unread(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns,
			const char *why);
/* Time of whose segments the files are missing, if they have not come back. 0 or -ENOMEM. */
int coverage_add_absent(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns);
/* Time of which retention removed the segments. 0 or -ENOMEM. */
int coverage_add_removed(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns);
/* A recorder's own word that it could not store so many samples of that span. 0 or -ENOMEM. */
int coverage_add_unsaved(struct coverage *coverage, struct coverage_parts *parts,
			 const struct window *window, const struct coverage_span *span,
			 uint64_t samples);
/* Time of which nobody can say yet whether something was recorded. 0 or -ENOMEM. */
int coverage_add_unwritten(struct coverage_parts *parts, uint64_t from_ns, uint64_t to_ns);
/* 0 or -ENOMEM. */
int coverage_finish(struct coverage *coverage, struct coverage_parts *parts,
		    const struct window *window);

/* Is all of the window covered, and nothing of it lost? */
bool coverage_is_whole(const struct coverage *coverage);

/* "covered 99.2 % (1.0 s missing), 0 samples lost, ...", one line for people, no newline. */
void coverage_describe(const struct coverage *coverage, struct buffer *text);
/* The first ones of the gaps, as an array. */
void coverage_put_gaps(const struct coverage *coverage, size_t count, struct buffer *json);
/* {"coverage":{...}}, the last line of JSON lines, with its newline. */
void coverage_put_json(const struct coverage *coverage, const struct window *window,
		       struct buffer *json);
