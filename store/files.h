/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Where things are in a store's folder, for the two sides of the store. */

#include <limits.h>
#include <stdint.h>

#include "base/error.h"
#include "tape/segment.h"
#include "store/store-reader.h"

#define STORE_INDEX "index.sqlite"
#define STORE_LOCK "lock"
#define STORE_SEGMENTS "segments"
#define STORE_SUFFIX ".tape"
#define STORE_IMPORTS "imports"

/* No segment is larger; a file that is has not come from us. */
#define STORE_SEGMENT_MAX (1u << 30)

/* PATH/NAME in text. -ENAMETOOLONG with an error text. */
int store_file(const char *path, const char *name, char text[PATH_MAX], struct error *error);

/* Opens a segment file for reading. -EBADMSG when it is no plain file. */
int store_open_segment(const char *path, const char *name, int *ret_fd, struct error *error);
/* Reads a whole segment file. The caller frees *ret_data. */
int store_read_segment(
	const char *path, const char *name, char **ret_data, size_t *ret_size, struct error *error);

/* The index row that belongs to a segment. */
void store_describe(const struct segment_summary *summary, const char *name, uint64_t bytes,
	struct store_segment *ret_segment);
