/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Checks whether this host is well. The audit watches the host for some seconds, reads what the
 * recorder stored before, and reports what is wrong, with the numbers. The audit does not change
 * anything or start a process. It does not read files for which the kernel would have to walk dying
 * cgroups.
 */

#include "audit/report.h"
#include "store/read/store-reader.h"

/* A caller that waits longer than this for a part of the audit may conclude that a read hangs. */
#define AUDIT_PATIENCE_S 10
#define AUDIT_WATCH_NS (5 * 1000000000ull)
#define AUDIT_HISTORY_NS (6 * 3600 * 1000000000ull)

/* The state of the recorder and its store, from the caller. */
struct audit_recorder {
	/* the host has a store */
	bool there;
	/* the store that the user named; NULL: the default store */
	const char *store;
	bool running;
	/* end of the recorded time, on the wall clock; 0: the store is empty */
	uint64_t reaches_ns;
	/* how long ago the recorder last wrote its status */
	uint64_t stalled_ns;
	/* sampling rate in Hz; 0: not known */
	uint64_t frequency;
	/* time from the newest sample on the disk to the newest sample that was taken */
	uint64_t behind_ns;
	/* lost samples, and all samples, since the recorder started */
	uint64_t lost;
	uint64_t samples;
	/* how often the kernel throttled a CPU */
	uint64_t throttled;
	/* time since the recorder started */
	uint64_t elapsed_ns;
	/* the recorder's sentence about dying cgroups; NULL or "": it wrote none */
	const char *dying;
	/* why the recorder cannot write the store; NULL: it can write */
	const char *blocked;
	/* the file whose symbols the recorder searches for names, and for how long; NULL: none */
	const char *naming;
	uint64_t naming_ns;
};

struct audit_options {
	/*
	 * "" for this host; any other tree is a copy, which does not change, so the audit reads it
	 * once
	 */
	const char *root;
	/* how long to watch; 0: take a single reading, and report no rates */
	uint64_t watch_ns;
	/* The wall clock, and waiting; tests replace both. */
	uint64_t (*now_ns)(void *context);
	void (*wait)(void *context, uint64_t ns);
	void *context;
	/*
	 * The audit calls this function with a name before it reads a part of the host, because a
	 * read in /proc or /sys may hang. If the function returns false, the audit skips that part.
	 * After the part, the audit calls the function with NULL. May be NULL.
	 */
	bool (*enter)(void *context, const char *what);
	/* Reports the progress of the watch, and of reading the history. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
	/* NULL: no history */
	struct store_reader *reader;
	struct audit_recorder recorder;
};

/*
 * Runs all checks and fills in the report, which the caller zeroes before and owns, also on
 * failure. Returns 0 or a negative errno with an error.
 */
int audit_run(const struct audit_options *options, struct report *report, struct error *error);
