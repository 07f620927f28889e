/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the parts of the reading side share: reader.c finds and loads, incident-list.c, totals.c and
 * verify.c ask it. */

#include <stdatomic.h>

#include "base/error.h"
#include "base/intern.h"
#include "store/disk/incident-rows.h"
#include "store/disk/index.h"
#include "store/read/store-reader.h"

/*
 * Of a folder: the index is NULL where there is none to believe. Of a single file: `file` lists its
 * segments, once and for all.
 */
struct store_reader {
	char *path;
	struct index *index;
	bool is_file;
	struct store_segments file;
	/* the spool that was described last: whoever finds it is about to load it, in a thread of
	 * its own maybe */
	_Atomic(struct tape *) unsealed;
	char unsealed_name[64];
};

/*
 * All segments as the index and the folder have them, with their times, and nothing else held
 * against the files; each identity once. Those outside [from, to) may be left out.
 */
int reader_gather(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		  struct store_segments *segments, struct error *error);

/*
 * Holds a row of the index against the segment's first bytes: 1 when it says something else. One
 * that is gone, or damaged by now, is as the index knew it; then `damage` says so.
 */
int reader_check_row(const struct store_reader *reader, struct store_segment *row,
		     struct error *error);

/* From here on the folder alone is asked. */
void reader_distrust(struct store_reader *reader);

/* The segments of a single file. */
int reader_open_file(struct store_reader *reader, struct error *error);
