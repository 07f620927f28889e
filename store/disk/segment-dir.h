/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The folder of segments is the truth; the index is a cache of it. If an index that is behind,
 * damaged or gone lacks a segment, the segment's first bytes describe it. So readers find
 * unreadable files, too, as segments with `damage`.
 */

#include "base/error.h"
#include "store/disk/index.h"
#include "store/disk/segment-row.h"
#include "tape/segment/segment.h"

/*
 * Describes a segment by its first bytes. Returns 0 also for a damaged file, with the reason in
 * ret_segment->damage. If even its times are unreadable, begin_ns is 0 and end_ns is the file's
 * last change. Returns -ENOENT if the file is gone, -ENOMEM, -EMFILE or -ENFILE.
 */
int segment_dir_describe(const char *path, const char *name, struct store_segment *ret_segment,
			 struct error *error);

/*
 * Names of segments that the caller knows, and which of them are in the folder. A zeroed struct is
 * empty.
 */
struct segment_dir_names {
	struct strings known;
	/* Indexed by the name's number, up to the last one in the folder. */
	array_of(bool) present;
};
void segment_dir_names_done(struct segment_dir_names *names);
/* Adds a name to the known ones. Returns 0 or -ENOMEM. */
int segment_dir_names_add(struct segment_dir_names *names, const char *name);
/* Returns 1 if segment_dir_find_unknown() found the name, 0 if not, or -ENOMEM. */
int segment_dir_names_has(struct segment_dir_names *names, const char *name);

/*
 * Lists the folder, appends the segments that `names` does not know yet, and adds their names. An
 * unreadable segment may lack times.
 */
int segment_dir_find_unknown(const char *path, struct segment_dir_names *names,
			     struct store_segments *segments, struct error *error);

/*
 * Call it after segment_dir_find_unknown(). Marks the segments of the index whose files vanished.
 * Drops the rows of segments that retention removed meanwhile, or was about to remove when it was
 * killed.
 */
int segment_dir_check_rows(const char *path, struct segment_dir_names *names,
			   struct store_segments *segments, struct error *error);

/*
 * Gives times to unreadable segments: the time between the segments with the numbers before and
 * after. Looks for these neighbours in the list and in the index, which may be NULL.
 */
int segment_dir_place(struct index *index, struct store_segments *segments, struct error *error);

/* Returns whether this is the name of a segment's file. */
bool segment_dir_is_segment(const char *name);

/* Decodes the wanted parts of a segment; see store_reader_load(). */
int segment_dir_load(const char *path, const struct store_segment *segment,
		     const struct segment_want *want, struct tape **ret_tape, struct error *error);
/* Appends the segment's incidents. */
int segment_dir_incidents(const char *path, const struct store_segment *segment,
			  struct incident_rows *incidents, struct error *error);
/* Returns segment_memory() of a segment, or 0 if it cannot be read. */
uint64_t segment_dir_memory(const char *path, const struct store_segment *segment);
/* Appends the segment's section of busy CPUs, as segment_busy() does. */
int segment_dir_busy(const char *path, const struct store_segment *segment, struct buffer *bytes,
		     struct error *error);
/* Reads all that the index has for a segment besides its row. Returns 0 or a negative errno. */
int segment_dir_input_bytes(const struct segment_input *input, struct index_bytes *bytes,
			    struct error *error);
int segment_dir_bytes(const char *path, const struct store_segment *segment,
		      struct index_bytes *bytes, struct error *error);
/* Appends the segment's outline, as segment_outline() does. */
int segment_dir_outline(const char *path, const struct store_segment *segment, struct buffer *bytes,
			struct error *error);

/* Sorts by begin, boot and sequence. */
void segment_dir_sort(struct store_segments *segments);
