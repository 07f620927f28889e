// SPDX-License-Identifier: GPL-2.0-only
/* Finds the busy CPUs, segment by segment: from the index, else from the section of the segment. */
#include <fcntl.h>
#include <unistd.h>

#include "store/disk/segment-dir.h"
#include "store/read/reader.h"
#include "tape/busy.h"

struct walk {
	struct store_reader *reader;
	struct busy_decoder *decoder;
	/* The encoded busy CPUs of the current segment. */
	struct buffer bytes;
	int (*see)(void *context, const struct store_segment *segment, const struct busy *busy);
	void *context;
	struct error *error;
};

static int read_single_file(const struct store_reader *reader, const struct store_segment *segment,
			    struct buffer *bytes)
{
	_cleanup_close_ int fd = open(reader->path, O_RDONLY | O_CLOEXEC);
	struct segment_input input;

	if (fd < 0)
		return -errno;
	input = segment_input_file(fd, segment->offset, segment->bytes);
	return segment_busy(&input, bytes, NULL);
}

/* Returns 1, or 0 if the section does not exist or is unreadable. */
static int store_busy_decode(struct walk *walk, struct busy *busy)
{
	int r = busy_decode(walk->decoder, walk->bytes.data, walk->bytes.size, busy);

	return r == -ENOMEM ? r : r == 0;
}

static int from_file(struct walk *walk, const struct store_segment *segment, struct busy *busy)
{
	const struct store_reader *reader = walk->reader;
	int r;

	walk->bytes.size = 0;
	r = reader->is_file ? read_single_file(reader, segment, &walk->bytes)
			    : segment_dir_busy(reader->path, segment, &walk->bytes, NULL);
	return r == 1 ? store_busy_decode(walk, busy) : error_is_exhaustion(r) ? r : 0;
}

static int ask_index(struct walk *walk, const struct store_segment *segment)
{
	struct store_reader *reader = walk->reader;
	int r;

	walk->bytes.size = 0;
	r = reader->index
		    ? index_bytes_of(reader->index, INDEX_BUSY, segment->name, &walk->bytes, NULL)
		    : 0;
	if (r >= 0 || r == -ENOMEM)
		return r;
	reader_drop_index(reader);
	return 0;
}

/*
 * Reads the busy CPUs from the index. If the index has a row, checks that the row belongs to the
 * present segment. Uses the row even if the segment is damaged by now, because the row is complete.
 */
static int from_index(struct walk *walk, struct store_segment *segment, struct busy *busy)
{
	int r = ask_index(walk, segment);

	if (r == 1)
		r = store_busy_decode(walk, busy);
	if (r != 1 || !busy->cells.count)
		return r;
	r = reader_check_row(walk->reader, segment, walk->error);
	*segment->damage = 0;
	return r < 0 ? r : !r;
}

static int store_busy_see_segment(struct walk *walk, struct store_segment *segment)
{
	struct busy busy = { 0 };
	int r = 0;

	if (!segment->unsealed && !*segment->damage) {
		r = from_index(walk, segment, &busy);
		if (r == 0) {
			busy_done(&busy);
			busy = (struct busy){ 0 };
			r = from_file(walk, segment, &busy);
		}
	}
	if (r >= 0)
		r = walk->see(walk->context, segment, r ? &busy : NULL);
	busy_done(&busy);
	return r;
}

static int walk_segments(struct walk *walk, uint64_t from_ns, uint64_t to_ns,
			 struct store_segments *segments)
{
	struct store_reader *reader = walk->reader;
	int r = reader_gather(reader, from_ns, to_ns, segments, walk->error);

	if (r < 0)
		return error_prefix(walk->error, r, "%s", reader->path);
	segment_dir_sort(segments);
	if (reader->index && index_begin_reading(reader->index, NULL) < 0)
		reader_drop_index(reader);
	for (size_t i = 0; r == 0 && i < segments->list.count; i++) {
		struct store_segment *segment = &segments->list.items[i];

		if (segment->begin_ns < to_ns && segment->end_ns > from_ns)
			r = store_busy_see_segment(walk, segment);
	}
	if (reader->index)
		index_end_reading(reader->index);
	return r;
}

int store_reader_busy(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      int (*see)(void *context, const struct store_segment *segment,
				 const struct busy *busy),
		      void *context, struct error *error)
{
	struct walk walk = { .reader = reader, .see = see, .context = context, .error = error };
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = busy_decoder_new(&walk.decoder);

	if (r == 0)
		r = walk_segments(&walk, from_ns, to_ns, &segments);
	busy_decoder_free(walk.decoder);
	buffer_done(&walk.bytes);
	return r;
}
