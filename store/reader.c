// SPDX-License-Identifier: GPL-2.0-only
#include "store/store-reader.h"

#include <fcntl.h>
#include <sys/file.h>

#include <stdio.h>

#include "store/files.h"
#include "store/folder.h"
#include "store/index.h"
#include "tape/segment.h"

struct store_reader {
	char *path;
	struct index *index;
};

struct store_reader *store_reader_close(struct store_reader *reader)
{
	if (!reader)
		return NULL;
	index_close(reader->index);
	free(reader->path);
	free(reader);
	return NULL;
}

/* The segments' folder is what makes a store. */
static int reader_check(const struct store_reader *reader, struct error *error)
{
	char segments[PATH_MAX], index[PATH_MAX];
	int r = store_file(reader->path, STORE_SEGMENTS, segments, error);

	if (r == 0)
		r = store_file(reader->path, STORE_INDEX, index, error);
	if (r < 0 || access(segments, R_OK | X_OK) == 0)
		return r;
	r = -errno;
	if (r == -ENOENT && access(index, F_OK) < 0)
		return error_set(error, r,
			"%s: nothing is recorded there; start with: perftape record --store %s",
			reader->path, reader->path);
	return error_set(error, r, "%s: %s", segments, strerror(-r));
}

/* From here on the folder alone is asked. */
static void reader_distrust(struct store_reader *reader)
{
	reader->index = index_close(reader->index);
}

static int reader_open_index(struct store_reader *reader, struct error *error)
{
	struct error said = { 0 };
	char file[PATH_MAX];
	int r = store_file(reader->path, STORE_INDEX, file, error);

	if (r < 0)
		return r;
	r = index_open(file, false, &reader->index, &said);
	if (r == -EPROTONOSUPPORT)
		return error_set(error, r, "%s: %s", reader->path, said.text);
	return r == -ENOMEM ? r : 0;
}

int store_reader_open(const char *path, struct store_reader **ret_reader, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->path = strdup(path);
	if (!reader->path)
		return -ENOMEM;
	r = reader_check(reader, error);
	if (r == 0)
		r = reader_open_index(reader, error);
	if (r < 0)
		return r;
	*ret_reader = take_ptr(reader);
	return 0;
}

const char *store_reader_path(const struct store_reader *reader)
{
	return reader->path;
}

static bool overlaps(const struct store_segment *segment, uint64_t from_ns, uint64_t to_ns)
{
	return segment->begin_ns < to_ns && segment->end_ns > from_ns;
}

/* What the index does not know; all of it where there is none. */
static int add_from_folder(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	struct store_segments *segments, struct error *error)
{
	size_t kept = 0;
	int r = folder_unknown(reader->path, reader->index, segments, error);

	for (size_t i = 0; i < segments->list.count; i++)
		if (overlaps(&segments->list.items[i], from_ns, to_ns))
			segments->list.items[kept++] = segments->list.items[i];
	segments->list.count = kept;
	return r;
}

/* 1 when the index says something else than the file. One that is gone, or damaged by now, is as the index knew it. */
static int check_row(
	const struct store_reader *reader, struct store_segment *row, struct error *error)
{
	struct store_segment file;
	int r = folder_describe(reader->path, row->name, &file, error);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	row->bytes = file.bytes;
	memcpy(row->damage, file.damage, sizeof(row->damage));
	if (*file.damage)
		return 0;
	return row->begin_ns != file.begin_ns || row->end_ns != file.end_ns ||
	       row->samples != file.samples || row->lost != file.lost ||
	       row->sequence != file.sequence || strcmp(row->boot_id, file.boot_id) != 0;
}

/* 1 when the index is not to be believed. */
static int add_from_index(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	struct store_segments *segments, struct error *error)
{
	size_t first = segments->list.count;
	int r = index_find(reader->index, from_ns, to_ns, segments, error);

	if (r < 0)
		return r == -ENOMEM ? r : 1;
	for (size_t i = first; r == 0 && i < segments->list.count; i++)
		r = check_row(reader, &segments->list.items[i], error);
	return r;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(
		((const struct store_segment *)a)->name, ((const struct store_segment *)b)->name);
}

