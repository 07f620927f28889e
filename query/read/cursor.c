// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invariants:
 * (1) All segments that begin at or before the last row's time have been opened, and no others.
 * (2) An open tape has rows left, except for the last row's tape and tapes that cursor_skip_to()
 *     emptied.
 * (3) `last` is below the number of open tapes, or both are 0.
 */
#include "query/read/cursor.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/read/window-filter.h"
#include "base/workers.h"

struct open_tape {
	struct tape *tape;
	struct window_filter_times times;
	/* index of the next row */
	size_t at;
	uint32_t number;
	/* the caller owns the tape */
	bool kept;
};

struct cursor {
	struct loader loader;
	/* index of the next segment */
	size_t next;
	/* in the order of opening */
	array_of(struct open_tape) open;
	/* index in `open` of the tape with the last row */
	size_t last;
	uint32_t opened;
	/* earlier rows are skipped */
	uint64_t from_ns;
	bool ended;
	/* The results of a batch of segments that threads have read. */
	struct loaded *read;
	/* the size of `read`; 0: the cursor reads segments one by one */
	unsigned int read_max;
	size_t read_begin, read_count;
};

int cursor_open(struct store_reader *reader, const struct question *question,
		struct cursor **ret_cursor, struct error *error)
{
	_cleanup_free_ struct cursor *cursor = calloc(1, sizeof(*cursor));
	int r;

	if (!cursor)
		return -ENOMEM;
	r = loader_open(reader, question, &cursor->loader, error);
	if (r < 0)
		return r;
	cursor->from_ns = question->window.from_ns;
	*ret_cursor = take_ptr(cursor);
	return 0;
}

int cursor_set_threads(struct cursor *cursor, unsigned int threads)
{
	if (threads < 2 || cursor->read)
		return 0;
	cursor->read = calloc(threads, sizeof(*cursor->read));
	if (!cursor->read)
		return -ENOMEM;
	cursor->read_max = threads;
	if (cursor->loader.segments.list.count)
		cursor->loader.threads = threads / cursor->loader.segments.list.count;
	return 0;
}

static void open_tape_done(struct open_tape *open)
{
	if (!open->kept)
		tape_free(open->tape);
	window_filter_times_done(&open->times);
}

struct cursor *cursor_close(struct cursor *cursor)
{
	if (!cursor)
		return NULL;
	for (size_t i = 0; i < cursor->open.count; i++)
		open_tape_done(&cursor->open.items[i]);
	array_done(&cursor->open);
	for (size_t i = 0; i < cursor->read_count; i++)
		tape_free(cursor->read[i].tape);
	free(cursor->read);
	loader_done(&cursor->loader);
	free(cursor);
	return NULL;
}

/* Frees the tape of the last row if it has no more rows. */
static void close_last(struct cursor *cursor)
{
	struct open_tape *last = &cursor->open.items[cursor->last];

	if (!cursor->open.count || last->at < last->times.list.count)
		return;
	open_tape_done(last);
	cursor->open.count--;
	memmove(last, last + 1, (cursor->open.count - cursor->last) * sizeof(*last));
	cursor->last = 0;
}

/* Takes ownership of the tape. */
static int cursor_add_tape(struct cursor *cursor, struct tape *tape)
{
	struct coverage *coverage = &cursor->loader.coverage;
	_cleanup_(open_tape_done) struct open_tape open = { .tape = tape,
							    .number = cursor->opened - 1 };
	struct window window = cursor->loader.question.window;
	int r;

	window.from_ns = cursor->from_ns;
	r = window_filter_samples(tape, &window, cursor->loader.question.filter,
				  &coverage->clock_error_ns, &open.times);
	if (r < 0)
		return r;
	r = window_filter_count_samples(tape, coverage);
	if (r < 0 || !open.times.list.count)
		return r;
	r = array_push(&cursor->open, open);
	if (r < 0)
		return r;
	/* the cursor owns it now */
	open = (struct open_tape){ 0 };
	return 0;
}

static void cursor_read_segment(const struct cursor *cursor, const struct store_segment *segment,
				struct loaded *ret_loaded)
{
	bool passed = segment->end_ns <= cursor->from_ns;

	loader_read(&cursor->loader, segment, cursor->from_ns,
		    passed ? SEGMENT_LOSSES : SEGMENT_SAMPLES | SEGMENT_LOSSES, ret_loaded);
}

static int cursor_read_one(void *context, unsigned int worker, size_t item)
{
	struct cursor *cursor = context;

	(void)worker;
	cursor_read_segment(cursor, &cursor->loader.segments.list.items[cursor->read_begin + item],
			    &cursor->read[item]);
	return 0;
}

