// SPDX-License-Identifier: GPL-2.0-only
/* Reads a .tape file: one or more segments out of a store, without an index and other files. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/disk/files.h"
#include "store/read/reader.h"

#define SCAN_BYTES 65536

/* Sets *ret_at to the place of the next magic of a segment at or after `at`, or to `size`. */
static int find_magic(int fd, uint64_t at, uint64_t size, uint64_t *ret_at)
{
	_cleanup_free_ uint8_t *part = malloc(SCAN_BYTES);

	if (!part)
		return -ENOMEM;
	while (at < size) {
		ssize_t got = pread(fd, part, SCAN_BYTES, at);
		const uint8_t *found;

		if (got < 0)
			return -errno;
		found = memmem(part, got, SEGMENT_MAGIC, strlen(SEGMENT_MAGIC));
		if (found) {
			*ret_at = at + (found - part);
			return 0;
		}
		if (got < SCAN_BYTES)
			break;
		/* the magic may begin in these bytes and end in the next ones */
		at += got - strlen(SEGMENT_MAGIC);
	}
	*ret_at = size;
	return 0;
}

/* Reads the segment at an offset, as far as possible, and finds the begin of the next one. */
static int single_file_read_segment(int fd, uint64_t offset, uint64_t size,
				    struct store_segment *ret_segment, uint64_t *ret_next)
{
	struct segment_summary summary = { 0 };
	struct store_segment segment = { 0 };
	uint8_t head[SEGMENT_HEAD];
	struct error why = { 0 };
	ssize_t got = pread(fd, head, sizeof(head), offset);
	int r;

	if (got < 0)
		return -errno;
	r = segment_peek(head, got, size - offset, &summary, &why);
	if (r == -ENOMEM)
		return r;
	if (r >= 0)
		store_describe(&summary, "", 0, &segment);
	if (*why.text)
		snprintf(segment.damage, sizeof(segment.damage), "%.*s",
			 (int)sizeof(segment.damage) - 1, why.text);
	if (r == 0 && summary.bytes) {
		*ret_next = offset + summary.bytes;
	} else {
		r = find_magic(fd, offset + 1, size, ret_next);
		if (r < 0)
			return r;
	}
	segment.offset = offset;
	segment.bytes = *ret_next - offset;
	*ret_segment = segment;
	return 0;
}

static void name_segments(struct store_reader *reader)
{
	const char *slash = strrchr(reader->path, '/'), *name = slash ? slash + 1 : reader->path;
	size_t count = reader->file.list.count;

	for (size_t i = 0; i < count; i++) {
		struct store_segment *segment = &reader->file.list.items[i];

		if (count == 1)
			snprintf(segment->name, sizeof(segment->name), "%.63s", name);
		else
			snprintf(segment->name, sizeof(segment->name), "%.40s#%zu", name, i + 1);
	}
}

/* Gives a damaged segment the time between its neighbours in the file. */
static void place_damaged(struct store_segments *segments)
{
	for (size_t i = 0; i < segments->list.count; i++) {
		struct store_segment *lost = &segments->list.items[i];
		const struct store_segment *before = i ? lost - 1 : NULL;
		const struct store_segment *after = i + 1 < segments->list.count ? lost + 1 : NULL;

		if (lost->begin_ns || !*lost->damage)
			continue;
		lost->begin_ns = before ? before->end_ns : 0;
		lost->end_ns = after && after->begin_ns > lost->begin_ns ? after->begin_ns
									 : lost->begin_ns + 1;
	}
}

static int single_file_read_all(struct store_reader *reader, int fd, uint64_t size)
{
	uint64_t next = 0;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < size; at = next) {
		struct store_segment segment;

		r = single_file_read_segment(fd, at, size, &segment, &next);
		if (r < 0)
			return r;
		r = array_push(&reader->file.list, segment);
	}
	return r;
}

int reader_open_file(struct store_reader *reader, struct error *error)
{
	_cleanup_close_ int fd = open(reader->path, O_RDONLY | O_CLOEXEC);
	const struct store_segment *first;
	struct stat about;
	int r;

	if (fd < 0 || fstat(fd, &about) < 0)
		return error_set(error, -errno, "%s: %s", reader->path, strerror(errno));
	r = single_file_read_all(reader, fd, about.st_size);
	if (r < 0)
		return error_set(error, r, "%s: %s", reader->path, strerror(-r));
	if (!reader->file.list.count)
		return error_set(error, -EBADMSG, "%s: it is empty", reader->path);
	first = &reader->file.list.items[0];
	if (*first->damage && !first->begin_ns && reader->file.list.count == 1)
		return error_set(error, -EBADMSG, "%s: %s", reader->path, first->damage);
	name_segments(reader);
	place_damaged(&reader->file);
	return 0;
}
