/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads files of /proc for a thread that must not block. A read of /proc/PID/maps waits while the
 * process changes its mappings, and the process may wait for a dead file system. A read of
 * /proc/PID/cgroup waits for the lock of all cgroups, which a thread may hold for long on a host in
 * trouble.
 *
 * Therefore a second thread reads, and the caller waits for a limited time. If that thread does not
 * return in time, the reader abandons it, and a new thread does the next read.
 */

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

struct proc_reader;

/* With this number of abandoned threads, the reader does not read until one of them returns. */
#define PROC_READER_STUCK_MAX 8
/*
 * With this number, the reader does not read maps: some processes can let that hang for ever, and
 * then everything else must still be read.
 */
#define PROC_READER_MAPS_STUCK_MAX 5

/* Returns 0 or a negative errno. */
int proc_reader_new(struct proc_reader **ret_reader);
/* Frees the reader without waiting for a stuck thread, which frees its own memory later. */
struct proc_reader *proc_reader_free(struct proc_reader *reader);

/*
 * Sets the time that all further reads together (budget_ns), and each of them (each_ns), may take.
 */
void proc_reader_allow(struct proc_reader *reader, uint64_t budget_ns, uint64_t each_ns);
/*
 * When *stop becomes nonzero, shortens the time for all reads, so that the end of the recorder does
 * not wait for /proc.
 */
void proc_reader_set_stop(struct proc_reader *reader, const volatile sig_atomic_t *stop);
/*
 * Does file_read() in the other thread, or in this one if reader is NULL. The caller frees
 * *ret_text. Returns 0; -EAGAIN if the result does not come in time; -EAGAIN at once if the time is
 * used up, or too many threads are stuck; another negative errno.
 */
int proc_reader_read(struct proc_reader *reader, const char *path, size_t limit, char **ret_text);
/* Does the same for a file that a process can let hang, such as its maps. */
int proc_reader_read_maps(struct proc_reader *reader, const char *path, size_t limit,
			  char **ret_text);
/* Does the same with `read` instead of file_read(). The other thread runs `read`. */
int proc_reader_run(struct proc_reader *reader,
		    int (*read)(const char *path, size_t limit, char **ret_text), const char *path,
		    size_t limit, char **ret_text);
/* Returns the number of abandoned threads that are still stuck. */
unsigned int proc_reader_stuck(const struct proc_reader *reader);
