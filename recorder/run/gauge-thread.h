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
 * Puts the values that were read since the last call into the tape. Values after the tape's end
 * wait for the next tape. `anchor` is the most recent one and gives the values their times. For the
 * draining thread; never waits. Returns 0 or -ENOMEM.
 */
int gauge_thread_take(struct gauge_thread *reader, struct tape *tape,
		      const struct tape_anchor *anchor);

/*
 * Says in `trouble` that the thread had no memory for some values. Never waits; leaves `trouble` as
 * it is when nothing was dropped, or when the lock is busy.
 */
void gauge_thread_trouble(struct gauge_thread *reader, struct error *trouble);

/*
 * Fills in what each source has cost so far. Never waits; leaves the old values when the lock is
 * busy.
 */
void gauge_thread_fill(struct gauge_thread *reader, struct recorder_progress *progress);
