/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a process that runs tells of itself: the names of the code that it made, and how wide its
 * words are. Files are opened in its own root, so that no symbolic link leads out of that, and are
 * believed only when they are regular files of the process's own user, or of root.
 */

#include <stdbool.h>
#include <stdint.h>

/* Each -1 when there is none. */
int process_open_perf_map(int32_t pid);
/*
 * That of a process that may be gone, where we would have it ourselves: it stays behind. One that
 * is not root's or ours, or came to be after that moment of the wall clock (0: any), is another
 * one.
 */
int process_open_leftover_map(int32_t pid, uint64_t until_ns);
int process_open_jitdump(int32_t pid);
/* false only when it is sure: a process of 32 bits has another vdso. */
bool process_is_64bit(int32_t pid);
