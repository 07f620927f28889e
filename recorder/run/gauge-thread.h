/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Keeps the figures of the host (gauges/) beside the samples: a thread of its own reads them once a
 * second, as files of /proc and /sys may make their reader wait; the thread that drains puts what
 * was read into the tape.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "recorder/run/progress.h"
#include "tape/tape.h"

struct gauge_thread;

/* Of the host below the root, "" for this one; borrowed. */
int gauge_thread_start(const char *root, struct gauge_thread **ret_watch, struct error *error);
/* 0; -ETIMEDOUT when the thread hangs in a file for longer than that: then it is left to itself. */
int gauge_thread_stop(struct gauge_thread *watch, uint64_t patience_ns);

/*
 * For the thread that drains: never waits. Puts what was read since the last time into the tape;
 * what is from behind its end waits for the next one. The anchor, the last one, tells when it was.
 * 0 or -ENOMEM.
 */
int gauge_thread_take(struct gauge_thread *watch, struct tape *tape,
		      const struct tape_anchor *anchor);

/* What each source has cost so far. Never waits: when the thread is just handing over, what was
 * told before stays. */
void gauge_thread_tell(struct gauge_thread *watch, struct recorder_progress *progress);
