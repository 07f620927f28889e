/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The rights that a recorder needs. It does not need root, but these capabilities:
 *
 *   - CAP_PERFMON: sample all CPUs, also those that come online later (CAP_SYS_ADMIN before
 *     Linux 5.8);
 *   - CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE: read the mappings of other
 *     processes, and their files, for names;
 *   - CAP_SYSLOG: read the kernel's symbols and its log;
 *   - CAP_IPC_LOCK: lock rings beyond RLIMIT_MEMLOCK.
 */

#include "base/error.h"

/*
 * Becomes that user for good, and keeps only these rights, as far as the kernel knows them. Call it
 * before there are threads. Returns 0, also when we are that user already; or a negative errno with
 * an error.
 */
int rights_become(const char *user, struct error *error);

/*
 * Returns -EACCES when that user may not enter a folder above the path; the error names the folder.
 * The path need not exist. Call it as root, and before there are threads.
 */
int rights_may_reach(const char *user, const char *path, struct error *error);
/*
 * Makes a folder that the user owns. Missing folders above it are made, too, and belong to us.
 * Returns 0 or a negative errno.
 */
int rights_make_folder(const char *user, const char *path, struct error *error);

/*
 * Becomes the owner of a folder for good if we are root and another user owns it. Keeps the right
 * to read, because the folders above it may be closed to that user, as /var/lib/private is. Returns
 * 0, also if the folder does not exist; or a negative errno with an error.
 */
int rights_become_owner(const char *path, struct error *error);

/*
 * Lets this process and other processes of its user read its /proc files. The kernel forbids that
 * to a process that became another user. Changes nothing if the rights come from the program's
 * file, because the caller could then have a core dump of what only these rights may read.
 */
void rights_settle(void);

/* Returns -EPERM inside a PID namespace; the error says what to do. */
int rights_see_host(struct error *error);
