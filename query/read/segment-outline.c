// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/segment-outline.h"

#include <errno.h>

#include "base/cleanup.h"
#include "query/read/weights.h"
#include "tape/digest.h"

struct walk {
	struct store_reader *reader;
	int (*see)(void *context, const struct store_segment *segment,
		   const struct outline *outline);
	void *context;
};

/* The weights are nanoseconds, because a sample of a throttled CPU stands for more time. */
static int segment_outline_weigh(const struct tape *tape, uint64_t *ret_weights)
{
	_cleanup_(weights_done) struct weights weights = { 0 };
	int r = weights_make(&weights, tape, stack_class_sample_ns(tape, tape->samples.count));

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++)
		ret_weights[i] = weights_of(&weights, &tape->samples.items[i]);
	return r;
}

static int segment_outline_digest(struct tape *tape)
{
	_cleanup_(stack_class_marks_done) struct stack_class_marks marks = { 0 };
	_cleanup_free_ uint64_t *weights = calloc(tape->samples.count + 1, sizeof(*weights));
	const struct digest_input input = { .tape = tape, .marks = &marks, .weights = weights };
	int r = weights ? segment_outline_weigh(tape, weights) : -ENOMEM;

	tape->digest = digest_free(tape->digest);
	if (r < 0)
		return r;
	r = stack_class_marks_make(&marks, tape);
	if (r < 0)
		return r;
	tape->digest = calloc(1, sizeof(*tape->digest));
	return tape->digest ? digest_make(&input, tape->digest) : -ENOMEM;
}

/* Makes the outline of all samples. Returns 1, 0 if the segment is unreadable, or an errno. */
static int segment_outline_of_samples(struct store_reader *reader,
				      const struct store_segment *segment, struct outline *outline)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_SAMPLES | SEGMENT_LOSSES,
						  1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = store_reader_load(reader, segment, &want, &tape, NULL);

	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	r = tape_sort_samples(tape);
	if (r < 0)
		return r;
	r = segment_outline_digest(tape);
	if (r < 0)
		return r;
	r = outline_make(tape, tape->digest, outline);
	outline->sample_ns = 1;
	return r < 0 ? r : 1;
}

static int segment_outline_see(void *context, const struct store_segment *segment,
			       const struct outline *outline)
{
	const struct walk *walk = context;
	struct outline own = { 0 };
	int r = 0;

	if (!outline && !segment->unsealed && !*segment->damage && segment->samples)
		r = segment_outline_of_samples(walk->reader, segment, &own);
	if (r >= 0)
		r = walk->see(walk->context, segment, r ? &own : outline);
	outline_done(&own);
	return r;
}

int segment_outlines_read(struct store_reader *reader, const struct store_segments *segments,
			  int (*see)(void *context, const struct store_segment *segment,
				     const struct outline *outline),
			  void *context)
{
	struct walk walk = { reader, see, context };

	return store_reader_outlines(reader, segments, segment_outline_see, &walk);
}
