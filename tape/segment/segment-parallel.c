// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stacks are the first item of all, as nothing else takes as long: a thread takes it while the
 * blocks are read by the others. What fails side by side tells no text: which of several threads
 * fails first is not always the same.
 */
#include "tape/segment/segment-parallel.h"

#include "base/workers.h"
#include "tape/segment/segment-samples.h"

struct together {
	const struct decoding *decoding;
	struct functions functions;
	struct leaves leaves;
	struct blocks blocks;
	/* of each thread */
	struct zstd_unpacker **unpackers;
};

static int segment_parallel_decode_stacks(const struct decoding *decoding,
					  struct together *together)
{
	int r = dictionary_decode(decoding, &together->functions);

	return r < 0 ? r : trie_decode(decoding, &together->functions, &together->leaves);
}

static int decode_alone(struct together *together)
{
	const struct decoding *decoding = together->decoding;
	struct blocks *blocks = &together->blocks;
	int r = segment_parallel_decode_stacks(decoding, together);

	if (r < 0 || !(decoding->want->parts & SEGMENT_SAMPLES))
		return r;
	r = blocks_find(decoding, blocks);
	if (r == 0)
		r = blocks_know_stacks(decoding, &together->functions, &together->leaves, blocks);
	for (size_t i = 0; r == 0 && i < blocks->places.count; i++) {
		r = blocks_read(decoding, blocks, i);
		if (r == 0)
			r = blocks_make_room(decoding, blocks, i, i + 1);
		if (r == 0)
			r = blocks_place(decoding, blocks, i);
	}
	return r;
}

static int read_item(void *context, unsigned int worker, size_t item)
{
	struct together *together = context;
	struct zstd_unpacker **unpacker = &together->unpackers[worker];
	struct decoding decoding = *together->decoding;
	struct error said = { 0 };
	int r = *unpacker ? 0 : zstd_unpacker_new(unpacker);

	decoding.unpacker = *unpacker;
	decoding.error = &said;
	if (r < 0)
		return r;
	return item ? blocks_read(&decoding, &together->blocks, item - 1)
		    : segment_parallel_decode_stacks(&decoding, together);
}

static int place_item(void *context, unsigned int worker, size_t item)
{
	struct together *together = context;
	struct decoding decoding = *together->decoding;
	struct error said = { 0 };

	(void)worker;
	decoding.error = &said;
	return blocks_place(&decoding, &together->blocks, item);
}

static int run_steps(struct together *together, unsigned int threads)
{
	struct blocks *blocks = &together->blocks;
	size_t count = blocks->places.count, done;
	struct workers workers = {
		.threads = threads,
		.count = 1 + count,
		.work = read_item,
		.context = together,
	};
	int r = workers_run(&workers, &done);

	if (r == 0)
		r = blocks_know_stacks(together->decoding, &together->functions, &together->leaves,
				       blocks);
	if (r == 0)
		r = blocks_make_room(together->decoding, blocks, 0, count);
	if (r < 0)
		return r;
	workers.count = count;
	workers.work = place_item;
	return workers_run(&workers, &done);
}

static int decode_beside(struct together *together, unsigned int threads)
{
	int r = blocks_find(together->decoding, &together->blocks);

	if (r < 0)
		return r;
	together->unpackers = calloc(threads, sizeof(struct zstd_unpacker *));
	r = together->unpackers ? run_steps(together, threads) : -ENOMEM;
	for (unsigned int i = 0; together->unpackers && i < threads; i++)
		zstd_unpacker_free(together->unpackers[i]);
	free(together->unpackers);
	return r;
}

int together_decode(const struct decoding *decoding, unsigned int threads)
{
	struct together together = { .decoding = decoding };
	bool samples = decoding->want->parts & SEGMENT_SAMPLES;
	int r = threads > 1 && samples ? decode_beside(&together, threads)
				       : decode_alone(&together);

	functions_done(&together.functions);
	leaves_done(&together.leaves);
	blocks_done(&together.blocks);
	return r;
}
