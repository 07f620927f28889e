/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens the files of what is mapped while they are there: a process may be gone after 50 ms, and
 * its container's files with it. As soon as a mapping of a file is seen for the first time, a
 * helper is sent for it (recorder/files/open-helper.h), and what it brings is held until the tape
 * has been named. So are the perf maps and jitdumps of processes that make code.
 *
 * opener_see() and opener_turn() are for the thread that drains, and never wait; opener_find() is
 * for the one that names, and may.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "naming/finder.h"
#include "recorder/perf/perf-record.h"
#include "recorder/procs/tracker.h"

struct opener;

/*
 * Before there are threads: it forks. hold_ns is how long after it was last seen to be mapped a
 * file may still be asked for. 0 or a negative errno.
 */
int opener_new(uint64_t hold_ns, struct opener **ret_opener);
struct opener *opener_free(struct opener *opener);
DEFINE_CLEANUP(opener, struct opener *, opener_free)

/* A MMAP or MMAP2 record of a process; others are passed over. */
void opener_see(struct opener *opener, const struct perf_record *record);
/* The same for all that the tracker knows of: what was there before. From now on at most so many
 * descriptors are held. */
void opener_begin(struct opener *opener, const struct tracker *tracker, size_t files);
/* Takes what came, sends for what is next, and gives up on who does not answer. After a drain, and
 * at least once a second. */
void opener_turn(struct opener *opener);

/* A `struct finder` asks it: `opener` is its context. */
int opener_find(void *opener, const struct finder *finder, struct finder_request *request,
		struct finder_files *ret_files);

struct opener_counts {
	uint64_t opened;
	/* a file that is tried again may be both */
	uint64_t failed;
	/* times that a helper had to be replaced */
	uint64_t unanswered;
	/* descriptors, at this moment */
	size_t held;
};
/* From any thread. */
void opener_counts(struct opener *opener, struct opener_counts *ret_counts);
