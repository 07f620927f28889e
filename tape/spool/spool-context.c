// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of a block that samples do not refer to: facts, anchors, events, lines of the log,
 * incidents, gauges, losses.
 */
#include "tape/spool/spool-rows.h"

static void encode_fact_rows(const struct tape_fact *facts, size_t from, size_t count,
			     struct buffer *raw)
{
	buffer_varint(raw, count - from);
	for (size_t i = from; i < count; i++) {
		buffer_varint(raw, facts[i].key);
		buffer_varint(raw, facts[i].value);
	}
}

static void read_fact_rows(const struct tape *tape, struct reader *raw, struct tape_fact *facts,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		facts[i].key = read_string(tape, raw);
		facts[i].value = read_string(tape, raw);
	}
}

static void spool_context_encode_facts(const struct tape *tape, const struct spool_mark *mark,
				       struct buffer *raw)
{
	encode_fact_rows(tape->facts.items, mark->facts, tape->facts.count, raw);
}

static int spool_context_decode_facts(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->facts, raw, 2, count);

	if (r < 0 || !count)
		return r;
	read_fact_rows(tape, raw, tape->facts.items + tape->facts.count, count);
	tape->facts.count += count;
	return 0;
}

static void encode_fields(const struct tape *tape, const struct spool_mark *mark,
			  struct buffer *raw)
{
	encode_fact_rows(tape->fields.items, mark->fields, tape->fields.count, raw);
}

static int decode_fields(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->fields, raw, 2, count);

	if (r < 0 || !count)
		return r;
	read_fact_rows(tape, raw, tape->fields.items + tape->fields.count, count);
	tape->fields.count += count;
	return 0;
}

static void put_run(struct buffer *raw, const struct tape_fields *run)
{
	buffer_varint(raw, run->first);
	buffer_varint(raw, run->count);
}

static struct tape_fields read_run(const struct tape *tape, struct reader *raw)
{
	struct tape_fields run = { .first = read_below(raw, tape->fields.count + 1) };

	run.count = read_below(raw, tape->fields.count - run.first + 1);
	return run;
}

static void spool_context_encode_anchors(const struct tape *tape, const struct spool_mark *mark,
					 struct buffer *raw)
{
	buffer_varint(raw, tape->anchors.count - mark->anchors);
	for (size_t i = mark->anchors; i < tape->anchors.count; i++) {
		const struct tape_anchor *anchor = &tape->anchors.items[i];

		buffer_varint(raw, anchor->perf_ns);
		buffer_varint(raw, anchor->realtime_ns);
		buffer_varint(raw, anchor->monotonic_ns);
		buffer_varint(raw, anchor->boottime_ns);
		buffer_varint(raw, anchor->error_ns);
	}
}

static int spool_context_decode_anchors(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->anchors, raw, 5, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		size_t at = tape->anchors.count++;
		struct tape_anchor *anchor = &tape->anchors.items[at];

		anchor->perf_ns = reader_varint(raw);
		anchor->realtime_ns = reader_varint(raw);
		anchor->monotonic_ns = reader_varint(raw);
		anchor->boottime_ns = reader_varint(raw);
		anchor->error_ns = reader_varint(raw);
		if (at && anchor->perf_ns <= anchor[-1].perf_ns)
			return -EBADMSG;
	}
	return r;
}

static void spool_context_encode_events(const struct tape *tape, const struct spool_mark *mark,
					struct buffer *raw)
{
	uint64_t time_ns = 0;

	buffer_varint(raw, tape->events.count - mark->events);
	for (size_t i = mark->events; i < tape->events.count;
	     time_ns = tape->events.items[i++].time_ns) {
		const struct tape_event *event = &tape->events.items[i];

		put_difference(raw, event->time_ns, time_ns);
		buffer_varint(raw, event->cpu);
		buffer_varint(raw, event->thread);
		buffer_varint(raw, event->name);
		put_run(raw, &event->fields);
	}
}

static int spool_context_decode_events(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	uint64_t time_ns = 0;
	size_t count;
	int r = READ_ROWS(&tape->events, raw, 6, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_event *event = &tape->events.items[tape->events.count++];

		event->time_ns = time_ns = read_difference(raw, time_ns);
		event->cpu = read_u32(raw);
		event->thread = read_below(raw, tape->threads.count);
		event->name = read_string(tape, raw);
		event->fields = read_run(tape, raw);
	}
	return r;
}

static void spool_context_encode_lines(const struct tape *tape, const struct spool_mark *mark,
				       struct buffer *raw)
{
	buffer_varint(raw, tape->lines.count - mark->lines);
	for (size_t i = mark->lines; i < tape->lines.count; i++) {
		const struct tape_line *line = &tape->lines.items[i];

		buffer_varint(raw, line->time_ns);
		buffer_varint(raw, line->sequence);
		buffer_varint(raw, line->priority);
		buffer_varint(raw, line->text);
	}
}

static int spool_context_decode_lines(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->lines, raw, 4, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_line *line = &tape->lines.items[tape->lines.count++];

		line->time_ns = reader_varint(raw);
		line->sequence = reader_varint(raw);
		line->priority = read_u32(raw);
		line->text = read_string(tape, raw);
	}
	return r;
}

