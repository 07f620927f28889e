/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens files as a process sees them: in its own root, out of which no symbolic link leads. Only
 * regular files are opened for reading: a FIFO would block, and some devices act when they are
 * opened.
 */

#include <stdint.h>

enum process_root_flags {
	PROCESS_ROOT_LINKS =
		/* the path may go over symbolic links; that of a mapping has none */
	1,
	PROCESS_ROOT_REMOTE =
		/* also what is on a network or FUSE file system, which may block */
	2,
};

/*
 * pid 0: as we see it. device is what the file is known to lie on, or 0. The descriptor; -EREMOTE,
 * with nothing touched; -ESTALE when it is no regular file; another negative errno.
 */
int process_root_open(int32_t pid, const char *path, uint64_t device, unsigned int flags);

/* Opens for reading what an O_PATH descriptor stands for; as above. */
int process_root_reopen(int path_fd);
/* -EREMOTE when a file is on such a file system, 0 when it is not; -ENOENT or another negative
 * errno where that cannot be told. */
int process_root_refuse_remote(int32_t pid, const char *path, uint64_t device);