/* Returns how many segments of a batch fit into the memory, at least one. */
static size_t cursor_count_batch(const struct cursor *cursor, size_t begin)
{
	const struct store_segments *segments = &cursor->loader.segments;
	size_t most = MIN(cursor->read_max, segments->list.count - begin), count = 1;
	uint64_t bytes = store_reader_memory(cursor->loader.reader, &segments->list.items[begin]);

	for (; count < most; count++) {
		bytes += store_reader_memory(cursor->loader.reader,
					     &segments->list.items[begin + count]);
		if (bytes > LOADER_MEMORY_BYTES)
			break;
	}
	return count;
}

/* Reads the next batch. The caller must have taken all tapes of the previous batch. */
static int read_some(struct cursor *cursor, size_t begin)
{
	const struct workers workers = {
		.threads = cursor->read_max,
		.count = cursor_count_batch(cursor, begin),
		.work = cursor_read_one,
		.context = cursor,
	};

	memset(cursor->read, 0, cursor->read_max * sizeof(*cursor->read));
	cursor->read_begin = begin;
	cursor->read_count = workers.count;
	return workers_run(&workers, &(size_t){ 0 });
}

static int get_segment(struct cursor *cursor, size_t number, struct loaded *ret_loaded)
{
	int r = 0;

	if (!cursor->read_max) {
		cursor_read_segment(cursor, &cursor->loader.segments.list.items[number],
				    ret_loaded);
		return 0;
	}
	if (number >= cursor->read_begin + cursor->read_count)
		r = read_some(cursor, number);
	if (r < 0)
		return r;
	*ret_loaded = cursor->read[number - cursor->read_begin];
	cursor->read[number - cursor->read_begin].tape = NULL;
	return 0;
}

static int cursor_open_segment(struct cursor *cursor, size_t number, struct error *error)
{
	const struct store_segment *segment = &cursor->loader.segments.list.items[number];
	struct loaded loaded;
	struct tape *tape;
	int r = get_segment(cursor, number, &loaded);

	if (r < 0)
		return r;
	r = loader_take(&cursor->loader, segment, &loaded, &tape, error);
	if (r <= 0)
		return r;
	cursor->opened++;
	return cursor_add_tape(cursor, tape);
}

/*
 * Returns the open tape whose next row is the earliest. If several tapes have equal rows, returns
 * the tape that was opened first. Returns NULL if no rows are left.
 */
static struct open_tape *find_earliest(const struct cursor *cursor)
{
	struct open_tape *earliest = NULL;

	for (size_t i = 0; i < cursor->open.count; i++) {
		struct open_tape *open = &cursor->open.items[i];

		if (open->at < open->times.list.count &&
		    (!earliest ||
		     open->times.list.items[open->at] < earliest->times.list.items[earliest->at]))
			earliest = open;
	}
	return earliest;
}

static int cursor_finish(struct cursor *cursor, struct error *error)
{
	int r = cursor->ended ? 0 : loader_finish(&cursor->loader, error);

	cursor->ended = true;
	return r;
}

int cursor_next(struct cursor *cursor, struct cursor_row *ret_row, struct error *error)
{
	const struct store_segments *segments = &cursor->loader.segments;
	struct open_tape *open;

	assert(cursor->open.count ? cursor->last < cursor->open.count : !cursor->last);
	close_last(cursor);
	for (open = find_earliest(cursor); cursor->next < segments->list.count;
	     open = find_earliest(cursor)) {
		const struct store_segment *segment = &segments->list.items[cursor->next];
		int r;

		if (open && segment->begin_ns > open->times.list.items[open->at])
			break;
		r = cursor_open_segment(cursor, cursor->next++, error);
		if (r < 0)
			return r;
	}
	if (!open)
		return cursor_finish(cursor, error);
	cursor->last = open - cursor->open.items;
	*ret_row = (struct cursor_row){ open->times.list.items[open->at], open->tape, open->at,
					open->number };
	open->at++;
	return 1;
}

void cursor_skip_to(struct cursor *cursor, uint64_t realtime_ns)
{
	if (realtime_ns <= cursor->from_ns)
		return;
	cursor->from_ns = realtime_ns;
	for (size_t i = 0; i < cursor->open.count; i++) {
		struct open_tape *open = &cursor->open.items[i];
		size_t low = open->at, high = open->times.list.count;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (open->times.list.items[middle] < realtime_ns)
				low = middle + 1;
			else
				high = middle;
		}
		open->at = low;
	}
}

void cursor_keep_tape(struct cursor *cursor)
{
	if (cursor->last < cursor->open.count)
		cursor->open.items[cursor->last].kept = true;
}

const struct coverage *cursor_coverage(const struct cursor *cursor)
{
	return &cursor->loader.coverage;
}

size_t cursor_segments_read(const struct cursor *cursor)
{
	return cursor->opened;
}