static void spool_context_encode_incidents(const struct tape *tape, const struct spool_mark *mark,
					   struct buffer *raw)
{
	buffer_varint(raw, tape->incidents.count - mark->incidents);
	for (size_t i = mark->incidents; i < tape->incidents.count; i++) {
		const struct tape_incident *incident = &tape->incidents.items[i];

		buffer_varint(raw, incident->time_ns);
		buffer_varint(raw, incident->stall_ns);
		buffer_varint(raw, incident->kind);
		buffer_varint(raw, incident->severity);
		buffer_varint(raw, incident->text);
		buffer_varint(raw, incident->source);
		put_run(raw, &incident->fields);
	}
}

static int spool_context_decode_incidents(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->incidents, raw, 8, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_incident *incident = &tape->incidents.items[tape->incidents.count++];

		incident->time_ns = reader_varint(raw);
		incident->stall_ns = reader_varint(raw);
		incident->kind = read_u32(raw);
		incident->severity = read_u32(raw);
		incident->text = read_string(tape, raw);
		incident->source = read_string(tape, raw);
		incident->fields = read_run(tape, raw);
	}
	return r;
}

static void spool_context_encode_losses(const struct tape *tape, const struct spool_mark *mark,
					struct buffer *raw)
{
	buffer_varint(raw, tape->losses.count - mark->losses);
	for (size_t i = mark->losses; i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		buffer_varint(raw, loss->kind);
		buffer_varint(raw, loss->cpu);
		buffer_varint(raw, loss->from_ns);
		buffer_varint(raw, loss->to_ns);
		buffer_varint(raw, loss->count);
	}
}

static int spool_context_decode_losses(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->losses, raw, 5, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_loss *loss = &tape->losses.items[tape->losses.count++];

		loss->kind = read_u32(raw);
		loss->cpu = read_u32(raw);
		loss->from_ns = reader_varint(raw);
		loss->to_ns = reader_varint(raw);
		loss->count = reader_varint(raw);
	}
	return r;
}

/* Returns how many points of a gauge are in blocks already. */
static uint32_t points_before(const struct spool_mark *mark, size_t gauge)
{
	return gauge < mark->points.count ? mark->points.items[gauge] : 0;
}

/*
 * Encodes the names of new gauges, then the number of new points of each gauge, then these points.
 * A value is the difference to the gauge's previous value.
 */
static void spool_context_encode_gauges(const struct tape *tape, const struct spool_mark *mark,
					struct buffer *raw)
{
	uint64_t time_ns = 0;

	buffer_varint(raw, tape->gauges.count - mark->points.count);
	for (size_t i = mark->points.count; i < tape->gauges.count; i++)
		buffer_varint(raw, tape->gauges.items[i].name);
	for (size_t i = 0; i < tape->gauges.count; i++) {
		const struct tape_gauge *gauge = &tape->gauges.items[i];
		uint32_t before = points_before(mark, i);
		const struct tape_point *run = &tape->points.items[gauge->first];

		buffer_varint(raw, gauge->count - before);
		for (uint32_t at = before; at < gauge->count; time_ns = run[at++].time_ns) {
			put_difference(raw, run[at].time_ns, time_ns);
			put_difference(raw, run[at].value, at ? run[at - 1].value : 0);
		}
	}
}

static int spool_context_decode_points(struct spool_rows *rows, struct reader *raw, uint32_t gauge,
				       uint64_t *time_ns)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->points, raw, 2, count);

	if (r < 0)
		return r;
	r = array_reserve(&rows->owners, tape->points.count + count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_point *point = &tape->points.items[tape->points.count];

		point->time_ns = *time_ns = read_difference(raw, *time_ns);
		point->value = (int64_t)read_difference(raw, rows->values.items[gauge]);
		rows->values.items[gauge] = point->value;
		rows->owners.items[tape->points.count++] = gauge;
	}
	return r;
}

static int spool_context_decode_gauges(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	uint64_t time_ns = 0;
	size_t count;
	int r = READ_ROWS(&tape->gauges, raw, 1, count);

	if (r < 0)
		return r;
	r = array_reserve(&rows->values, tape->gauges.count + count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_gauge gauge = { .name = read_string(tape, raw) };

		rows->values.items[tape->gauges.count] = 0;
		tape->gauges.items[tape->gauges.count++] = gauge;
	}
	for (size_t i = 0; r == 0 && i < tape->gauges.count; i++)
		r = spool_context_decode_points(rows, raw, i, &time_ns);
	return r;
}

const struct spool_table spool_context[SPOOL_CONTEXT_TABLES] = {
	{ spool_context_encode_facts, spool_context_decode_facts },
	{ spool_context_encode_anchors, spool_context_decode_anchors },
	{ encode_fields, decode_fields },
	{ spool_context_encode_events, spool_context_decode_events },
	{ spool_context_encode_lines, spool_context_decode_lines },
	{ spool_context_encode_incidents, spool_context_decode_incidents },
	{ spool_context_encode_gauges, spool_context_decode_gauges },
	{ spool_context_encode_losses, spool_context_decode_losses },
};
