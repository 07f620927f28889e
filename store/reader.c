// SPDX-License-Identifier: GPL-2.0-only
#include "store/store-reader.h"

#include "store/files.h"
#include "store/index.h"
#include "store/segment.h"

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

int store_reader_open(const char *path, struct store_reader **ret_reader, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = calloc(1, sizeof(*reader));
	char file[PATH_MAX];
	int r;

	if (!reader)
		return -ENOMEM;
	reader->path = strdup(path);
	if (!reader->path)
		return -ENOMEM;
	r = store_file(path, STORE_INDEX, file, error);
	if (r < 0)
		return r;
	if (access(file, R_OK) < 0 && errno == ENOENT)
		return error_set(error, -ENOENT,
			"%s: nothing is recorded there; start with: perftape record --store %s",
			path, path);
	if (access(file, R_OK) < 0)
		return error_set(error, -errno, "%s: %s", file, strerror(errno));
	r = index_open(file, false, &reader->index, error);
	if (r < 0)
		return error_prefix(error, r, "%s", path);
	*ret_reader = take_ptr(reader);
	return 0;
}

const char *store_reader_path(const struct store_reader *reader)
{
	return reader->path;
}

int store_reader_find(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	struct store_segments *segments, struct error *error)
{
	int r = index_find(reader->index, from_ns, to_ns, segments, error);

	return r < 0 ? error_prefix(error, r, "%s", reader->path) : 0;
}

int store_reader_near(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
	uint64_t *ret_before_ns, uint64_t *ret_after_ns, struct error *error)
{
	int r = index_near(reader->index, from_ns, to_ns, ret_before_ns, ret_after_ns, error);

	return r < 0 ? error_prefix(error, r, "%s", reader->path) : 0;
}

int store_reader_load(struct store_reader *reader, const struct store_segment *segment,
	struct tape **ret_tape, struct error *error)
{
	_cleanup_free_ char *data = NULL;
	size_t size;
	int r;

	r = store_read_segment(reader->path, segment->name, &data, &size, error);
	if (r < 0)
		return r;
	r = segment_decode(data, size, ret_tape, error);
	return r < 0 ? error_prefix(error, r, "%s", segment->name) : 0;
}