/* A segment that was sealed while we looked was in the folder first, and then in the index. */
static void drop_doubles(struct store_segments *segments)
{
	size_t kept = 0;

	if (!segments->list.count)
		return;
	qsort(segments->list.items, segments->list.count, sizeof(*segments->list.items),
		compare_names);
	for (size_t i = 0; i < segments->list.count; i++)
		if (!kept || compare_names(&segments->list.items[kept - 1],
				     &segments->list.items[i]) != 0)
			segments->list.items[kept++] = segments->list.items[i];
	segments->list.count = kept;
}

static int reader_list(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	struct store_segments *segments, struct error *error)
{
	struct error said = { 0 };
	int r;

	if (!reader->index)
		return add_from_folder(reader, from_ns, to_ns, segments, error);
	r = add_from_folder(reader, from_ns, to_ns, segments, &said);
	if (r == 0)
		r = add_from_index(reader, from_ns, to_ns, segments, &said);
	if (r == 0 || r == -ENOMEM)
		return r;
	/* whatever the index cannot do, the folder can; where that is at fault it says so again */
	reader_distrust(reader);
	segments->list.count = 0;
	return add_from_folder(reader, from_ns, to_ns, segments, error);
}

int store_reader_find(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	struct store_segments *segments, struct error *error)
{
	struct store_segments found = { 0 };
	int r = reader_list(reader, from_ns, to_ns, &found, error);

	if (r == 0) {
		drop_doubles(&found);
		folder_sort(&found);
	}
	for (size_t i = 0; r == 0 && i < found.list.count; i++)
		r = array_push(&segments->list, found.list.items[i]);
	array_done(&found.list);
	return r < 0 ? error_prefix(error, r, "%s", reader->path) : 0;
}

int store_reader_near(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	uint64_t *ret_before_ns, uint64_t *ret_after_ns, struct error *error)
{
	struct store_segments all = { 0 };
	uint64_t before_ns = 0, after_ns = 0;
	int r;

	if (reader->index &&
		index_near(reader->index, from_ns, to_ns, &before_ns, &after_ns, NULL) < 0)
		reader_distrust(reader);
	r = add_from_folder(reader, 0, UINT64_MAX, &all, error);
	for (size_t i = 0; r == 0 && i < all.list.count; i++) {
		const struct store_segment *segment = &all.list.items[i];

		if (segment->end_ns <= from_ns)
			before_ns = MAX(before_ns, segment->end_ns);
		if (segment->begin_ns >= to_ns && (!after_ns || segment->begin_ns < after_ns))
			after_ns = segment->begin_ns;
	}
	array_done(&all.list);
	if (r < 0)
		return error_prefix(error, r, "%s", reader->path);
	*ret_before_ns = before_ns;
	*ret_after_ns = after_ns;
	return 0;
}

int store_reader_load(struct store_reader *reader, const struct store_segment *segment,
	const struct segment_want *want, struct tape **ret_tape, struct error *error)
{
	_cleanup_free_ char *data = NULL;
	struct segment_input input;
	size_t size;
	int r;

	r = store_read_segment(reader->path, segment->name, &data, &size, error);
	if (r < 0)
		return r;
	input = segment_input_memory(data, size);
	r = segment_decode(&input, want, ret_tape, error);
	return r < 0 ? error_prefix(error, r, "%s", segment->name) : 0;
}

int store_reader_recorder(const struct store_reader *reader)
{
	_cleanup_close_ int fd = -1;
	char file[PATH_MAX], pid[32];
	ssize_t size;

	if (store_file(reader->path, STORE_LOCK, file, NULL) < 0)
		return 0;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	size = pread(fd, pid, sizeof(pid) - 1, 0);
	pid[MAX(size, 0)] = 0;
	return atoi(pid);
}
