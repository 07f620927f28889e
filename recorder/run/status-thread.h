/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Tells of the recorder in its store, for `status` and whoever else asks, and does its errands, in
 * a thread of its own: who drains must not wait for a file system. What it was given last is told,
 * what came before and could not be told by then never is.
 */

#include "base/error.h"
#include "recorder/run/progress.h"
#include "store/write/store-writer.h"

struct status_thread;

/* The writer must outlive it. */
int status_thread_start(struct store_writer *writer, void (*errand)(void *context), void *context,
			struct status_thread **ret_teller, struct error *error);
/* The errand is to be done, once more if it is being done. */
void status_thread_send(struct status_thread *teller);
/*
 * Takes a copy, and says in return what it found out meanwhile and who drains does not: of the
 * process's memory, and of what a sample costs the kernel.
 */
void status_thread_tell(struct status_thread *teller, struct recorder_progress *progress);
/*
 * Ends the thread. -ETIMEDOUT when it still waits for the store after so long: then it and the
 * writer have to stay as they are until the process ends.
 */
int status_thread_stop(struct status_thread *teller, uint64_t patience_ns);
