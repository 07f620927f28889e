// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/digest-adding.h"

#include <errno.h>

#include "base/cleanup.h"
#include "store/disk/files.h"
#include "store/write/reseal.h"
#include "tape/segment/segment.h"

/* Returns whether segment_encode() makes a digest or an outline, or a negative errno. */
static int gets_sums(const struct tape *tape)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 }, outline = { 0 };
	struct segment_input input;
	int r = segment_encode(tape, SEGMENT_USUAL, STORE_SEGMENT_MAX, &bytes);

	if (r < 0)
		return r == -EFBIG ? 0 : r;
	input = segment_input_memory(bytes.data, bytes.size);
	return segment_outline(&input, &outline, NULL);
}

static int see_outline(void *context, const struct store_segment *segment,
		       const struct outline *outline)
{
	bool *has = context;

	(void)segment;
	*has = outline != NULL;
	return 0;
}

/* Returns whether the segment has a digest or an outline, or a negative errno. */
static int has_sums(struct store_reader *reader, struct store_segment *segment)
{
	const struct store_segments one = { .list = { segment, 1, 1 } };
	bool has = false;
	int r = store_reader_outlines(reader, &one, see_outline, &has);

	return r < 0 ? r : has;
}

static int add_to_segment(struct store_resealer *resealer, struct store_reader *reader,
			  struct store_segment *segment, uint64_t *count, struct error *error)
{
	static const struct segment_want all = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = has_sums(reader, segment);

	if (r != 0)
		return MIN(r, 0);
	/* skip damaged segments, which `verify` reports */
	r = store_reader_load(reader, segment, &all, &tape, NULL);
	if (r < 0 || tape->unsealed)
		return r == -ENOMEM ? r : 0;
	r = gets_sums(tape);
	if (r <= 0)
		return r;
	r = store_resealer_put(resealer, segment, tape, error);
	*count += r >= 0;
	return r == -ENOENT ? 0 : MIN(r, 0);
}

int digest_adding_run(const char *path, struct store_reader *reader, uint64_t *ret_count,
		      struct error *error)
{
	_cleanup_(cleanup_store_resealer) struct store_resealer *resealer = NULL;
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_resealer_open(path, &resealer, error);

	*ret_count = 0;
	if (r < 0)
		return r;
	r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		struct store_segment *segment = &segments.list.items[i];

		if (!segment->unsealed && !segment->vanished && !*segment->damage &&
		    segment->samples)
			r = add_to_segment(resealer, reader, segment, ret_count, error);
	}
	return r;
}
