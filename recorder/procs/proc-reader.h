/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads files of /proc for a thread that must not block. /proc/PID/maps waits for a process that
 * changes its mappings, which may wait for a dead file system. /proc/PID/cgroup waits for the lock
 * of all cgroups, which may be held for long on a host in trouble.
 *
 * Therefore a second thread reads, and the caller waits for a limited time. A thread that does not
 * return in time is abandoned, and a new one does the next read.
 */

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

struct proc_reader;

/* Maximum number of abandoned threads. Reads nothing more until one of them returns. */
#define PROC_READER_STUCK_MAX 8

/* Returns 0 or a negative errno. */
int proc_reader_new(struct proc_reader **ret_reader);
/* Does not wait: a stuck thread frees its own memory. */
struct proc_reader *proc_reader_free(struct proc_reader *reader);

/* Sets the time that all reads together, and each read, may take from now on. */
void proc_reader_allow(struct proc_reader *reader, uint64_t budget_ns, uint64_t each_ns);
/*
 * Shortens the time for all reads to a moment once *stop is not 0, so that the end does not wait
 * for /proc.
 */
void proc_reader_set_stop(struct proc_reader *reader, const volatile sig_atomic_t *stop);
/*
 * Does file_read() in the other thread, or in this one if reader is NULL. The caller frees
 * *ret_text. Returns 0; -EAGAIN if the result does not come in time, or at once if no time or
 * thread is left; another negative errno.
 */
int proc_reader_read(struct proc_reader *reader, const char *path, size_t limit, char **ret_text);
/* Does the same with a function other than file_read(), which runs in the other thread. */
int proc_reader_run(struct proc_reader *reader,
		    int (*read)(const char *path, size_t limit, char **ret_text), const char *path,
		    size_t limit, char **ret_text);
/* Returns the number of abandoned threads that are still stuck. */
unsigned int proc_reader_stuck(const struct proc_reader *reader);
