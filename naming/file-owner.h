/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds out whether a stranger can have written a file. A build-id does not prove the identity of a
 * file, because anybody can copy it into a file with other names. The build-id is enough only if
 * strangers cannot have put the file at its place.
 */

#include <stdbool.h>

/*
 * Returns whether strangers cannot have written the file. If root or this user owns the file, only
 * its mode counts. Otherwise only root, this user and the file's owner may change the file, and the
 * folders and links on its path. `path` is absolute, in perftape's own root.
 */
bool file_owner_vouches(int fd, const char *path);
/* Returns whether root, this user, or the owner of `of` owns the file. */
bool file_owner_is_of(int fd, int of);
