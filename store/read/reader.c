// SPDX-License-Identifier: GPL-2.0-only
#include "store/read/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/disk/beneath.h"
#include "store/disk/files.h"
#include "store/disk/segment-dir.h"
#include "store/disk/removed-ranges.h"
#include "store/disk/unsaved-note.h"
#include "store/disk/spool-dir.h"
#include "store/disk/status-file.h"

struct store_reader *store_reader_close(struct store_reader *reader)
{
	if (!reader)
		return NULL;
	index_close(reader->index);
	array_done(&reader->file.list);
	tape_free(atomic_load(&reader->unsealed));
	free(reader->path);
	free(reader);
	return NULL;
}

/* Reports that this user may not look into the folder, and says who may read the store. */
static int reader_refused(const struct store_reader *reader, struct error *error)
{
	bool of_host = strcmp(reader->path, STORE_OF_HOST) == 0;
	struct stat about = { 0 };

	if (stat(reader->path, &about) < 0 && !of_host)
		return error_set(error, -errno, "%s: %s", reader->path, strerror(errno));
	return error_set(error, -EACCES, "%s%s%s only %s%s may read it",
			 of_host ? "this host records into " : "", reader->path,
			 of_host ? ";" : ":", about.st_uid ? "its owner" : "root",
			 about.st_mode & S_IRGRP ? " and its group" : "");
}

/* Checks that the folder of segments exists. A folder with such a folder is a store. */
static int reader_check(const struct store_reader *reader, struct error *error)
{
	_cleanup_close_ int folder = -1;
	char segments[PATH_MAX], index[PATH_MAX];
	int r = store_file(reader->path, STORE_SEGMENTS, segments, error);

	if (r < 0)
		return r;
	r = store_file(reader->path, STORE_INDEX, index, error);
	if (r < 0)
		return r;
	folder = beneath_open(reader->path, STORE_SEGMENTS, O_RDONLY | O_DIRECTORY, 0);
	if (folder >= 0)
		return 0;
	r = folder;
	if (r == -EACCES)
		return reader_refused(reader, error);
	if (r == -ENOENT && store_check_folder(reader->path, NULL) < 0)
		return error_set(error, r, "%s is not a store", reader->path);
	if (r == -ENOENT && !file_exists(index))
		return error_set(
			error, r,
			"%s: nothing is recorded there; start with: perftape record --store %s",
			reader->path, reader->path);
	return beneath_error(error, r, segments);
}

void reader_drop_index(struct store_reader *reader)
{
	reader->index = index_close(reader->index);
	/* its rows may be wrong, too */
	if (reader->listing)
		listing_forget(reader->listing);
	reader->has_looked = false;
}

/* A recorder whose status is older than this hangs. */
#define STALLED_NS (3 * NSEC_PER_SEC)

/*
 * Returns whether opening the index may hang. If the store's file system is frozen or its disk
 * hangs, the recorder waits for the disk. SQLite writes files beside the index even for reading, so
 * we would also wait, and a signal could not end us. The folder of segments is enough.
 */
static bool may_hang(const struct store_reader *reader)
{
	struct spool_dir_writer writer;
	struct stat about;
	char file[PATH_MAX];

	spool_dir_find_writer(reader->path, &writer);
	if (!writer.there || store_file(reader->path, STORE_STATUS, file, NULL) < 0 ||
	    stat(file, &about) < 0)
		return false;
	return about.st_mtim.tv_sec * NSEC_PER_SEC + about.st_mtim.tv_nsec + STALLED_NS <
	       clock_ns(CLOCK_REALTIME);
}

static int reader_open_index(struct store_reader *reader, struct error *error)
{
	struct error said = { 0 };
	char file[PATH_MAX];
	int r = store_file(reader->path, STORE_INDEX, file, error);

	if (r < 0 || may_hang(reader))
		return r;
	r = index_open(file, false, &reader->index, &said);
	if (r == -EPROTONOSUPPORT)
		return error_set(error, r, "%s: %s", reader->path, said.text);
	return r == -ENOMEM ? r : 0;
}

int store_reader_open(const char *path, struct store_reader **ret_reader, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = calloc(1, sizeof(*reader));
	struct stat about;
	int r;

	if (!reader)
		return -ENOMEM;
	reader->path = strdup(path);
	if (!reader->path)
		return -ENOMEM;
	reader->is_file = stat(path, &about) == 0 && S_ISREG(about.st_mode);
	if (reader->is_file) {
		r = reader_open_file(reader, error);
	} else {
		r = reader_check(reader, error);
		if (r < 0)
			return r;
		r = reader_open_index(reader, error);
	}
	if (r < 0)
		return r;
	*ret_reader = take_ptr(reader);
	return 0;
}

