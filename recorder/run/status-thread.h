/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes the recorder's status into its store, for `status` and other readers, and runs a function
 * of the caller on request (the errand). A separate thread does both, because the draining thread
 * must not wait for a file system. It writes only the latest status and drops older ones.
 */

#include "base/error.h"
#include "recorder/run/progress.h"
#include "store/write/store-writer.h"

struct status_thread;

/* Starts the thread. The writer must outlive it. Returns 0 or a negative errno. */
int status_thread_start(struct store_writer *writer, void (*errand)(void *context), void *context,
			struct status_thread **ret_status, struct error *error);
/* Makes the thread run the errand; once more, if it is running already. */
void status_thread_run_errand(struct status_thread *status);
/*
 * Copies the status for the thread to write. Fills in two values that the thread measures: the
 * memory of the process, and the kernel's CPU time for a sample.
 */
void status_thread_put(struct status_thread *status, struct recorder_progress *progress);
/*
 * Ends the thread. Returns 0, or -ETIMEDOUT when it still waits for the store after `patience_ns`;
 * then it and the writer must stay until the process ends.
 */
int status_thread_stop(struct status_thread *status, uint64_t patience_ns);
