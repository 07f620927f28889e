/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shared by the parts of the reading side: reader.c finds and loads segments; incident-list.c,
 * totals.c and verify.c use it.
 */

#include <stdatomic.h>

#include "base/error.h"
#include "base/intern.h"
#include "store/disk/incident-rows.h"
#include "store/disk/index.h"
#include "store/read/store-reader.h"

/*
 * For a folder, `index` is NULL if there is no index to trust. For a single file, `file` has its
 * segments, read once.
 */
struct store_reader {
	char *path;
	struct index *index;
	bool is_file;
	struct store_segments file;
	/*
	 * The tape of the spool that was described last. The caller usually loads it next, maybe in
	 * another thread.
	 */
	_Atomic(struct tape *) unsealed;
	char unsealed_name[64];
};

/*
 * Appends all segments of the index and the folder, with their times, each tape once. Does not
 * compare the rows with the files. May omit segments outside [from, to).
 */
int reader_gather(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		  struct store_segments *segments, struct error *error);

/*
 * Compares a row of the index with the segment's first bytes. Returns 1 if they differ. If the file
 * vanished or is damaged by now, keeps the row's values and sets `damage`.
 */
int reader_check_row(const struct store_reader *reader, struct store_segment *row,
		     struct error *error);

/* Closes the index. From then on, only the folder counts. */
void reader_drop_index(struct store_reader *reader);

/* Reads the segments of a single file. */
int reader_open_file(struct store_reader *reader, struct error *error);
