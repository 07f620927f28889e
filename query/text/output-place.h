/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the place where a named file will appear. Another user may own the folder, or may have put
 * a link or a file there. So the walk follows the kernel's rules for links in shared folders, even
 * if these rules are off in the kernel. The walk keeps the folder open, so that nobody can lead
 * later steps elsewhere.
 */

#include <stdbool.h>
#include <sys/types.h>

struct output_place {
	/* The folder of the file, open; -1: none. */
	int folder;
	/* The file's path, behind all symbolic links. */
	char *path;
	/* Points into `path`. */
	const char *name;
	/* The file exists, with this mode. */
	bool there;
	mode_t mode;
	/* The file is a device or a pipe, open for writing; -1: it is not. */
	int special;
	/* The file is what standard output writes to. */
	bool is_standard_output;
	/* Replaces the file even if another user owns it. */
	bool force;
};

/*
 * Finds the place. Returns 0, or a negative errno: -EACCES at a link that another user put into a
 * shared folder, -EPERM at a file or a named pipe of another user without `force`.
 */
int output_place_find(const char *path, bool force, struct output_place *ret_place);
/*
 * Returns the link at which output_place_find() stopped with -EACCES, which the caller frees, or
 * NULL if no link was the reason.
 */
char *output_place_foreign_link(const char *path);
void output_place_done(struct output_place *place);

/*
 * Renames a file of the folder to the final name. Returns 0, or a negative errno: -EPERM if a file
 * of another user took the name meanwhile, and `force` is not set.
 */
int output_place_take(const struct output_place *place, const char *temporary);
