/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Records this host. It drains the rings once per second, sorts records by time, and follows
 * processes and threads. Tapes end at wall-clock multiples of the segment's length. A rotation
 * changes the tape and leaves the events open, so each sample is in exactly one tape.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "incidents/patterns/catalogue.h"
#include "recorder/perf/perf-dumps.h"
#include "recorder/run/progress.h"
#include "store/write/store-writer.h"

#define RECORDER_FREQUENCY 97
#define RECORDER_STACK_BYTES PERF_DUMPS_STACK_BYTES
#define RECORDER_SEGMENT_NS (120 * 1000000000ull)

/* Bounds the tapes that wait while the store cannot be written. */
#define RECORDER_MEMORY_BYTES (256ull << 20)

/*
 * Requests to a running recorder. A signal handler may count them up. The recorder reads the counts
 * once per second, and after each signal.
 */
struct recorder_orders {
	/* 1: end the recording; 2 or more: end it without waiting for the store */
	volatile sig_atomic_t stop;
	/* ends the current segment */
	volatile sig_atomic_t rotate;
	/* calls recorder_options.reload() */
	volatile sig_atomic_t reload;
	/* the first signal that asked to stop; 0: none */
	volatile sig_atomic_t signal;
	/* counts SIGCONT signals, each of which ended a stop of the recorder */
	volatile sig_atomic_t continued;
};

struct recorder_options {
	unsigned int frequency;
	/* NULL: the best event that this host has */
	const char *event;
	/* "0-3,8"; NULL: all */
	const char *cpus;
	bool no_user_stacks;
	/* bytes of each sample's user stack to copy for the walk; 0: follow frame pointers */
	size_t stack_bytes;
	/* the user chose stack_bytes, so it does not grow */
	bool stack_bytes_fixed;
	/* "SYSTEM:EVENT,...": trace events in addition to the standard ones; NULL: none */
	const char *trace;
	/* size of each ring, a power of two of pages; 0: the recorder chooses a size */
	size_t ring_bytes;
	uint64_t segment_ns;
	/* 0: until stopped */
	uint64_t duration_ns;
	/* bounds the tapes that wait while the store cannot be written; 0: no bound */
	uint64_t memory_bytes;
	/*
	 * limits that the recorder applies after each segment, and notes in the store for `vacuum`
	 */
	struct store_limits limits;
	const char *version;
	/* the incidents to find in the kernel's log; NULL: the log is not read */
	const struct catalogue *catalogue;
	/* lines that users wrote into the log count as the kernel's */
	bool trust_users;
	/* called for each incident, in another thread; may be NULL */
	void (*found)(void *context);
	/* NULL: none */
	const struct recorder_orders *orders;
	/*
	 * The recorder calls it when the recording has begun, after each drain, and once per second
	 * while the sealer seals the rest. May be NULL.
	 */
	void (*progress)(void *context, const struct recorder_progress *progress);
	/*
	 * Reads new limits after a request to reload, in another thread. Returns 0; or a negative
	 * errno, and then the old limits stay. NULL: the limits never change.
	 */
	int (*reload)(void *context, struct store_limits *ret_limits);
	void *context;
};

struct recorder;

/*
 * Fails outside the host's PID namespace. Finds the trace events, for which the process may need
 * more rights than for recording. Raises this process's priority. Borrows the options; the caller
 * may still change all but `trace`.
 */
int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder,
		 struct error *error);
/*
 * Opens the events. Call it before you make anything else, so that the user sees first which right
 * is missing.
 */
int recorder_open(struct recorder *recorder, struct error *error);
struct recorder *recorder_close(struct recorder *recorder);
DEFINE_CLEANUP(recorder, struct recorder *, recorder_close)

/*
 * Records until a request to stop or the end of the duration, and seals everything. If a thread
 * hangs in the store, sets ret_progress->hung. That thread still uses the recorder and the writer,
 * so the caller must not close them before the process ends. Errors of the store are retried until
 * the end, and only then returned.
 */
int recorder_run(struct recorder *recorder, const char *store, struct store_writer *writer,
		 struct recorder_progress *ret_progress, struct error *error);
