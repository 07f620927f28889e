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
 * For a folder, `index` is NULL without a sound index. For a single file, `file` has its segments,
 * read once.
 */
struct store_reader {
	char *path;
	struct index *index;
	bool is_file;
	struct store_segments file;
	/*
	 * The tape of the spool that the reader described last. The caller usually loads this tape
	 * next, maybe in another thread.
	 */
	_Atomic(struct tape *) unsealed;
	char unsealed_name[64];
	/* NULL: each question looks at the store again. */
	struct store_listing *listing;
	/* The reader has looked, and `listing` has what it found. */
	bool has_looked;
};

/*
 * Appends all segments of the index and the folder, with their times, each tape once. Does not
 * compare the rows with the files. May omit segments outside [from, to).
 */
int reader_gather(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		  struct store_segments *segments, struct error *error);

/*
 * Appends the spools that may reach into the time before `to`, or all sealed segments, of which
 * `known` has some. Both are parts of reader_gather().
 */
int reader_gather_spools(struct store_reader *reader, uint64_t to_ns,
			 struct store_segments *segments, struct error *error);
int reader_gather_sealed(struct store_reader *reader, const struct store_segments *known,
			 struct store_segments *segments, struct error *error);

/* Sorts by name, and drops the worse file of each tape that has two. */
int reader_drop_doubles(const struct store_reader *reader, struct store_segments *segments,
			struct error *error);

/* Returns whether a segment overlaps [from, to). */
bool reader_overlaps(const struct store_segment *segment, uint64_t from_ns, uint64_t to_ns);

/* Makes the next look read everything again. */
void listing_forget(struct store_listing *listing);
/* reader_gather() for a reader with a listing. */
int listing_gather(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		   struct store_segments *segments, struct error *error);
/* Calls see() for all of them, without a copy. A negative result ends the walk. */
typedef int listing_see(void *context, const struct store_segment *segment);
int listing_each(struct store_reader *reader, listing_see *see, void *context, struct error *error);

/*
 * Reads the description of each file whose size differs from the index, because somebody changed
 * the file after sealing. Opening thousands of files would take too long, so only
 * store_reader_verify() finds changes that keep the size.
 */
int totals_check_sizes(const struct store_reader *reader, struct store_segments *segments,
		       struct error *error);

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
