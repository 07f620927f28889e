// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment-block.h"

#include "base/sort.h"
#include "tape/segment/timer-grid.h"
#include "tape/segment/grouping.h"

#define GRID_PERIOD_MAX (1ull << 40)

/*
 * Codes of the thread column. 0 to CACHE_MAX - 1: the place in the CPU's list of threads, which
 * begins with the thread that ran last. THREAD_NEW: the next thread of the segment, at its first
 * use. THREAD_OTHER: any other thread, with its number in the next column.
 */
#define CACHE_MAX 254
#define THREAD_NEW 254
#define THREAD_OTHER 255

struct thread_cache {
	uint32_t threads[CACHE_MAX];
	size_t count;
};

static size_t thread_cache_find(const struct thread_cache *cache, uint32_t thread)
{
	size_t at = 0;

	while (at < cache->count && cache->threads[at] != thread)
		at++;
	return at;
}

/*
 * Moves a thread to the front. A place behind the last one means that the thread is new to the
 * list; then the last thread of a full list leaves it.
 */
static void thread_cache_move(struct thread_cache *cache, size_t at, uint32_t thread)
{
	if (at == cache->count && cache->count < CACHE_MAX)
		cache->count++;
	at = MIN(at, cache->count - 1);
	memmove(cache->threads + 1, cache->threads, at * sizeof(*cache->threads));
	cache->threads[0] = thread;
}

int block_init(struct block *block, size_t count)
{
	*block = (struct block){ 0 };
	block->order = malloc((count + 1) * sizeof(uint32_t));
	block->grouped = malloc((count + 1) * sizeof(uint32_t));
	block->scratch = malloc((count + 1) * sizeof(uint32_t));
	block->keys = malloc((count + 1) * sizeof(uint32_t));
	block->values = malloc((count + 1) * sizeof(uint32_t));
	return block->order && block->grouped && block->scratch && block->keys && block->values
		       ? 0
		       : -ENOMEM;
}

void block_done(struct block *block)
{
	free(block->order);
	free(block->grouped);
	free(block->scratch);
	free(block->keys);
	free(block->values);
	buffer_done(&block->head);
	buffer_done(&block->times);
	buffer_done(&block->escapes);
	buffer_done(&block->threads);
	buffer_done(&block->others);
	buffer_done(&block->periods);
}

static void block_start(struct block *block, const struct tape_sample *samples, size_t count)
{
	block->samples = samples;
	block->count = count;
	block->begin_us = microseconds(samples[0].time_ns);
	block->head.size = block->times.size = block->escapes.size = 0;
	block->threads.size = block->others.size = block->periods.size = 0;
	for (size_t i = 0; i < count; i++)
		block->keys[i] = samples[i].cpu;
	group_start(block->order, count);
	group_by(block->order, block->scratch, count, block->keys);
}

static const struct tape_sample *segment_block_at(const struct block *block, size_t place)
{
	return &block->samples[block->order[place]];
}

static int64_t block_time(const struct block *block, size_t place)
{
	return (int64_t)(microseconds(segment_block_at(block, place)->time_ns) - block->begin_us);
}

/* Returns the end of the run of one CPU that starts at a place. */
static size_t run_end(const struct block *block, size_t start)
{
	size_t end = start + 1;

	while (end < block->count &&
	       segment_block_at(block, end)->cpu == segment_block_at(block, start)->cpu)
		end++;
	return end;
}

/* Returns the common period of all samples, or 0. */
static uint64_t same_period(const struct block *block)
{
	for (size_t i = 1; i < block->count; i++)
		if (block->samples[i].period != block->samples[0].period)
			return 0;
	return block->samples[0].period;
}

