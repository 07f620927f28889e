/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Records the host's gauges (gauges/) beside the samples. A thread reads them once per second,
 * because files of /proc and /sys may block. The draining thread puts them into the tape.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "recorder/run/progress.h"
#include "tape/tape.h"

struct gauge_thread;

/*
 * Starts the thread. `root` is the folder above /proc and /sys, "" for this host; borrowed. Returns
 * 0 or a negative errno.
 */
int gauge_thread_start(const char *root, struct gauge_thread **ret_reader, struct error *error);
/*
 * Ends the thread and frees the object. Returns 0, or -ETIMEDOUT when the thread hangs in a file
 * for longer than `patience_ns`; then the object stays.
 */
int gauge_thread_stop(struct gauge_thread *reader, uint64_t patience_ns);

/*
 * Reads the wait of a thread for a CPU from the next second on, see gauges_watch_thread(). May be
 * called from any thread; never waits for a file.
 */
void gauge_thread_watch(struct gauge_thread *reader, uint32_t tid);

/*
 * Puts the values that the thread read since the last call into the tape. Values after the tape's
 * end wait for the next tape. `anchor` is the most recent anchor; it converts the times of the
 * values. For the draining thread; never waits. Returns 0 or -ENOMEM.
 */
int gauge_thread_take(struct gauge_thread *reader, struct tape *tape,
		      const struct tape_anchor *anchor);

/*
 * Sets `trouble` if the thread dropped values because memory was short. Otherwise, or when the lock
 * is busy, leaves `trouble` as it is. Never waits.
 */
void gauge_thread_trouble(struct gauge_thread *reader, struct error *trouble);

/*
 * Fills in the cost of each source so far. Never waits; when the lock is busy, leaves the old
 * values.
 */
void gauge_thread_fill(struct gauge_thread *reader, struct recorder_progress *progress);
