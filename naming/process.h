/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens the files in which a running process describes its generated code, and finds its word size.
 * Opens files in the process's own root, which no symbolic link can leave. Accepts only regular
 * files that belong to the process's user or to root.
 */

#include <stdbool.h>
#include <stdint.h>

/* Returns a descriptor, or -1 if there is no map. */
int process_open_perf_map(int32_t pid);
/*
 * Opens the map that a process, which may be gone, left in our root. Returns -1 if the map belongs
 * neither to root nor to us. Returns -1 also if it was created after `until_ns` on the wall clock
 * (0: any time), because it is then from another process.
 */
int process_open_leftover_map(int32_t pid, uint64_t until_ns);
/* Returns a descriptor, or -1 if there is no jitdump. */
int process_open_jitdump(int32_t pid);
/* Returns false only if the process surely has 32-bit words, and so another vdso. */
bool process_is_64bit(int32_t pid);
