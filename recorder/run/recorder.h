/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Records this host: drains the rings once a second, puts records into time order, keeps track of
 * who runs, and cuts what comes out into tapes at wall-clock multiples of the segment's length.
 * Events are opened once; a rotation changes tapes, not events, and each sample is in exactly one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "incidents/patterns/catalogue.h"
#include "recorder/run/progress.h"
#include "store/write/store-writer.h"

#define RECORDER_FREQUENCY 97
#define RECORDER_SEGMENT_NS (120 * 1000000000ull)

/* Of tapes that wait for a store that cannot be written. */
#define RECORDER_MEMORY_BYTES (256ull << 20)

/* What is asked of a recorder while it runs: counted up, by a signal handler maybe. It looks once a
 * second, and when a signal came. */
struct recorder_orders {
	/* no more is recorded; from the second time on, the store is not waited for */
	volatile int stop;
	/* the segment at hand ends here */
	volatile int rotate;
	/* recorder_options.reload() */
	volatile int reload;
	/* the first that asked to stop; 0: none */
	volatile int signal;
	/* it was stopped, and is let go on */
	volatile int continued;
};

struct recorder_options {
	unsigned int frequency;
	/* NULL: the best that there is */
	const char *event;
	/* "0-3,8"; NULL: all */
	const char *cpus;
	bool no_user_stacks;
	/* "SYSTEM:EVENT,...": trace events beside those that are always recorded; NULL: none */
	const char *trace;
	/* of each CPU, a power of two of pages; 0: as much as is reasonable */
	size_t ring_bytes;
	uint64_t segment_ns;
	/* 0: until stopped */
	uint64_t duration_ns;
	/* of tapes that wait for a store that cannot be written; 0: no bound */
	uint64_t memory_bytes;
	/* applied after each segment, and noted for vacuum */
	struct store_limits limits;
	const char *version;
	/* what is looked for in the kernel's log; NULL: it is not read */
	const struct catalogue *catalogue;
	/* what users wrote into it counts as the kernel's */
	bool trust_users;
	/* an incident, in a thread of its own; may be NULL */
	void (*found)(void *context);
	/* NULL: none */
	const struct recorder_orders *orders;
	/* Called when the recording has begun, after each drain, and once a second while the rest
	 * is sealed. May be NULL. */
	void (*progress)(void *context, const struct recorder_progress *progress);
	/* Other limits, as asked for by an order; in another thread. 0, or they stay as they are.
	 * NULL: there are no others. */
	int (*reload)(void *context, struct store_limits *ret_limits);
	void *context;
};

struct recorder;

/*
 * Looks at what may need more rights than recording: whether this is the host, and which trace
 * events it has. The options are borrowed, and those that are of no matter to that may still be
 * filled in.
 */
int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder,
		 struct error *error);
/* Opens the events, so that who may not sample is told before anything else is made; nothing is
 * kept of it until the run. */
int recorder_open(struct recorder *recorder, struct error *error);
struct recorder *recorder_close(struct recorder *recorder);
DEFINE_CLEANUP(recorder, struct recorder *, recorder_close)

/*
 * Returns when all is sealed, or when the store hangs: ret_progress->hung. Then threads are left
 * that use the recorder and the writer, and neither may be closed before the process ends. A
 * failure of the store is one at the end: until then, it is tried again.
 */
int recorder_run(struct recorder *recorder, const char *store, struct store_writer *writer,
		 struct recorder_progress *ret_progress, struct error *error);
