/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The rights that a recorder needs. It need not run as root, but it needs these capabilities:
 *
 *   - CAP_PERFMON: sample all CPUs, also those that come online later (CAP_SYS_ADMIN before Linux
 *     5.8);
 *   - CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE: read the mappings of other
 *     processes, and their files, for names;
 *   - CAP_SYSLOG: read the kernel's symbols and its log;
 *   - CAP_IPC_LOCK: lock rings beyond RLIMIT_MEMLOCK.
 */

#include "base/error.h"

/*
 * Becomes that user for good, and keeps only these rights, as far as the kernel knows them. Call it
 * before the process has threads. Returns 0, also if the process has that user already; or a
 * negative errno with an error.
 */
int rights_become(const char *user, struct error *error);

/*
 * Returns -EACCES when that user may not enter a folder above the path; the error names the folder.
 * The path need not exist. Call it as root, before the process has threads.
 */
int rights_may_reach(const char *user, const char *path, struct error *error);
/*
 * Makes a folder that the user owns. Also makes missing folders above it, which this process's user
 * owns. Returns 0 or a negative errno.
 */
int rights_make_folder(const char *user, const char *path, struct error *error);

/*
 * Becomes the owner of a folder for good, if this process is root and another user owns the folder.
 * Keeps the rights of a recorder, which allow only reading. They are necessary: folders above it
 * may be closed to that user, as /var/lib/private is, and `resolve` reads files of all users.
 * Returns 0, also if the folder does not exist; or a negative errno with an error.
 */
int rights_become_owner(const char *path, struct error *error);

/*
 * Lets this process and other processes of its user read its /proc files. By default, the kernel
 * hides the /proc files of a process that changed its user. Changes nothing if the rights come from
 * the program's file: its caller could force a core dump with data that only these rights may read.
 */
void rights_settle(void);

/* Returns -EPERM inside a PID namespace; the error says what to do. */
int rights_see_host(struct error *error);
