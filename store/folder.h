/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The folder of the segments is the truth, the index a cache of it: what the index does not know, because it is behind, damaged or
 * gone, is described by the segment's own first bytes. So a file that cannot be read is seen too, and is a segment with
 * `damage`.
 */

#include "base/error.h"
#include "store/index.h"
#include "store/store-reader.h"

/*
 * Describes a segment by its first bytes. What is wrong with this file is 0 too, and in ret_segment->damage; where not even the
 * times can be read, begin_ns is 0 and end_ns the file's last change. -ENOENT when it is gone, -ENOMEM, -EMFILE, -ENFILE.
 */
int folder_describe(
	const char *path, const char *name, struct store_segment *ret_segment, struct error *error);

/*
 * Appends the segments that are in the folder and not in the index, which may be NULL. The times of one that cannot be read
 * are those that the segments of the numbers before and after it leave free.
 */
int folder_unknown(const char *path, struct index *index, struct store_segments *segments,
	struct error *error);

/* Is this the name of a segment's file? */
bool folder_is_segment(const char *name);
/* Calls `see` with the name of each; a negative answer ends it and is handed on. */
int folder_each(const char *path, int (*see)(void *context, const char *name), void *context,
	struct error *error);

/* By begin, boot and sequence. */
void folder_sort(struct store_segments *segments);