const char *store_reader_path(const struct store_reader *reader)
{
	return reader->path;
}

bool store_reader_is_file(const struct store_reader *reader)
{
	return reader->is_file;
}

bool reader_overlaps(const struct store_segment *segment, uint64_t from_ns, uint64_t to_ns)
{
	return segment->begin_ns < to_ns && segment->end_ns > from_ns;
}

struct gathering {
	struct store_reader *reader;
	uint64_t from_ns, to_ns;
	struct segment_dir_names names;
	struct store_segments *segments;
};

static void gathering_done(struct gathering *gathering)
{
	segment_dir_names_done(&gathering->names);
}

static int reader_see_row(void *context, const struct store_segment *segment)
{
	struct gathering *gathering = context;

	if (segment_dir_names_add(&gathering->names, segment->name) < 0)
		return -ENOMEM;
	return reader_overlaps(segment, gathering->from_ns, gathering->to_ns)
		       ? array_push(&gathering->segments->list, *segment)
		       : 0;
}

static int reader_see_spool(void *context, const struct store_segment *segment, struct tape **tape)
{
	struct gathering *gathering = context;
	struct store_reader *reader = gathering->reader;

	if (*tape) {
		tape_free(atomic_exchange(&reader->unsealed, take_ptr(*tape)));
		memcpy(reader->unsealed_name, segment->name, sizeof(reader->unsealed_name));
	}
	return array_push(&gathering->segments->list, *segment);
}

/*
 * Reads the index. After an error, drops the rows that it has read, so that the folder describes
 * the segments.
 */
static int gather_index(struct gathering *gathering)
{
	struct store_segments *segments = gathering->segments;
	size_t first = segments->list.count;
	int r;

	if (!gathering->reader->index)
		return 0;
	r = index_segments(gathering->reader->index, reader_see_row, gathering, NULL);
	if (r >= 0 || r == -ENOMEM)
		return r;
	reader_drop_index(gathering->reader);
	segment_dir_names_done(&gathering->names);
	gathering->names = (struct segment_dir_names){ 0 };
	segments->list.count = first;
	return 0;
}

int reader_check_row(const struct store_reader *reader, struct store_segment *row,
		     struct error *error)
{
	struct store_segment file;
	int r = segment_dir_describe(reader->path, row->name, &file, error);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	row->bytes = file.bytes;
	memcpy(row->damage, file.damage, sizeof(row->damage));
	if (*file.damage)
		return 0;
	return row->begin_ns != file.begin_ns || row->end_ns != file.end_ns ||
	       row->samples != file.samples || row->lost != file.lost ||
	       row->incidents != file.incidents || row->sequence != file.sequence ||
	       strcmp(row->boot_id, file.boot_id) != 0;
}

static int reader_compare_names(const void *a, const void *b)
{
	return strcmp(((const struct store_segment *)a)->name,
		      ((const struct store_segment *)b)->name);
}

/* Returns whether a is the better file of a tape: a readable one, or else a sealed one. */
static bool is_better(const struct store_segment *a, const struct store_segment *b)
{
	if (!*a->damage != !*b->damage)
		return !*a->damage;
	return !a->unsealed && b->unsealed;
}

/*
 * Drops duplicates. A segment that was sealed meanwhile was in the spool first, then in the folder,
 * and then in the index. If both the spool and the segment exist, checks the segment, because the
 * index does not show damage.
 */
int reader_drop_doubles(const struct store_reader *reader, struct store_segments *segments,
			struct error *error)
{
	struct store_segment *items = segments->list.items;
	size_t kept = 0;
	int r = 0;

	if (segments->list.count)
		qsort(items, segments->list.count, sizeof(*items), reader_compare_names);
	for (size_t i = 0; i < segments->list.count; i++) {
		if (!kept || !store_same_tape(items[kept - 1].name, items[i].name)) {
			items[kept++] = items[i];
			continue;
		}
		if (!items[i].unsealed && !*items[i].damage)
			r = MIN(r, reader_check_row(reader, &items[i], error));
		if (is_better(&items[i], &items[kept - 1]))
			items[kept - 1] = items[i];
	}
	segments->list.count = kept;
	return r;
}

static void keep_window(struct store_segments *segments, uint64_t from_ns, uint64_t to_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < segments->list.count; i++)
		if (reader_overlaps(&segments->list.items[i], from_ns, to_ns))
			segments->list.items[kept++] = segments->list.items[i];
	segments->list.count = kept;
}

