/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Files that blocked whoever opened them, for a minute each. If two files of one file system
 * blocked, all files of that file system count as dead for the owner whose processes mapped them.
 * If they were of two owners, they count as dead for everybody: a process can make the opening of
 * its own files slow. Zeroed to start. Private to opener.c.
 */

#include <stdbool.h>
#include <stdint.h>

#define DEAD_FILES_MAX 64

struct dead_file {
	uint64_t device;
	uint64_t inode;
	/* The owner of the process that mapped the file; 0: unknown. */
	uint64_t owner;
	/* CLOCK_MONOTONIC */
	uint64_t until_ns;
};

struct dead_files {
	struct dead_file items[DEAD_FILES_MAX];
};

/*
 * Returns whether the file of this device, inode and owner blocked, or whether its file system is
 * dead for the owner. Ignores until_ns of `file`.
 */
bool dead_files_contain(const struct dead_files *dead, const struct dead_file *file, uint64_t now);
/* Notes a file that blocked. It may replace the one that expires first. */
void dead_files_add(struct dead_files *dead, const struct dead_file *file, uint64_t now);
