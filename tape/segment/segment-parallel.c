// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stacks are the first work item, because they take longest. One thread decodes them while the
 * others read blocks. In parallel, decoding does not set the text of an error, because each run
 * might report another thread's error.
 */
#include "tape/segment/segment-parallel.h"

#include "base/workers.h"
#include "tape/segment/segment-samples.h"

struct parallel {
	const struct decoding *decoding;
	struct functions functions;
	struct leaves leaves;
	struct blocks blocks;
	/* One for each thread. */
	struct zstd_unpacker **unpackers;
};

static int segment_parallel_decode_stacks(const struct decoding *decoding,
					  struct parallel *parallel)
{
	int r = dictionary_decode(decoding, &parallel->functions);

	return r < 0 ? r : trie_decode(decoding, &parallel->functions, &parallel->leaves);
}

static int decode_in_order(struct parallel *parallel)
{
	const struct decoding *decoding = parallel->decoding;
	struct blocks *blocks = &parallel->blocks;
	int r = segment_parallel_decode_stacks(decoding, parallel);

	if (r < 0 || !(decoding->want->parts & SEGMENT_SAMPLES))
		return r;
	r = blocks_find(decoding, blocks);
	if (r < 0)
		return r;
	r = blocks_know_stacks(decoding, &parallel->functions, &parallel->leaves, blocks);
	for (size_t i = 0; r == 0 && i < blocks->places.count; i++) {
		r = blocks_read(decoding, blocks, i);
		if (r < 0)
			return r;
		r = blocks_make_room(decoding, blocks, i, i + 1);
		if (r < 0)
			return r;
		r = blocks_place(decoding, blocks, i);
	}
	return r;
}

static int read_item(void *context, unsigned int worker, size_t item)
{
	struct parallel *parallel = context;
	struct zstd_unpacker **unpacker = &parallel->unpackers[worker];
	struct decoding decoding = *parallel->decoding;
	struct error ignored = { 0 };
	int r = *unpacker ? 0 : zstd_unpacker_new(unpacker);

	decoding.unpacker = *unpacker;
	decoding.error = &ignored;
	if (r < 0)
		return r;
	return item ? blocks_read(&decoding, &parallel->blocks, item - 1)
		    : segment_parallel_decode_stacks(&decoding, parallel);
}

static int place_item(void *context, unsigned int worker, size_t item)
{
	struct parallel *parallel = context;
	struct decoding decoding = *parallel->decoding;
	struct error ignored = { 0 };

	(void)worker;
	decoding.error = &ignored;
	return blocks_place(&decoding, &parallel->blocks, item);
}

static int run_steps(struct parallel *parallel, unsigned int threads)
{
	struct blocks *blocks = &parallel->blocks;
	size_t count = blocks->places.count, done;
	struct workers workers = {
		.threads = threads,
		.count = 1 + count,
		.work = read_item,
		.context = parallel,
	};
	int r = workers_run(&workers, &done);

	if (r < 0)
		return r;
	r = blocks_know_stacks(parallel->decoding, &parallel->functions, &parallel->leaves, blocks);
	if (r < 0)
		return r;
	r = blocks_make_room(parallel->decoding, blocks, 0, count);
	if (r < 0)
		return r;
	workers.count = count;
	workers.work = place_item;
	return workers_run(&workers, &done);
}

static int decode_in_threads(struct parallel *parallel, unsigned int threads)
{
	int r = blocks_find(parallel->decoding, &parallel->blocks);

	if (r < 0)
		return r;
	parallel->unpackers = calloc(threads, sizeof(struct zstd_unpacker *));
	r = parallel->unpackers ? run_steps(parallel, threads) : -ENOMEM;
	for (unsigned int i = 0; parallel->unpackers && i < threads; i++)
		zstd_unpacker_free(parallel->unpackers[i]);
	free(parallel->unpackers);
	return r;
}

int segment_parallel_decode(const struct decoding *decoding, unsigned int threads)
{
	struct parallel parallel = { .decoding = decoding };
	bool samples = decoding->want->parts & SEGMENT_SAMPLES;
	int r = threads > 1 && samples ? decode_in_threads(&parallel, threads)
				       : decode_in_order(&parallel);

	functions_done(&parallel.functions);
	leaves_done(&parallel.leaves);
	blocks_done(&parallel.blocks);
	return r;
}
