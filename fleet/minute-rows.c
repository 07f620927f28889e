// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/minute-rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/table.h"
#include "fleet/row-binary.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)
#define MINUTES_PER_DAY 1440
/* Samples that are decoded at once. */
#define MINUTE_SLICE_SAMPLES 150000

struct minute_row {
	/* Hashes of the callers and of the leaf; both 0 for the sum of all others. */
	uint64_t callers;
	uint64_t leaf;
	uint64_t samples;
	uint64_t period;
	uint32_t minute;
	/* Numbers of the tape; those of all slices agree. */
	uint32_t comm;
	uint32_t stack;
	uint32_t frame;
};

struct minute_rows {
	array_of(struct minute_row) list;
	struct table table;
	/* Made of the first slice. */
	struct stack_names names;
	/* Counts of the first slice. */
	uint32_t strings;
	size_t stacks;
	size_t frames;
};

static void minute_rows_done(struct minute_rows *sums)
{
	array_done(&sums->list);
	table_done(&sums->table);
	stack_names_done(&sums->names);
}

static bool minute_rows_equal(const void *context, uint32_t value, const void *key)
{
	const struct minute_rows *sums = context;
	const struct minute_row *a = &sums->list.items[value], *b = key;

	return a->callers == b->callers && a->leaf == b->leaf && a->minute == b->minute &&
	       a->comm == b->comm;
}

static int minute_rows_add(struct minute_rows *sums, const struct minute_row *row)
{
	uint64_t hash = hash_numbers(row->callers ^ row->comm, row->leaf ^ row->minute);
	uint32_t at = table_find(&sums->table, hash, minute_rows_equal, sums, row);

	if (at != TABLE_NONE) {
		sums->list.items[at].samples += row->samples;
		sums->list.items[at].period += row->period;
		return 0;
	}
	if (array_push(&sums->list, *row) < 0)
		return -ENOMEM;
	return table_add(&sums->table, hash, sums->list.count - 1);
}

static int minute_rows_add_tape(struct minute_rows *sums, uint64_t from_ns, uint64_t to_ns)
{
	const struct stack_names *names = &sums->names;
	const struct tape *tape = names->tape;
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		uint64_t time_ns = tape_to_realtime(tape, sample->time_ns, NULL);

		/* a slice has samples of its neighbours, too */
		if (time_ns < from_ns || time_ns >= to_ns)
			continue;
		r = minute_rows_add(sums, &(struct minute_row){
						  .callers = names->stacks[sample->stack],
						  .leaf = names->frames[sample->frame],
						  .samples = 1,
						  .period = sample->period,
						  .minute = time_ns / MINUTE_NS,
						  .comm = tape->threads.items[sample->thread].comm,
						  .stack = sample->stack,
						  .frame = sample->frame,
					  });
	}
	return r;
}

/* The heaviest first. */
static int minute_rows_compare(const void *a, const void *b)
{
	const struct minute_row *first = a, *second = b;

	if (first->samples != second->samples)
		return first->samples > second->samples ? -1 : 1;
	if (first->callers != second->callers)
		return first->callers < second->callers ? -1 : 1;
	if (first->leaf != second->leaf)
		return first->leaf < second->leaf ? -1 : 1;
	return (first->comm > second->comm) - (first->comm < second->comm);
}

struct minute_writer {
	const struct stack_names *names;
	struct sent_stacks *sent;
	struct batch_rows *rows;
	const char *host;
	uint64_t part_us;
};

static void minute_rows_put_row(const struct minute_writer *writer, const struct minute_row *row)
{
	struct buffer *to = batch_rows_add(writer->rows, FLEET_MINUTES);
	uint32_t day = row->minute / MINUTES_PER_DAY;
	uint64_t stack = row->leaf ? stack_names_hash(writer->names, row->stack, row->frame) : 0;

	row_put_text(to, writer->host);
	buffer_u32(to, row->minute);
	row_put_text(to, tape_string(writer->names->tape, row->comm));
	buffer_u64(to, stack);
	buffer_u64(to, writer->part_us);
	buffer_u64(to, row->samples);
	buffer_u64(to, row->period);
	if (stack && sent_stacks_add(writer->sent, stack, day))
		stack_names_put(writer->names, row->stack, row->frame, day, writer->rows);
}

static void minute_rows_swap(struct minute_row *a, struct minute_row *b)
{
	struct minute_row row = *a;

	*a = *b;
	*b = row;
}

/*
 * Moves the heaviest rows to the begin, in order. Most rows have one sample, so sorting all of them
 * would take longer than reading them.
 */
