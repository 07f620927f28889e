/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The outlines of segments. Reads the samples of those that have neither outline nor digest. */

#include "store/read/store-reader.h"
#include "tape/outline.h"

/*
 * Calls see() with the outline of each segment, in the order of the list, which store_reader_find()
 * made. `outline` is NULL for a segment that is unsealed, unreadable or without samples. Opens only
 * the segments whose outlines the index lacks. Returns 0, a negative errno, or what see() returned.
 */
int segment_outlines_read(struct store_reader *reader, const struct store_segments *segments,
			  int (*see)(void *context, const struct store_segment *segment,
				     const struct outline *outline),
			  void *context);
