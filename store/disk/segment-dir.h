/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The folder of the segments is the truth, the index a cache of it: what the index does not know,
 * because it is behind, damaged or gone, is described by the segment's own first bytes. So a file
 * that cannot be read is seen too, and is a segment with `damage`.
 */

#include "base/error.h"
#include "store/disk/index.h"
#include "store/disk/segment-row.h"
#include "tape/segment/segment.h"

/*
 * Describes a segment by its first bytes. What is wrong with this file is 0 too, and in
 * ret_segment->damage; where not even the times can be read, begin_ns is 0 and end_ns the file's
 * last change. -ENOENT when it is gone, -ENOMEM, -EMFILE, -ENFILE.
 */
int segment_dir_describe(const char *path, const char *name, struct store_segment *ret_segment,
			 struct error *error);

/* Names of segments that somebody knows, and which of them are in the folder. Zeroed is empty. */
struct segment_dir_names {
	struct strings known;
	/* by their numbers, as far as any is */
	array_of(bool) present;
};
void segment_dir_names_done(struct segment_dir_names *names);
/* Makes a name known. 0 or -ENOMEM. */
int segment_dir_know(struct segment_dir_names *names, const char *name);
/* 1 when segment_dir_unknown() saw it, 0 when not; -ENOMEM. */
int segment_dir_has(struct segment_dir_names *names, const char *name);

/*
 * Looks which names are in the folder, appends the segments of those that are not known yet, and
 * makes them known. One that cannot be read may have no times yet.
 */
int segment_dir_unknown(const char *path, struct segment_dir_names *names,
			struct store_segments *segments, struct error *error);

/*
 * After that: marks the segments, of the index, whose files are gone, and leaves out those that
 * retention removed meanwhile, or was about to when it was killed.
 */
int segment_dir_check_rows(const char *path, struct segment_dir_names *names,
			   struct store_segments *segments, struct error *error);

/*
 * Gives times to those that have none, because they cannot be read: those that the segments of the
 * numbers before and after, here or in the index, which may be NULL, leave free.
 */
int segment_dir_place(struct index *index, struct store_segments *segments, struct error *error);

/* Is this the name of a segment's file? */
bool segment_dir_is_segment(const char *name);

/* Decodes what is wanted of a segment: see store_reader_load(). */
int segment_dir_load(const char *path, const struct store_segment *segment,
		     const struct segment_want *want, struct tape **ret_tape, struct error *error);
/* Appends its incidents. */
int segment_dir_incidents(const char *path, const struct store_segment *segment,
			  struct incident_rows *incidents, struct error *error);
/* Appends what says which CPUs were busy in it, as segment_busy() does. */
int segment_dir_busy(const char *path, const struct store_segment *segment, struct buffer *bytes,
		     struct error *error);

/* By begin, boot and sequence. */
void segment_dir_sort(struct store_segments *segments);
