/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds out whether a stranger can have written a file. A build-id is not an identity, because
 * anybody can copy it into a file with other names. It is enough only for a file that no stranger
 * can have put at its place.
 */

#include <stdbool.h>

/*
 * Returns whether root or this user owns the file, or else whether only root, this user and the
 * file's owner may change the folders and links on the way to it. `path` is absolute, in our root.
 */
bool file_owner_vouches(int fd, const char *path);
/* Returns whether root, this user, or the owner of `of` owns the file. */
bool file_owner_is_of(int fd, int of);