static int compare_int64(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/*
 * Returns the typical delay of a run's samples behind a grid with that phase: the median of at most
 * 255 samples.
 */
static int64_t typical_delay(const struct block *block, size_t start, size_t end, int64_t phase_us,
			     uint64_t period_ns)
{
	size_t step = (end - start + 254) / 255, count = 0;
	int64_t period = (int64_t)period_ns, delays[255];

	for (size_t i = start; i < end; i += step) {
		int64_t past = (block_time(block, i) - phase_us) * 1000 % period;

		if (past > period / 2)
			past -= period;
		if (past < -period / 2)
			past += period;
		delays[count++] = past / 1000;
	}
	qsort(delays, count, sizeof(*delays), compare_int64);
	return delays[count / 2];
}

/*
 * Returns the phase of a run's grid. The first guess may be off by half a period in either
 * direction, so a second pass corrects it.
 */
static int64_t run_phase(const struct block *block, size_t start, size_t end, uint64_t period_ns)
{
	int64_t phase_us = block_time(block, start);

	phase_us += typical_delay(block, start, end, phase_us, period_ns);
	return phase_us + typical_delay(block, start, end, phase_us, period_ns);
}

/* Encodes the times of one CPU's run. */
static void segment_block_put_times(struct block *block, size_t start, size_t end,
				    struct timer_grid grid)
{
	int64_t last_us = 0;

	for (size_t i = start; i < end; i++) {
		int64_t time_us = block_time(block, i);
		int64_t code = time_us - timer_grid_expected(&grid) + TIMER_GRID_EARLY_US;

		if (grid.period_ns && code >= 0 && code < TIMER_GRID_ESCAPE) {
			buffer_u8(&block->times, code);
			timer_grid_advance(&grid);
		} else {
			if (grid.period_ns)
				buffer_u8(&block->times, TIMER_GRID_ESCAPE);
			buffer_varint(&block->escapes, time_us - last_us);
			timer_grid_settle(&grid, time_us);
		}
		last_us = time_us;
	}
}

static void segment_block_put_threads(struct block *block, struct encoding *encoding, size_t start,
				      size_t end)
{
	struct thread_cache cache = { 0 };

	for (size_t i = start; i < end; i++) {
		uint32_t thread = segment_block_at(block, i)->thread,
			 known = encoding->thread_count;
		uint32_t number = encoding_thread(encoding, thread);
		size_t at = thread_cache_find(&cache, number);

		if (at < cache.count) {
			buffer_u8(&block->threads, at);
		} else if (number == known) {
			buffer_u8(&block->threads, THREAD_NEW);
		} else {
			buffer_u8(&block->threads, THREAD_OTHER);
			buffer_varint(&block->others, number);
		}
		thread_cache_move(&cache, at, number);
	}
}

/*
 * Returns the period of the grid, or 0 if the block gets no grid. Without a timer event, most
 * samples would be escapes.
 */
static uint64_t choose_period(struct block *block, uint64_t period_ns)
{
	size_t escapes = 0, end;

	if (period_ns < 1000 || period_ns > GRID_PERIOD_MAX)
		return 0;
	for (size_t start = 0; start < block->count; start = end) {
		struct timer_grid grid = { .period_ns = period_ns };

		end = run_end(block, start);
		grid.phase_us = run_phase(block, start, end, period_ns);
		segment_block_put_times(block, start, end, grid);
	}
	for (size_t i = 0; i < block->times.size; i++)
		escapes += block->times.data[i] == TIMER_GRID_ESCAPE;
	block->times.size = block->escapes.size = 0;
	return escapes > block->count / 2 ? 0 : period_ns;
}

/* Encodes the columns that are ordered by runs of a CPU. */
static void segment_block_put_runs(struct block *block, struct encoding *encoding)
{
	uint64_t period = same_period(block), grid_ns = choose_period(block, period);
	uint32_t runs = 0, cpu = UINT32_MAX;
	size_t end;

	for (size_t start = 0; start < block->count; start = run_end(block, start))
		runs++;
	buffer_varint(&block->head, grid_ns);
	buffer_varint(&block->head, period);
	buffer_varint(&block->head, encoding->thread_count);
	buffer_varint(&block->head, runs);
	for (size_t start = 0; start < block->count; start = end) {
		struct timer_grid grid = { .period_ns = grid_ns };

		end = run_end(block, start);
		if (grid_ns)
			grid.phase_us = run_phase(block, start, end, grid_ns);
		buffer_varint(&block->head, segment_block_at(block, start)->cpu - (cpu + 1));
		buffer_varint(&block->head, end - start);
		buffer_varint(&block->head, zigzag(grid.phase_us));
		cpu = segment_block_at(block, start)->cpu;
		segment_block_put_times(block, start, end, grid);
		segment_block_put_threads(block, encoding, start, end);
	}
	for (size_t i = 0; i < block->count && !period; i++)
		buffer_varint(&block->periods, segment_block_at(block, i)->period);
}

/* Encodes the stack column: ranks of leaf nodes, grouped by comm. */
static int put_ranks(struct block *block, const struct trie *trie, const uint32_t *paths,
		     struct section_writer *writer)
{
	for (size_t i = 0; i < block->count; i++)
		block->keys[i] = trie->comm.items[paths[i]];
	memcpy(block->grouped, block->order, block->count * sizeof(*block->order));
	group_by(block->grouped, block->scratch, block->count, block->keys);
	for (size_t i = 0; i < block->count; i++)
		block->values[i] = trie->rank[paths[block->grouped[i]]];
	return section_put_planes(writer, block->values, block->count);
}

/* Encodes the leaf column: the number among the function's leaves, grouped by function. */
static int put_leaves(struct block *block, const struct dictionary *dictionary,
		      struct section_writer *writer)
{
	for (size_t i = 0; i < block->count; i++)
		block->keys[i] = dictionary->places[block->samples[i].frame].function;
	memcpy(block->grouped, block->order, block->count * sizeof(*block->order));
	group_by(block->grouped, block->scratch, block->count, block->keys);
	for (size_t i = 0; i < block->count; i++)
		block->values[i] = dictionary->places[block->samples[block->grouped[i]].frame].leaf;
	return section_put_planes(writer, block->values, block->count);
}

int block_encode(struct block *block, struct encoding *encoding,
		 const struct dictionary *dictionary, const struct trie *trie,
		 const struct tape_sample *samples, const uint32_t *paths, size_t count)
{
	const struct buffer *columns[] = { &block->head,    &block->times,  &block->escapes,
					   &block->threads, &block->others, &block->periods };
	struct section_writer writer;
	int r = 0;

	block_start(block, samples, count);
	segment_block_put_runs(block, encoding);
	encoding_begin(encoding, &writer);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(columns); i++)
		r = section_put(&writer, columns[i]);
	if (r < 0)
		return r;
	r = put_ranks(block, trie, paths, &writer);
	if (r < 0)
		return r;
	r = put_leaves(block, dictionary, &writer);
	return r < 0 ? r : encoding_end(encoding, &writer, "samples", CONTENTS_INCOMPATIBLE);
}

