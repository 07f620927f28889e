/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens mapped files while they exist: a process may end after 50 ms, and the files of its
 * container disappear with it. When a process maps a file for the first time, a helper opens the
 * file (recorder/files/open-helper.h). The file stays open until the namer has named the tape. The
 * same holds for perf maps and jitdumps of processes that generate code.
 *
 * opener_see() and opener_turn() are for the draining thread and never wait. opener_find() is for
 * the threads that name functions and make unwind tables, and may wait.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "naming/finder.h"
#include "recorder/perf/perf-record.h"
#include "recorder/procs/tracker.h"

struct opener;

/*
 * Files stay open until `hold_ns` after a process last mapped them. Returns 0 or a negative errno.
 */
int opener_new(uint64_t hold_ns, struct opener **ret_opener, struct error *error);
struct opener *opener_free(struct opener *opener);
DEFINE_CLEANUP(opener, struct opener *, opener_free)

/*
 * Takes a MMAP or MMAP2 record of a process; ignores other records. `owner` is that of the process,
 * see tracker_owner(), or 0.
 */
void opener_see(struct opener *opener, const struct perf_record *record, uint64_t owner);
/*
 * Opens the files of all mappings that the tracker knows. From now on, keeps at most `files`
 * descriptors open.
 */
void opener_begin(struct opener *opener, const struct tracker *tracker, size_t files);
/*
 * Takes answers, sends questions and replaces a helper that does not answer. Call it after each
 * drain, and at least once per second. Asks the tracker, which may be NULL, for owners that were
 * unknown so far.
 */
void opener_turn(struct opener *opener, struct tracker *tracker);

/* The callback of a `struct finder`, with `opener` as its context. */
int opener_find(void *opener, const struct finder *finder, struct finder_request *request,
		struct finder_files *ret_files);

struct opener_counts {
	uint64_t opened;
	/* files that could not be opened; after a retry, a file may count here and in `opened` */
	uint64_t failed;
	/* how often the opener replaced a helper */
	uint64_t unanswered;
	/* open descriptors now */
	size_t descriptors;
};
/* May be called from any thread. */
void opener_counts(struct opener *opener, struct opener_counts *ret_counts);
