/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens the files in which a running process describes its generated code, and finds its word size.
 * Files are opened in its own root, which no symbolic link can leave. They are trusted only if they
 * are regular files of the process's user or of root.
 */

#include <stdbool.h>
#include <stdint.h>

/* Returns a descriptor, or -1 without a map. */
int process_open_perf_map(int32_t pid);
/*
 * Opens the map that a process, which may be gone, left in our root. Returns -1 if it belongs to
 * neither root nor us, or was created after `until_ns` on the wall clock (0: any time): then it is
 * another process's.
 */
int process_open_leftover_map(int32_t pid, uint64_t until_ns);
/* Returns a descriptor, or -1 without a jitdump. */
int process_open_jitdump(int32_t pid);
/* Returns false only if the process surely has 32 bits, and so another vdso. */
bool process_is_64bit(int32_t pid);
