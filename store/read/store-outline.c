// SPDX-License-Identifier: GPL-2.0-only
/* Finds the outlines of segments: from the index, else from the digest of the segment. */
#include <fcntl.h>
#include <unistd.h>

#include "store/disk/segment-dir.h"
#include "store/read/reader.h"
#include "tape/outline.h"

static int store_outline_of_file(const struct store_reader *reader,
				 const struct store_segment *segment, struct buffer *bytes)
{
	_cleanup_close_ int fd = -1;
	struct segment_input input;

	if (!reader->is_file)
		return segment_dir_outline(reader->path, segment, bytes, NULL);
	fd = open(reader->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	input = segment_input_file(fd, segment->offset, segment->bytes);
	return segment_outline(&input, bytes, NULL);
}

static int store_outline_ask_index(struct store_reader *reader, const struct store_segment *segment,
				   struct buffer *bytes)
{
	int r = reader->index
			? index_bytes_of(reader->index, INDEX_OUTLINES, segment->name, bytes, NULL)
			: 0;

	if (r >= 0 || r == -ENOMEM)
		return r;
	reader_drop_index(reader);
	bytes->size = 0;
	return 0;
}

/* Returns 1, 0 if the segment has no outline or is unreadable, or a negative errno. */
static int store_outline_read(struct store_reader *reader, const struct store_segment *segment,
			      struct buffer *bytes, struct outline *outline)
{
	int r;

	bytes->size = 0;
	if (segment->unsealed || *segment->damage || !segment->samples)
		return 0;
	r = store_outline_ask_index(reader, segment, bytes);
	if (r == 0)
		r = store_outline_of_file(reader, segment, bytes);
	if (r == 1)
		r = outline_decode(bytes->data, bytes->size, outline) == 0;
	return r < 0 && !error_is_exhaustion(r) ? 0 : r;
}

int store_reader_outlines(struct store_reader *reader, const struct store_segments *segments,
			  int (*see)(void *context, const struct store_segment *segment,
				     const struct outline *outline),
			  void *context)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	int r = 0;

	if (reader->index && index_begin_reading(reader->index, NULL) < 0)
		reader_drop_index(reader);
	for (size_t i = 0; r == 0 && i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];
		struct outline outline = { 0 };

		r = store_outline_read(reader, segment, &bytes, &outline);
		if (r >= 0)
			r = see(context, segment, r ? &outline : NULL);
		outline_done(&outline);
	}
	if (reader->index)
		index_end_reading(reader->index);
	return r;
}
