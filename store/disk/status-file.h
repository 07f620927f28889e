/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The file with a recorder's status; see store_writer_set_status() and store_reader_status(). */

#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

/* Replaces the text, with our pid and the time. Does not sync. */
int status_file_write(const char *path, const char *text, struct error *error);
/* Appends the last text. Returns 1, 0 if the file does not exist or is unreadable, or -ENOMEM. */
int status_file_read(const char *path, struct buffer *text, int *ret_pid, uint64_t *ret_time_ns);
/* Removes the file of a recorder that ends, or of an earlier one. */
void status_file_remove(const char *path);
