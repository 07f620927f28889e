// SPDX-License-Identifier: GPL-2.0-only
#include "tape/spool/spool-rows.h"

#include "base/sort.h"
#include "tape/tape-events.h"

void spool_rows_encode(const struct tape *tape, const struct spool_mark *mark, struct buffer *raw)
{
	for (size_t i = 0; i < SPOOL_DICTIONARY_TABLES; i++)
		spool_dictionary[i].encode(tape, mark, raw);
	for (size_t i = 0; i < SPOOL_CONTEXT_TABLES; i++)
		spool_context[i].encode(tape, mark, raw);
}

int spool_rows_init(struct spool_rows *rows)
{
	*rows = (struct spool_rows){ 0 };
	return tape_new(&rows->tape);
}

void spool_rows_done(struct spool_rows *rows)
{
	tape_free(rows->tape);
	array_done(&rows->owners);
	array_done(&rows->values);
}

/*
 * Removes the rows that a damaged block added before the decoder found the damage. Strings and pids
 * may stay, because they mean nothing by themselves.
 */
static void undo_block(struct tape *tape, const struct spool_mark *mark, size_t gauges,
		       size_t points)
{
	tape->modules.count = mark->modules;
	tape->frames.count = mark->frames;
	tape->stacks.count = mark->stacks;
	tape->threads.count = mark->threads;
	tape->samples.count = mark->samples;
	tape->losses.count = mark->losses;
	tape->facts.count = mark->facts;
	tape->anchors.count = mark->anchors;
	tape->fields.count = mark->fields;
	tape->events.count = mark->events;
	tape->lines.count = mark->lines;
	tape->incidents.count = mark->incidents;
	tape->gauges.count = gauges;
	tape->points.count = points;
	tape->pids.count = MIN(tape->pids.count, tape->modules.count);
}

static int decode_table(const struct spool_table *table, struct spool_rows *rows,
			struct reader *raw)
{
	int r = table->decode(rows, raw);

	return r == 0 && reader_failed(raw) ? -EBADMSG : r;
}

int spool_rows_decode(struct spool_rows *rows, const void *data, size_t size, uint32_t samples)
{
	size_t gauges = rows->tape->gauges.count, points = rows->tape->points.count;
	struct spool_mark mark = { 0 };
	struct reader raw;
	int r = 0;

	spool_mark_counts(rows->tape, &mark);
	reader_init(&raw, data, size);
	for (size_t i = 0; i < SPOOL_DICTIONARY_TABLES && r == 0; i++)
		r = decode_table(&spool_dictionary[i], rows, &raw);
	for (size_t i = 0; i < SPOOL_CONTEXT_TABLES && r == 0; i++)
		r = decode_table(&spool_context[i], rows, &raw);
	if (r == 0 && (reader_left(&raw) || rows->tape->samples.count - mark.samples != samples))
		r = -EBADMSG;
	if (r < 0)
		undo_block(rows->tape, &mark, gauges, points);
	return r;
}

static void first_of_gauges(struct tape *tape, const uint32_t *owners)
{
	uint32_t first = 0;

	for (size_t i = 0; i < tape->points.count; i++)
		tape->gauges.items[owners[i]].count++;
	for (size_t i = 0; i < tape->gauges.count; i++) {
		tape->gauges.items[i].first = first;
		first += tape->gauges.items[i].count;
		tape->gauges.items[i].count = 0;
	}
}

/* Groups the points by gauge, in time order. The blocks contained the points of all gauges. */
static int gather_points(struct tape *tape, const uint32_t *owners)
{
	struct tape_point *gathered, *scratch = tape->points.items;

	if (!tape->points.count)
		return 0;
	gathered = calloc(tape->points.count, sizeof(*gathered));
	if (!gathered)
		return -ENOMEM;
	first_of_gauges(tape, owners);
	for (size_t i = 0; i < tape->points.count; i++) {
		struct tape_gauge *gauge = &tape->gauges.items[owners[i]];

		gathered[gauge->first + gauge->count++] = tape->points.items[i];
	}
	for (size_t i = 0; i < tape->gauges.count; i++)
		sort_by_number(gathered + tape->gauges.items[i].first, scratch,
			       tape->gauges.items[i].count, sizeof(*gathered),
			       offsetof(struct tape_point, time_ns));
	tape->points.items = gathered;
	tape->points.capacity = tape->points.count;
	free(scratch);
	return 0;
}

int spool_rows_finish(struct spool_rows *rows, struct tape **ret_tape)
{
	struct tape *tape = rows->tape;

	if (tape_sort_samples(tape) < 0 || tape_sort_events(tape) < 0 ||
	    gather_points(tape, rows->owners.items) < 0)
		return -ENOMEM;
	/* a decoded tape does not get more rows, so it needs no tables for interning */
	tape_freeze(tape);
	*ret_tape = take_ptr(rows->tape);
	return 0;
}
