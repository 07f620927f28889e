/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a recorder may do that not everybody may, by the kernel's capabilities: it needs no root,
 * but these.
 *
 *   - CAP_PERFMON: sampling all CPUs, also those that come online later (CAP_SYS_ADMIN before
 * Linux 5.8);
 *   - CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE: what processes of others have
 * mapped, and their files, for names;
 *   - CAP_SYSLOG: the kernel's own names, and its log;
 *   - CAP_IPC_LOCK: rings beyond RLIMIT_MEMLOCK.
 */

#include "base/error.h"

/*
 * Becomes that user for good, with these rights and no others, as far as the kernel knows them.
 * Before there are threads. 0 also when we are that user; the error says what is wrong.
 */
int rights_become(const char *user, struct error *error);

/* -EACCES when that user may not enter a folder above the path, be it there or not: the error names
 * it. As root, and before there are threads. */
int rights_may_reach(const char *user, const char *path, struct error *error);
/* Makes a folder for that user, and what is above it where that is missing, which stays ours. */
int rights_make_folder(const char *user, const char *path, struct error *error);

/* Started with capabilities of its file a process may not look into itself: from here on it may. */
void rights_settle(void);

/* -EPERM inside a PID namespace: the error says what to do. */
int rights_see_host(struct error *error);
