/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Opens files below a folder without following any symbolic link below it. So a user who can write
 * there cannot redirect us to a file elsewhere.
 */

#include <sys/types.h>

#include "base/error.h"

/*
 * Opens FOLDER/NAME. The name may have several parts, but no "..". Always adds O_CLOEXEC and
 * O_NONBLOCK, so that opening a pipe does not wait for its other end. Returns a descriptor, or a
 * negative errno: -ELOOP at a symbolic link, -EBADMSG if the name is not a file.
 */
int beneath_open(const char *folder, const char *name, int flags, mode_t mode);
/* Sets the message for an error of beneath_open() with this path. Returns the error. */
int beneath_error(struct error *error, int code, const char *path);
