/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens files below a folder without following any symbolic link below it, so that whoever can
 * write there cannot lead us to a file of another place.
 */

#include <sys/types.h>

/*
 * Opens FOLDER/NAME. The name may have several parts, but no "..". O_CLOEXEC and O_NONBLOCK are
 * always set. A file that root makes belongs to the owner of the folder. Returns a descriptor, or
 * a negative errno: -ELOOP at a symbolic link, -EBADMSG if it is not a file; then nothing waits for
 * the other end of a pipe.
 */
int beneath_open(const char *folder, const char *name, int flags, mode_t mode);
