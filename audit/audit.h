/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Is this host well? Watches it for some seconds, looks at what was recorded of it before, and says
 * what is wrong with it, with the numbers. It changes nothing, starts no process, and reads nothing
 * that the kernel would have to walk dying cgroups for.
 */

#include "audit/report.h"
#include "store/read/store-reader.h"

/* Who waits for longer takes it that a read hangs. */
#define AUDIT_PATIENCE_S 10
#define AUDIT_WATCH_NS (5 * 1000000000ull)
#define AUDIT_HISTORY_NS (6 * 3600 * 1000000000ull)

/* What is known of the recorder of the store at hand. */
struct audit_recorder {
	/* there is a store to record into */
	bool there;
	/* where who asked said that it is; NULL: it is the usual one */
	const char *store;
	bool running;
	/* until when anything was recorded, of the wall clock; 0: never */
	uint64_t reaches_ns;
	/* how long it has not told of itself */
	uint64_t silent_ns;
	/* in Hz; 0: not known */
	uint64_t frequency;
	/* what is on the disk, behind what was taken */
	uint64_t behind_ns;
	/* samples, since it runs */
	uint64_t lost;
	uint64_t samples;
	/* times */
	uint64_t throttled;
	/* since it runs */
	uint64_t elapsed_ns;
	/* what it says of cgroups that are; NULL or "": nothing */
	const char *dying;
	/* why the store cannot be written; NULL: it can */
	const char *stalled;
};

struct audit_options {
	/* "" for this host; a tree that does not change is read once */
	const char *root;
	/* 0: one reading, and no rates */
	uint64_t watch_ns;
	/* The wall clock, and waiting; tests have their own. */
	uint64_t (*now_ns)(void *context);
	void (*wait)(void *context, uint64_t ns);
	void *context;
	/*
	 * Asked before anything of the host is read, with a name for it, which is passed over where
	 * the answer is false, and told with NULL when that is done: a file of the kernel's may
	 * hang, and whoever reads it does. May be NULL.
	 */
	bool (*enter)(void *context, const char *what);
	/* How much of the watch is over, and of reading the history. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
	/* NULL: without a history */
	struct store_reader *reader;
	struct audit_recorder recorder;
};

/* What is found goes into the report, which is zeroed at first and the caller's, also on failure. 0
 * or a negative errno. */
int audit_run(const struct audit_options *options, struct report *report, struct error *error);
