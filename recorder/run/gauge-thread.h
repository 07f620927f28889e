/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Keeps the figures of the host (gauges/) beside the samples: a thread of its own reads them once a second, as files of /proc and /sys may
 * make their reader wait; the thread that drains puts what was read into the tape.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "recorder/run/progress.h"
#include "tape/tape.h"

struct host_watch;

/* Of the host below the root, "" for this one; borrowed. */
int host_watch_start(const char *root, struct host_watch **ret_watch, struct error *error);
/* 0; -ETIMEDOUT when the thread hangs in a file for longer than that: then it is left to itself. */
int host_watch_stop(struct host_watch *watch, uint64_t patience_ns);

/*
 * For the thread that drains: never waits. Puts what was read since the last time into the tape; what is from behind its end waits for the
 * next one. The anchor, the last one, tells when it was. 0 or -ENOMEM.
 */
int host_watch_take(struct host_watch *watch, struct tape *tape, const struct tape_anchor *anchor);

/* What each source has cost so far. Never waits: when the thread is just handing over, what was told before stays. */
void host_watch_tell(struct host_watch *watch, struct recorder_progress *progress);
