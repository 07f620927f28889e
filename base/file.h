/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Reads and writes whole files. Every descriptor is close-on-exec. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads a whole file, also in /proc and /sys, and appends a NUL. Returns 0, a negative errno, or
 * -EFBIG beyond `limit` bytes. The caller frees *ret_data. ret_size may be NULL.
 */
int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_size);
/*
 * Like file_read(), but only a regular file of this user, and not through a link, for a folder
 * where others may put something. Returns -EPERM or -ELOOP for anything else, and never waits.
 */
int file_read_own(const char *path, size_t limit, char **ret_data, size_t *ret_size);
/* Reads the file of an open descriptor in the same way, from offset 0, with pread(). */
int file_read_fd(int fd, size_t limit, char **ret_data, size_t *ret_size);
/*
 * Returns whether a path leads to something. access() would check the rights of the real user and
 * ignore the capabilities of the process.
 */
bool file_exists(const char *path);
/* Makes the names in a folder durable. Returns 0 or a negative errno. */
int file_sync_dir(const char *dir);
/* Writes everything, in as many write() calls as necessary. Returns 0 or a negative errno. */
int file_write_all(int fd, const void *data, size_t size);
/* Writes everything at an offset, like file_write_all(). */
int file_write_at(int fd, const void *data, size_t size, uint64_t offset);
/*
 * Creates or replaces DIR/NAME durably, with mode 0640 and never through a link. Writes a hidden
 * temporary file, syncs and renames the file, and syncs the folder. Returns 0 or a negative errno.
 *
 * The file contains either the old or the new data as a whole, even after a crash. After a failure
 * it contains the old data, with one exception: if only the sync of the folder fails, it contains
 * the new data, and a crash may bring the old data back.
 */
int file_replace(const char *dir, const char *name, const void *data, size_t size);
/*
 * Creates or replaces a file that everybody may read, whatever the umask is, and never through a
 * link. A reader sees the old data or the new data as a whole. Does not sync, so a crash may leave
 * the file empty. Returns 0, or a negative errno, and then the file contains the old data.
 */
int file_publish(const char *path, const void *data, size_t size);
/* Creates a folder and its parents. Returns 0 or a negative errno. */
int file_make_dirs(const char *path, mode_t mode);
