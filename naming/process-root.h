/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens files as a process sees them: in the process's own root, which symbolic links cannot leave.
 * Opens only regular files for reading, because a FIFO would block and some devices act when they
 * are opened.
 */

#include <stdint.h>

enum process_root_flags {
	/* The path may contain symbolic links; the path of a mapping never does. */
	PROCESS_ROOT_LINKS = 1,
	/* Also open files on network and FUSE file systems, which may block. */
	PROCESS_ROOT_REMOTE = 2,
};

/*
 * Opens a file in the root of a process; pid 0: in perftape's own root. `device` is the file's
 * known device, or 0. Returns a descriptor, -EREMOTE before any access to the path, -ESTALE if the
 * path is not a regular file, or another negative errno.
 */
int process_root_open(int32_t pid, const char *path, uint64_t device, unsigned int flags);

/*
 * Opens the file of an O_PATH descriptor for reading. `pid` is the process in whose mounts the file
 * was found, or 0. The mounts may have changed since, so this checks the file system of the file
 * itself. Returns a descriptor or an error as above.
 */
int process_root_reopen(int32_t pid, int path_fd, unsigned int flags);
/*
 * Returns -EREMOTE if a file is on a file system that may hang, 0 if not, or another negative errno
 * if the type is unknown.
 */
int process_root_refuse_remote(int32_t pid, const char *path, uint64_t device);
