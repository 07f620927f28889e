/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A file that has no name while perftape writes it (O_TMPFILE), so that a process that ends early
 * leaves nothing. If the file system does not support that, the file has a hidden name beside the
 * final one: ".NAME.PID-N".
 */

#include <sys/types.h>

/*
 * Opens a file in the folder, for the final name `name`. First removes hidden files for the same
 * name, if our user owns them and the process that wrote them has ended. Returns a descriptor or a
 * negative errno. *ret_name becomes the hidden name, which the caller frees, or NULL.
 */
int hidden_file_open(int folder, const char *name, mode_t mode, char **ret_name);
/*
 * Gives a hidden name to a file without a name. The caller blocks signals until it has renamed the
 * file. Returns 0 or a negative errno.
 */
int hidden_file_link(int fd, int folder, const char *name, char **ret_name);
