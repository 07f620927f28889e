/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The file in which a recorder tells of itself; see store_writer_tell() and store_reader_status().
 */

#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

/* Writes the text over the last one, with our pid and the time. Does not sync. */
int status_file_write(const char *path, const char *text, struct error *error);
/* Appends the text that was written last. 1; 0 when the file does not exist or cannot be read;
 * -ENOMEM. */
int status_file_read(const char *path, struct buffer *text, int *ret_pid, uint64_t *ret_told_ns);
/* Of a recorder that ends, or of one before us. */
void status_file_remove(const char *path);
