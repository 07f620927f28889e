/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Checks whether this host is well. It watches the host for some seconds, reads what was recorded
 * before, and reports what is wrong, with the numbers. It changes nothing and starts no process. It
 * reads no file for which the kernel would have to walk dying cgroups.
 */

#include "audit/report.h"
#include "store/read/store-reader.h"

/* A caller that waits longer may conclude that a read hangs. */
#define AUDIT_PATIENCE_S 10
#define AUDIT_WATCH_NS (5 * 1000000000ull)
#define AUDIT_HISTORY_NS (6 * 3600 * 1000000000ull)

/* The state of the recorder and its store, from the caller. */
struct audit_recorder {
	/* there is a store */
	bool there;
	/* the store that the user named; NULL: the default one */
	const char *store;
	bool running;
	/* end of the recorded time, by the wall clock; 0: nothing was recorded */
	uint64_t reaches_ns;
	/* how long ago the recorder last wrote its status */
	uint64_t stalled_ns;
	/* in Hz; 0: not known */
	uint64_t frequency;
	/* how far the disk is behind the samples that were taken */
	uint64_t behind_ns;
	/* lost samples, and all samples, since the recorder started */
	uint64_t lost;
	uint64_t samples;
	/* how often the kernel throttled a CPU */
	uint64_t throttled;
	/* time since the recorder started */
	uint64_t elapsed_ns;
	/* the recorder's sentence about dying cgroups; NULL or "": none */
	const char *dying;
	/* why the store cannot be written; NULL: it can */
	const char *blocked;
	/* the file whose names are searched, and for how long; NULL: none */
	const char *naming;
	uint64_t naming_ns;
};

struct audit_options {
	/* "" for this host; any other tree is a copy that does not change, and is read once */
	const char *root;
	/* 0: a single reading, and no rates */
	uint64_t watch_ns;
	/* The wall clock, and waiting; tests replace both. */
	uint64_t (*now_ns)(void *context);
	void (*wait)(void *context, uint64_t ns);
	void *context;
	/*
	 * Called with a name before a part of the host is read, because a read in /proc or /sys may
	 * hang. If it returns false, the audit skips that part. Called with NULL after the part was
	 * read. May be NULL.
	 */
	bool (*enter)(void *context, const char *what);
	/* Reports how much of the watch, and of reading the history, is done. May be NULL. */
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
