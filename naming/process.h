/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens the files in which a running process describes its generated code, and finds its word size.
 * Opens files in the process's own root, without symbolic links. Accepts only regular files with
 * one name that the user of the process owns. Root's files do not count for other users, because a
 * process in its own mount namespace can put any file of root there.
 */

#include <stdbool.h>
#include <stdint.h>

/* Returns a descriptor, or -1 if such a map does not exist. */
int process_open_perf_map(int32_t pid);
/*
 * Opens the map that a process, which may be gone, left in perftape's own root. Returns -1 if
 * neither root nor this user owns the map. Returns -1 also if somebody created the map after
 * `until_ns` on the wall clock (0: any time), because the map is then from another process.
 */
int process_open_leftover_map(int32_t pid, uint64_t until_ns);
/* Returns a descriptor, or -1 if such a jitdump does not exist. */
int process_open_jitdump(int32_t pid);
/*
 * Returns whether the process that has this pid now began after a time on the wall clock, so that
 * another process had the pid at that time. Returns false without such a process, and if the time
 * is 0.
 */
bool process_began_after(int32_t pid, uint64_t time_ns);
/* Returns false only if the process surely has 32-bit words, and so another vdso. */
bool process_is_64bit(int32_t pid);