/*
 * A block that is being read. `rows` are in the order of the columns, by CPU and time, and `sorted`
 * has their numbers in time order. The columns of stacks are ordered by groups, which only the trie
 * shows.
 */
struct incoming {
	const struct block_place *place;
	struct reader head, times, escapes, threads, others, periods;
	struct tape_sample *rows;
	uint32_t *sorted, *ranks, *leaf_ranks;
	uint64_t grid_ns, period;
	uint64_t next_thread;
};

static int take_times(struct incoming *in, struct tape_sample *rows, size_t count,
		      struct timer_grid grid)
{
	int64_t last_us = 0, span_us = (int64_t)(in->place->last_us - in->place->begin_us);

	for (size_t i = 0; i < count; i++) {
		uint8_t code = grid.period_ns ? reader_u8(&in->times) : TIMER_GRID_ESCAPE;

		if (code == TIMER_GRID_ESCAPE) {
			uint64_t past_us = reader_varint(&in->escapes);

			if (past_us > (uint64_t)span_us)
				return -EBADMSG;
			last_us += (int64_t)past_us;
			timer_grid_settle(&grid, last_us);
		} else {
			last_us = timer_grid_expected(&grid) + code - TIMER_GRID_EARLY_US;
			timer_grid_advance(&grid);
		}
		if (last_us < 0 || last_us > span_us)
			return -EBADMSG;
		rows[i].time_ns = (in->place->begin_us + (uint64_t)last_us) * TAPE_TIME_UNIT_NS;
	}
	return 0;
}

