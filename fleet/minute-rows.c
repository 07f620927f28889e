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
	uint64_t stack_hash;
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
	/* Counts of the first slice. */
	uint32_t strings;
	size_t stacks;
	size_t frames;
};

static void minute_rows_done(struct minute_rows *sums)
{
	array_done(&sums->list);
	table_done(&sums->table);
}

static bool minute_rows_equal(const void *context, uint32_t value, const void *key)
{
	const struct minute_rows *sums = context;
	const struct minute_row *a = &sums->list.items[value], *b = key;

	return a->stack_hash == b->stack_hash && a->minute == b->minute && a->comm == b->comm;
}

static int minute_rows_add(struct minute_rows *sums, const struct minute_row *row)
{
	uint64_t hash = hash_numbers(row->stack_hash, (uint64_t)row->minute << 32 | row->comm);
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

static int minute_rows_add_tape(struct minute_rows *sums, const struct stack_names *names,
				uint64_t from_ns, uint64_t to_ns)
{
	const struct tape *tape = names->tape;
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		uint64_t time_ns = tape_to_realtime(tape, sample->time_ns, NULL);

		/* a slice has samples of its neighbours, too */
		if (time_ns < from_ns || time_ns >= to_ns)
			continue;
		r = minute_rows_add(sums, &(struct minute_row){
						  .stack_hash = stack_names_hash(
							  names, sample->stack, sample->frame),
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

/* By minute, and within one the heaviest first. */
static int minute_rows_compare(const void *a, const void *b)
{
	const struct minute_row *first = a, *second = b;

	if (first->minute != second->minute)
		return first->minute < second->minute ? -1 : 1;
	if (first->samples != second->samples)
		return first->samples > second->samples ? -1 : 1;
	if (first->stack_hash != second->stack_hash)
		return first->stack_hash < second->stack_hash ? -1 : 1;
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

	row_put_text(to, writer->host);
	buffer_u32(to, row->minute);
	row_put_text(to, tape_string(writer->names->tape, row->comm));
	buffer_u64(to, row->stack_hash);
	buffer_u64(to, writer->part_us);
	buffer_u64(to, row->samples);
	buffer_u64(to, row->period);
	if (row->stack_hash && sent_stacks_add(writer->sent, row->stack_hash, day))
		stack_names_put(writer->names, row->stack, row->frame, day, writer->rows);
}

/* Puts the rows of one minute, which are sorted. */
static void minute_rows_put_minute(const struct minute_writer *writer,
				   const struct minute_row *minute, size_t count)
{
	struct minute_row others = { .minute = minute->minute };

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

static void minute_rows_put_all(struct minute_rows *sums, const struct minute_writer *writer)
{
	size_t count = sums->list.count, end;

	if (!count)
		return;
	qsort(sums->list.items, count, sizeof(*sums->list.items), minute_rows_compare);
	for (size_t at = 0; at < count; at = end) {
		end = at + 1;
		while (end < count && sums->list.items[end].minute == sums->list.items[at].minute)
			end++;
		minute_rows_put_minute(writer, &sums->list.items[at], end - at);
	}
}

/*
 * All slices of a segment have the same numbers of strings, stacks and frames, unless the segment
 * has changed.
 */
static int minute_rows_check(struct minute_rows *sums, const struct tape *tape)
{
	uint32_t strings = strings_count(&tape->strings);

	if (!sums->strings) {
		sums->strings = strings;
		sums->stacks = tape->stacks.count;
		sums->frames = tape->frames.count;
	}
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
	_cleanup_(stack_names_done) struct stack_names names = { 0 };
	int r = store_reader_load(reader, segment, want, &tape, error);

	if (r == 0)
		r = minute_rows_check(sums, tape);
	if (r == 0)
		r = stack_names_init(&names, tape, STACK_NAMES_FUNCTIONS);
	if (r == 0)
		r = minute_rows_add_tape(sums, &names, want->from_ns, want->to_ns);
	if (r < 0 || !last)
		return r;
	writer->names = &names;
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