static void minute_rows_sort_heaviest(struct minute_row *rows, size_t count)
{
	size_t heavy = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].samples > 1)
			minute_rows_swap(&rows[i], &rows[heavy++]);
	qsort(rows, heavy, sizeof(*rows), minute_rows_compare);
	if (heavy < MINUTE_ROWS_HEAVIEST)
		qsort(rows + heavy, count - heavy, sizeof(*rows), minute_rows_compare);
}

/* Puts the rows of one minute. */
static void minute_rows_put_minute(const struct minute_writer *writer, struct minute_row *minute,
				   size_t count)
{
	struct minute_row others = { .minute = minute->minute };

	minute_rows_sort_heaviest(minute, count);
	for (size_t i = 0; i < count; i++) {
		if (i < MINUTE_ROWS_HEAVIEST) {
			minute_rows_put_row(writer, &minute[i]);
			continue;
		}
		others.samples += minute[i].samples;
		others.period += minute[i].period;
	}
	if (others.samples)
		minute_rows_put_row(writer, &others);
}

/* Moves the rows of the earliest minute to the begin. Returns their number. */
static size_t minute_rows_first_minute(struct minute_row *rows, size_t count)
{
	uint32_t first = rows[0].minute;
	size_t own = 0;

	for (size_t i = 1; i < count; i++)
		first = MIN(first, rows[i].minute);
	for (size_t i = 0; i < count; i++)
		if (rows[i].minute == first)
			minute_rows_swap(&rows[i], &rows[own++]);
	return own;
}

static void minute_rows_put_all(struct minute_rows *sums, const struct minute_writer *writer)
{
	size_t own;

	for (size_t at = 0; at < sums->list.count; at += own) {
		struct minute_row *rows = &sums->list.items[at];

		own = minute_rows_first_minute(rows, sums->list.count - at);
		minute_rows_put_minute(writer, rows, own);
	}
}

/*
 * All slices of a segment have the same numbers of strings, stacks and frames, unless the segment
 * has changed. The names of the first slice then hold for all.
 */
static int minute_rows_use_tape(struct minute_rows *sums, const struct tape *tape)
{
	uint32_t strings = strings_count(&tape->strings);

	if (!sums->strings) {
		sums->strings = strings;
		sums->stacks = tape->stacks.count;
		sums->frames = tape->frames.count;
		return stack_names_init(&sums->names, tape, STACK_NAMES_FUNCTIONS);
	}
	sums->names.tape = tape;
	return sums->strings == strings && sums->stacks == tape->stacks.count &&
			       sums->frames == tape->frames.count
		       ? 0
		       : -ESTALE;
}

/* Adds a slice; puts the rows after the last one, while its names are in memory. */
static int minute_rows_take_slice(struct store_reader *reader, const struct store_segment *segment,
				  const struct segment_want *want, bool last,
				  struct minute_rows *sums, struct minute_writer *writer,
				  struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = store_reader_load(reader, segment, want, &tape, error);

	if (r < 0)
		return r;
	r = minute_rows_use_tape(sums, tape);
	if (r < 0)
		return r;
	r = minute_rows_add_tape(sums, want->from_ns, want->to_ns);
	if (r < 0 || !last)
		return r;
	writer->names = &sums->names;
	minute_rows_put_all(sums, writer);
	return 0;
}

int minute_rows_put(struct store_reader *reader, const struct store_segment *segment,
		    const char *host, struct sent_stacks *sent, struct batch_rows *rows,
		    struct error *error)
{
	_cleanup_(minute_rows_done) struct minute_rows sums = { 0 };
	struct minute_writer writer = {
		.sent = sent,
		.rows = rows,
		.host = host,
		.part_us = segment->begin_ns / NSEC_PER_USEC,
	};
	uint64_t slices = segment->samples / MINUTE_SLICE_SAMPLES + 1;
	uint64_t length_ns = (segment->end_ns - segment->begin_ns) / slices + 1;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < slices; i++) {
		const struct segment_want want = {
			/*
			 * the first and the last slice also have samples outside of the segment's
			 * times
			 */
			.from_ns = i ? segment->begin_ns + i * length_ns : 0,
			.to_ns = i + 1 < slices ? segment->begin_ns + (i + 1) * length_ns
						: UINT64_MAX,
			.parts = SEGMENT_SAMPLES,
		};

		r = minute_rows_take_slice(reader, segment, &want, i + 1 == slices, &sums, &writer,
					   error);
	}
	return r;
}
