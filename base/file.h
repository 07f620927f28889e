/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Files as wholes. Every descriptor is close-on-exec. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads a whole file, /proc and /sys files included, and puts a NUL behind it. At most limit bytes:
 * -EFBIG beyond. The caller frees *ret_data. ret_size may be NULL.
 */
int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_size);
/* The same from an open descriptor, from offset 0, with pread(). */
int file_read_fd(int fd, size_t limit, char **ret_data, size_t *ret_size);
/* Makes the names in a folder durable. */
int file_sync_dir(const char *dir);
/* All of it, whatever write() takes at a time. */
int file_write_all(int fd, const void *data, size_t size);
/* The same at an offset. */
int file_write_at(int fd, const void *data, size_t size, uint64_t offset);
/*
 * Makes or replaces DIR/NAME durably: a hidden temporary beside it, fsync, rename, fsync of the
 * folder. The name holds what it held before or all of the new data, a crash included. After a
 * failure it holds the former, but for one: when only the fsync of the folder fails, it holds the
 * new data, which a crash may undo.
 */
int file_replace(const char *dir, const char *name, const void *data, size_t size);
/* Makes a folder and its parents. */
int file_make_dirs(const char *path, mode_t mode);