static int segment_block_take_threads(struct incoming *in, struct tape_sample *rows, size_t count,
				      size_t thread_count)
{
	struct thread_cache cache = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint8_t code = reader_u8(&in->threads);
		size_t at = code < CACHE_MAX ? code : cache.count;
		uint64_t thread;

		if (code == THREAD_NEW)
			thread = in->next_thread++;
		else if (code == THREAD_OTHER)
			thread = reader_varint(&in->others);
		else if (at < cache.count)
			thread = cache.threads[at];
		else
			return -EBADMSG;
		if (thread >= thread_count)
			return -EBADMSG;
		rows[i].thread = thread;
		thread_cache_move(&cache, at, thread);
	}
	return 0;
}

static int segment_block_take_runs(struct incoming *in, const struct tape *tape)
{
	uint64_t runs = reader_varint(&in->head), cpu = UINT64_MAX;
	size_t at = 0;
	int r = 0;

	for (uint64_t run = 0; r == 0 && run < runs; run++) {
		uint64_t step = reader_varint(&in->head), count = reader_varint(&in->head);
		struct timer_grid grid = { .period_ns = in->grid_ns };

		grid.phase_us = unzigzag(reader_varint(&in->head));
		if (reader_failed(&in->head) || step > UINT32_MAX || !count ||
		    count > in->place->count - at || grid.phase_us > (int64_t)BLOCK_US_MAX ||
		    grid.phase_us < -(int64_t)BLOCK_US_MAX)
			return -EBADMSG;
		cpu += 1 + step;
		if (cpu > UINT32_MAX)
			return -EBADMSG;
		for (size_t i = at; i < at + count; i++)
			in->rows[i].cpu = cpu;
		r = take_times(in, in->rows + at, count, grid);
		if (r == 0)
			r = segment_block_take_threads(in, in->rows + at, count,
						       tape->threads.count);
		at += count;
	}
	return r == 0 && at != in->place->count ? -EBADMSG : r;
}

/* The sort by time moves only these pairs, because moving whole rows is slow. */
struct timed {
	uint64_t time_ns;
	uint32_t row;
};

static int sort_rows(struct incoming *in)
{
	size_t count = in->place->count;
	_cleanup_free_ struct timed *timed = malloc((count + 1) * sizeof(*timed));
	_cleanup_free_ struct timed *scratch = malloc((count + 1) * sizeof(*scratch));

	if (!timed || !scratch)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		timed[i] = (struct timed){ in->rows[i].time_ns, i };
	sort_by_number(timed, scratch, count, sizeof(*timed), offsetof(struct timed, time_ns));
	for (size_t i = 0; i < count; i++)
		in->sorted[i] = timed[i].row;
	return 0;
}

static int segment_block_take_columns(struct incoming *in, struct section_reader *section)
{
	struct reader *columns[] = { &in->head,	   &in->times,	&in->escapes,
				     &in->threads, &in->others, &in->periods };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(columns); i++)
		r = section_take(section, columns[i]);
	/* the column has a byte for each sample, so from here on the number of samples is proven */
	return r == 0 && in->threads.size != in->place->count ? -EBADMSG : r;
}

static int take_numbers(struct section_reader *section, uint32_t *numbers, size_t count)
{
	struct planes planes;
	int r = section_take_planes(section, count, &planes);

	for (size_t i = 0; r == 0 && i < count; i++)
		numbers[i] = planes_at(&planes, i);
	return r;
}

static int check_ends(const struct incoming *in)
{
	const struct reader *columns[] = { &in->head,	 &in->times,  &in->escapes,
					   &in->threads, &in->others, &in->periods };

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (reader_failed(columns[i]) || reader_left(columns[i]))
			return -EBADMSG;
	return 0;
}

static int segment_block_take_rows(struct incoming *in, const struct tape *tape)
{
	int r;

	in->grid_ns = reader_varint(&in->head);
	in->period = reader_varint(&in->head);
	in->next_thread = reader_varint(&in->head);
	if (in->grid_ns > GRID_PERIOD_MAX || in->next_thread > UINT32_MAX)
		return -EBADMSG;
	r = segment_block_take_runs(in, tape);
	for (size_t i = 0; i < in->place->count; i++)
		in->rows[i].period = in->period ? in->period : reader_varint(&in->periods);
	return r < 0 ? r : check_ends(in);
}

