/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads files of /proc for a thread that must not be held up. The mappings of a process wait for
 * whoever changes them, who may wait for a file system that is gone; its cgroup waits for the lock
 * of all cgroups, which is what a host suffers from. So another thread reads, and is waited for
 * only so long. One that does not come back is left behind, and a new one reads what comes next.
 */

#include <stddef.h>
#include <stdint.h>

struct proc_reader;

/* Threads that are left behind, at most; then nothing is read until one comes back. */
#define PROC_READER_STUCK_MAX 8

/* 0 or a negative errno. */
int proc_reader_new(struct proc_reader **ret_reader);
/* Waits for nobody: a thread that is stuck takes care of itself. */
struct proc_reader *proc_reader_free(struct proc_reader *reader);

/* From now on, all reading together may be waited for that long, and each file so long. */
void proc_reader_allow(struct proc_reader *reader, uint64_t budget_ns, uint64_t each_ns);
/* Once *stop is not 0, all reading that is left may be waited for a moment: who ends does not keep
 * others waiting for the names of cgroups. */
void proc_reader_hurry(struct proc_reader *reader, const volatile int *stop);
/* file_read(), which the caller frees, and which it is without a reader; -EAGAIN when it does not
 * come in time, or at once when there is no time or no thread left. */
int proc_reader_read(struct proc_reader *reader, const char *path, size_t limit, char **ret_text);
/* The same of what `read` makes of a path and a limit, in the other thread. */
int proc_reader_ask(struct proc_reader *reader,
		    int (*read)(const char *path, size_t limit, char **ret_text), const char *path,
		    size_t limit, char **ret_text);
/* How many are stuck. */
unsigned int proc_reader_stuck(const struct proc_reader *reader);