static int gather_file(const struct store_reader *reader, struct store_segments *segments,
		       struct error *error)
{
	for (size_t i = 0; i < reader->file.list.count; i++)
		if (array_push(&segments->list, reader->file.list.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

int reader_gather_spools(struct store_reader *reader, uint64_t to_ns,
			 struct store_segments *segments, struct error *error)
{
	struct gathering gathering = { .reader = reader, .segments = segments };

	return spool_dir_each(reader->path, to_ns, reader_see_spool, &gathering, error);
}

/* Adds what the index and the folder have beside the segments of `gathering`, and their times. */
static int gather_folder(struct gathering *gathering, struct error *error)
{
	struct store_reader *reader = gathering->reader;
	struct store_segments *segments = gathering->segments;
	int r = segment_dir_find_unknown(reader->path, &gathering->names, segments, error);

	if (r < 0)
		return r;
	r = segment_dir_check_rows(reader->path, &gathering->names, segments, error);
	return r < 0 ? r : segment_dir_place(reader->index, segments, error);
}

int reader_gather_sealed(struct store_reader *reader, const struct store_segments *known,
			 struct store_segments *segments, struct error *error)
{
	_cleanup_(gathering_done) struct gathering gathering = { reader, 0, UINT64_MAX,
								 .segments = segments };
	int r = 0;

	for (size_t i = 0; r == 0 && i < known->list.count; i++)
		r = reader_see_row(&gathering, &known->list.items[i]);
	if (r < 0)
		return r;
	if (!known->list.count)
		r = gather_index(&gathering);
	return r < 0 ? r : gather_folder(&gathering, error);
}

int reader_gather(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		  struct store_segments *segments, struct error *error)
{
	_cleanup_(gathering_done) struct gathering gathering = { reader, from_ns, to_ns,
								 .segments = segments };
	int r;

	if (reader->is_file)
		return gather_file(reader, segments, error);
	if (reader->listing)
		return listing_gather(reader, from_ns, to_ns, segments, error);
	r = reader_gather_spools(reader, to_ns, segments, error);
	if (r < 0)
		return r;
	r = gather_index(&gathering);
	if (r < 0)
		return r;
	r = gather_folder(&gathering, error);
	return r < 0 ? r : reader_drop_doubles(reader, segments, error);
}

/*
 * Compares rows of the index with the files. Returns 1 if the index is wrong. Does nothing without
 * an index, because then the files have described all segments.
 */
static int check_rows(const struct store_reader *reader, struct store_segments *segments,
		      struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && reader->index && i < segments->list.count; i++) {
		struct store_segment *row = &segments->list.items[i];

		if (!row->unsealed && !*row->damage)
			r = reader_check_row(reader, row, error);
	}
	return r;
}

static int list_window(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		       struct store_segments *found, struct error *error)
{
	int r;

	found->list.count = 0;
	r = reader_gather(reader, from_ns, to_ns, found, error);
	keep_window(found, from_ns, to_ns);
	return r;
}

/* Moves the found segments to the caller, and returns r. */
static int move_found(struct store_reader *reader, struct store_segments *found, int r,
		      struct store_segments *segments, struct error *error)
{
	segment_dir_sort(found);
	for (size_t i = 0; r == 0 && i < found->list.count; i++)
		r = array_push(&segments->list, found->list.items[i]);
	array_done(&found->list);
	return r < 0 ? error_prefix(error, r, "%s", reader->path) : 0;
}

int store_reader_list(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      struct store_segments *segments, struct error *error)
{
	struct store_segments found = { 0 };
	int r = list_window(reader, from_ns, to_ns, &found, error);

	return move_found(reader, &found, r, segments, error);
}

int store_reader_find(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      struct store_segments *segments, struct error *error)
{
	struct store_segments found = { 0 };
	int r;

	do {
		r = list_window(reader, from_ns, to_ns, &found, error);
		if (r == 0)
			r = check_rows(reader, &found, error);
		if (r > 0)
			reader_drop_index(reader);
	} while (r > 0);
	return move_found(reader, &found, r, segments, error);
}

int store_reader_near(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      uint64_t *ret_before_ns, uint64_t *ret_after_ns, struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments all = { 0 };
	uint64_t before_ns = 0, after_ns = 0;
	int r = reader_gather(reader, 0, UINT64_MAX, &all, error);

	for (size_t i = 0; r == 0 && i < all.list.count; i++) {
		const struct store_segment *segment = &all.list.items[i];

		if (segment->end_ns <= from_ns)
			before_ns = MAX(before_ns, segment->end_ns);
		if (segment->begin_ns >= to_ns && (!after_ns || segment->begin_ns < after_ns))
			after_ns = segment->begin_ns;
	}
	if (r < 0)
		return error_prefix(error, r, "%s", reader->path);
	*ret_before_ns = before_ns;
	*ret_after_ns = after_ns;
	return 0;
}

int store_reader_removed(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			 struct store_removed_ranges *ranges, struct error *error)
{
	_cleanup_(store_removed_ranges_done) struct store_removed_ranges all = { 0 };
	uint64_t damaged;
	int r = reader->is_file ? 0 : removed_ranges_read(reader->path, &all, &damaged, error);

	for (size_t i = 0; r == 0 && i < all.list.count; i++)
		if (all.list.items[i].from_ns < to_ns && all.list.items[i].to_ns > from_ns)
			r = array_push(&ranges->list, all.list.items[i]);
	return r < 0 ? error_prefix(error, r, "%s", reader->path) : 0;
}

int store_reader_unsaved(const struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			 struct store_unsaved *ret_unsaved)
{
	return !reader->is_file && unsaved_note_read(reader->path, ret_unsaved) == 1 &&
	       ret_unsaved->from_ns < to_ns && ret_unsaved->to_ns > from_ns;
}

static int load_from_file(const struct store_reader *reader, const struct store_segment *segment,
			  const struct segment_want *want, struct tape **ret_tape,
			  struct error *error)
{
	_cleanup_close_ int fd = open(reader->path, O_RDONLY | O_CLOEXEC);
	struct segment_input input;
	int r;

	if (fd < 0)
		return error_set(error, -errno, "%s: %s", reader->path, strerror(errno));
	input = segment_input_file(fd, segment->offset, segment->bytes);
	r = segment_decode(&input, want, ret_tape, error);
	return r < 0 ? error_prefix(error, r, "%s", segment->name) : 0;
}

/* Loads the segment of a tape whose spool is gone. */
static int load_sealed(const struct store_reader *reader, const struct store_segment *segment,
		       const struct segment_want *want, struct tape **ret_tape, struct error *error)
{
	struct store_segment sealed = *segment;
	struct store_identity identity;

	if (!store_identify(segment->name, &identity))
		return -ENOENT;
	snprintf(sealed.name, sizeof(sealed.name), "%.*s" STORE_SUFFIX, (int)identity.size,
		 segment->name);
	return segment_dir_load(reader->path, &sealed, want, ret_tape, error);
}

static int load_spool(struct store_reader *reader, const struct store_segment *segment,
		      const struct segment_want *want, struct tape **ret_tape, struct error *error)
{
	struct spool_dir_writer writer;
	struct tape *known = NULL;
	struct spool_end end;
	int r;

	if (strcmp(reader->unsealed_name, segment->name) == 0)
		known = atomic_exchange(&reader->unsealed, NULL);
	if (known) {
		*ret_tape = known;
		return 0;
	}
	spool_dir_find_writer(reader->path, &writer);
	r = spool_dir_load(reader->path, segment->name, &writer, ret_tape, &end, error);
	return r == -ENOENT ? load_sealed(reader, segment, want, ret_tape, error) : r;
}

int store_reader_load(struct store_reader *reader, const struct store_segment *segment,
		      const struct segment_want *want, struct tape **ret_tape, struct error *error)
{
	if (reader->is_file)
		return load_from_file(reader, segment, want, ret_tape, error);
	if (segment->unsealed)
		return load_spool(reader, segment, want, ret_tape, error);
	return segment_dir_load(reader->path, segment, want, ret_tape, error);
}

uint64_t store_reader_memory(const struct store_reader *reader, const struct store_segment *segment)
{
	_cleanup_close_ int fd = -1;
	struct segment_input input;

	/* a spool is at most as large as the recorder's memory, and few spools exist */
	if (segment->unsealed)
		return segment->bytes;
	if (!reader->is_file)
		return segment_dir_memory(reader->path, segment);
	fd = open(reader->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	input = segment_input_file(fd, segment->offset, segment->bytes);
	return segment_memory(&input);
}

/*
 * Returns when a process started, or 0 if it is gone. The ticks since boot are in field 22. Only
 * field 2 may contain blanks.
 */
static uint64_t started_ns(int pid)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *at;
	uint64_t age_ns;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, 4096, &text, NULL) < 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	age_ns = clock_ns(CLOCK_BOOTTIME) -
		 strtoull(at, NULL, 10) * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
	return clock_ns(CLOCK_REALTIME) - age_ns;
}

int store_reader_recorder(const struct store_reader *reader, uint64_t *ret_since_ns)
{
	struct spool_dir_writer writer = { 0 };

	if (!reader->is_file)
		spool_dir_find_writer(reader->path, &writer);
	if (ret_since_ns)
		*ret_since_ns = writer.pid ? started_ns(writer.pid) : 0;
	return writer.pid;
}

int store_reader_status(const struct store_reader *reader, struct buffer *text, int *ret_pid,
			uint64_t *ret_time_ns)
{
	return reader->is_file ? 0 : status_file_read(reader->path, text, ret_pid, ret_time_ns);
}
