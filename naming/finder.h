/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the file that a module was mapped from, and makes sure that it is that file: by its build-id, or else by device and
 * inode and by not having been changed since. A name from another file would be worse than none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape/tape.h"

struct finder {
	bool live; /* the tape is of this host at this time: its processes may still run */
	const char *debug_dir; /* perf's cache of files by build-id (~/.debug), or NULL */
};

/*
 * Opens a module's file. pid is a process that has it mapped (0: none), in whose root it is looked for first. until_ns is the wall
 * clock after which a file that is known by its inode alone must not have changed. Gives the build-id to a module that has none.
 * The descriptor, or -1.
 */
int finder_open(const struct finder *finder, struct tape_module *module, const char *path,
	int32_t pid, uint64_t until_ns);
/*
 * The file with the names of a module that a distribution keeps apart, by its build-id, or by the name and the CRC that the module's own file,
 * fd, has of it; else -1. path and pid as above.
 */
int finder_open_debug(const struct finder *finder, const struct tape_module *module,
	const char *path, int32_t pid, int fd);

/*
 * The text of /proc/kallsyms of the kernel with that build-id: of the one that runs, or as perf kept it; the caller frees it. Without a
 * build-id (size 0) of the one that runs, and *ret_sure is false where that cannot be told to be the one. -ENOENT when there is none.
 */
int finder_kallsyms(const struct finder *finder, const uint8_t *build_id, size_t build_id_size,
	char **ret_text, size_t *ret_size, bool *ret_sure);
/* Is it the kernel that runs now? */
bool finder_kernel_runs(const uint8_t *build_id, size_t build_id_size);