static int segment_block_read_section(const struct decoding *decoding,
				      struct section_reader *section, void *context)
{
	struct incoming *in = context;
	size_t count = in->place->count;
	int r = segment_block_take_columns(in, section);

	if (r < 0)
		return r;
	in->rows = malloc((count + 1) * sizeof(*in->rows));
	in->sorted = malloc((3 * count + 1) * sizeof(*in->sorted));
	if (!in->rows || !in->sorted)
		return -ENOMEM;
	in->ranks = in->sorted + count;
	in->leaf_ranks = in->sorted + 2 * count;
	r = take_numbers(section, in->ranks, count);
	if (r < 0)
		return r;
	r = take_numbers(section, in->leaf_ranks, count);
	if (r < 0)
		return r;
	r = segment_block_take_rows(in, decoding->tape);
	return r < 0 ? r : sort_rows(in);
}

int incoming_read(const struct decoding *decoding, const struct block_place *place,
		  struct incoming **ret_incoming)
{
	_cleanup_(cleanup_incoming) struct incoming *in = calloc(1, sizeof(*in));
	int r;

	if (!in)
		return -ENOMEM;
	in->place = place;
	r = decoding_section(decoding, place->entry, segment_block_read_section, in);
	if (r < 0)
		return r;
	*ret_incoming = take_ptr(in);
	return 0;
}

struct incoming *incoming_free(struct incoming *incoming)
{
	if (!incoming)
		return NULL;
	free(incoming->rows);
	free(incoming->sorted);
	free(incoming);
	return NULL;
}

/* The memory for placing a block. keys[] has the group of each row. */
struct placing {
	uint32_t *order, *scratch, *keys;
};

/* Finds each row's leaf node, and stores the function of the leaf in the row's `frame`. */
static int place_ranks(const struct incoming *in, const struct tape *tape,
		       const struct block_source *source, const struct placing *placing)
{
	const struct leaves *leaves = source->leaves;
	size_t count = in->place->count;

	for (size_t i = 0; i < count; i++) {
		placing->keys[i] = source->comms[tape->threads.items[in->rows[i].thread].comm];
		if (placing->keys[i] == UINT32_MAX)
			return -EBADMSG;
	}
	group_start(placing->order, count);
	group_by(placing->order, placing->scratch, count, placing->keys);
	for (size_t i = 0; i < count; i++) {
		uint32_t row = placing->order[i], comm = placing->keys[row];
		uint32_t first = leaves->comm_first.items[comm], rank = in->ranks[i];
		uint32_t leaf;

		if (rank >= leaves->comm_first.items[comm + 1] - first)
			return -EBADMSG;
		leaf = leaves->by_rank[first + rank];
		in->rows[row].stack = leaves->stack.items[leaf];
		in->rows[row].frame = leaves->function.items[leaf];
	}
	return 0;
}

static int place_leaves(const struct incoming *in, const struct block_source *source,
			const struct placing *placing)
{
	size_t count = in->place->count;

	for (size_t i = 0; i < count; i++)
		placing->keys[i] = in->rows[i].frame;
	group_start(placing->order, count);
	group_by(placing->order, placing->scratch, count, placing->keys);
	for (size_t i = 0; i < count; i++) {
		uint32_t row = placing->order[i], rank = in->leaf_ranks[i];
		const struct function_frames *function =
			&source->functions->rows.items[placing->keys[row]];

		if (rank >= function->leaves)
			return -EBADMSG;
		in->rows[row].frame = function->first_leaf + rank;
	}
	return 0;
}

int incoming_place(struct incoming *incoming, const struct tape *tape,
		   const struct block_source *source, struct tape_sample *samples)
{
	size_t count = incoming->place->count;
	_cleanup_free_ uint32_t *numbers = malloc((3 * count + 1) * sizeof(*numbers));
	struct placing placing = { numbers, numbers + count, numbers + 2 * count };
	int r = numbers ? place_ranks(incoming, tape, source, &placing) : -ENOMEM;

	if (r < 0)
		return r;
	r = place_leaves(incoming, source, &placing);
	for (size_t i = 0; r == 0 && i < count; i++)
		samples[i] = incoming->rows[incoming->sorted[i]];
	return r;
}
