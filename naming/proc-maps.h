/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The lines of /proc/PID/maps: "55d0-55d8 r-xp 00002000 08:01 1234   /usr/bin/x". A process
 * chooses its mappings, and so the size of this text, and the paths in it. A pure parser.
 */

#include <stdbool.h>
#include <stdint.h>

struct proc_map {
	uint64_t start;
	/* Above the start. */
	uint64_t end;
	/* The offset in the file. */
	uint64_t offset;
	uint64_t device;
	uint64_t inode;
	bool executable;
	/* "" without a file. Newlines in the path are "\012". */
	const char *path;
};

/*
 * Reads the next mapping and moves *rest behind its line. Skips lines that are not mappings, and
 * overwrites the text. Returns false at the end. The path is valid as long as the text.
 */
bool proc_maps_next(char **rest, struct proc_map *ret_map);
