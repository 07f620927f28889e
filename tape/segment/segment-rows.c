// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment-rows.h"

/*
 * Each kind of row has an encoder and, below it, a decoder, which reads rows until the column ends.
 * Numbers that grow slowly are stored as differences to the previous row. The differences wrap, so
 * that no value is a special case.
 */

/* Puts a time as the zigzag difference to the previous one. */
static void segment_rows_put_time(struct buffer *column, uint64_t *last_ns, uint64_t time_ns)
{
	buffer_varint(column, zigzag((int64_t)(time_ns - *last_ns)));
	*last_ns = time_ns;
}

static uint64_t segment_rows_take_time(struct reader *column, uint64_t *last_ns)
{
	*last_ns += (uint64_t)unzigzag(reader_varint(column));
	return *last_ns;
}

static uint32_t take_u32(struct reader *column)
{
	return column_row(column, (size_t)UINT32_MAX + 1);
}

int rows_encode_strings(struct encoding *encoding)
{
	_cleanup_(buffer_done) struct buffer column = { 0 };

	for (uint32_t i = 0; i < encoding->string_count; i++) {
		const char *text = tape_string(encoding->tape, encoding->strings[i]);

		buffer_bytes(&column, text, strlen(text) + 1);
	}
	return encoding_column(encoding, &column, "strings", CONTENTS_INCOMPATIBLE);
}

static int segment_rows_decode_strings(struct tape *tape, struct reader *column)
{
	while (reader_left(column)) {
		const char *text = (const char *)column->data + column->position;
		size_t size = strnlen(text, reader_left(column));
		uint32_t id, expected = strings_count(&tape->strings);

		if (!reader_take(column, size + 1))
			return -EBADMSG;
		if (strings_add(&tape->strings, text, size, &id) < 0)
			return -ENOMEM;
		if (id != expected)
			/*
			 * refuse an empty or repeated string, because the numbers of later strings
			 * would be wrong
			 */
			return -EBADMSG;
	}
	return 0;
}

static int fill_strings(struct tape *tape, struct reader *column)
{
	size_t size = reader_left(column);

	return strings_fill(&tape->strings, reader_take(column, size), size);
}

static void segment_rows_encode_facts(struct encoding *encoding, struct buffer *column)
{
	const struct tape *tape = encoding->tape;
	struct string_column strings = { 0 };

	for (size_t i = 0; i < tape->facts.count; i++) {
		string_column_put(&strings, encoding, column, tape->facts.items[i].key);
		string_column_put(&strings, encoding, column, tape->facts.items[i].value);
	}
}

static int segment_rows_decode_facts(struct tape *tape, struct reader *column)
{
	struct string_column strings = { 0 };
	int r = 0;

	while (r == 0 && reader_left(column)) {
		struct tape_fact fact;

		fact.key = string_column_take(&strings, tape, column);
		fact.value = string_column_take(&strings, tape, column);
		r = array_push(&tape->facts, fact);
	}
	return r;
}

/* Stores the other clocks as changes of their offsets to the perf clock, which hardly change. */
static void segment_rows_encode_anchors(struct encoding *encoding, struct buffer *column)
{
	struct tape_anchor last = { 0 };

	for (size_t i = 0; i < encoding->tape->anchors.count; i++) {
		const struct tape_anchor *anchor = &encoding->tape->anchors.items[i];
		uint64_t step_ns = anchor->perf_ns - last.perf_ns;

		buffer_varint(column, step_ns);
		buffer_varint(column,
			      zigzag((int64_t)(anchor->realtime_ns - last.realtime_ns - step_ns)));
		buffer_varint(column, zigzag((int64_t)(anchor->monotonic_ns - last.monotonic_ns -
						       step_ns)));
		buffer_varint(column,
			      zigzag((int64_t)(anchor->boottime_ns - last.boottime_ns - step_ns)));
		buffer_varint(column, anchor->error_ns);
		last = *anchor;
	}
}

static int segment_rows_decode_anchors(struct tape *tape, struct reader *column)
{
	struct tape_anchor last = { 0 };
	int r = 0;

	while (r == 0 && reader_left(column)) {
		uint64_t step_ns = reader_varint(column);

		if ((tape->anchors.count && !step_ns) || last.perf_ns + step_ns < last.perf_ns)
			/* anchors must be in time order */
			return -EBADMSG;
		last.perf_ns += step_ns;
		last.realtime_ns += step_ns + (uint64_t)unzigzag(reader_varint(column));
		last.monotonic_ns += step_ns + (uint64_t)unzigzag(reader_varint(column));
		last.boottime_ns += step_ns + (uint64_t)unzigzag(reader_varint(column));
		last.error_ns = reader_varint(column);
		r = array_push(&tape->anchors, last);
	}
	return r;
}

/* Most new threads have the next pid and tid after the previous thread. */
static void segment_rows_encode_threads(struct encoding *encoding, struct buffer *column)
{
	struct string_column comms = { 0 }, cgroups = { 0 };
	uint32_t last_pid = 0;

	for (uint32_t i = 0; i < encoding->thread_count; i++) {
		const struct tape_thread *thread =
			&encoding->tape->threads.items[encoding->threads[i]];

		buffer_varint(column, zigzag((int32_t)((uint32_t)thread->pid - last_pid)));
		buffer_varint(column,
			      zigzag((int32_t)((uint32_t)thread->tid - (uint32_t)thread->pid)));
		string_column_put(&comms, encoding, column, thread->comm);
		string_column_put(&cgroups, encoding, column, thread->cgroup);
		last_pid = (uint32_t)thread->pid;
	}
}

int rows_encode_threads(struct encoding *encoding)
{
	_cleanup_(buffer_done) struct buffer column = { 0 };

	segment_rows_encode_threads(encoding, &column);
	return encoding_column(encoding, &column, "threads", CONTENTS_INCOMPATIBLE);
}

static int segment_rows_decode_threads(struct tape *tape, struct reader *column)
{
	struct string_column comms = { 0 }, cgroups = { 0 };
	uint32_t last_pid = 0;
	int r = 0;

	while (r == 0 && reader_left(column)) {
		struct tape_thread thread;

		last_pid += (uint32_t)unzigzag(take_u32(column));
		thread.pid = (int32_t)last_pid;
		thread.tid = (int32_t)(last_pid + (uint32_t)unzigzag(take_u32(column)));
		thread.comm = string_column_take(&comms, tape, column);
		thread.cgroup = string_column_take(&cgroups, tape, column);
		r = array_push(&tape->threads, thread);
	}
	return r;
}

static void segment_rows_encode_losses(struct encoding *encoding, struct buffer *column)
{
	uint64_t last_ns = encoding->tape->begin_ns;

	for (size_t i = 0; i < encoding->tape->losses.count; i++) {
		const struct tape_loss *loss = &encoding->tape->losses.items[i];

		buffer_varint(column, loss->kind);
		buffer_varint(column, loss->cpu == TAPE_ALL_CPUS ? 0 : (uint64_t)loss->cpu + 1);
		segment_rows_put_time(column, &last_ns, loss->from_ns);
		buffer_varint(column, zigzag((int64_t)(loss->to_ns - loss->from_ns)));
		buffer_varint(column, loss->count);
	}
}

static int segment_rows_decode_losses(struct tape *tape, struct reader *column)
{
	uint64_t last_ns = tape->begin_ns;
	int r = 0;

	while (r == 0 && reader_left(column)) {
		struct tape_loss loss;

		loss.kind = take_u32(column);
		/* 0 is TAPE_ALL_CPUS */
		loss.cpu = take_u32(column) - 1u;
		loss.from_ns = segment_rows_take_time(column, &last_ns);
		loss.to_ns = loss.from_ns + (uint64_t)unzigzag(reader_varint(column));
		loss.count = reader_varint(column);
		r = array_push(&tape->losses, loss);
	}
	return r;
}

static void segment_rows_put_fields(struct encoding *encoding, struct string_column *strings,
				    struct buffer *column, const struct tape_fields *fields)
{
	buffer_varint(column, fields->count);
	for (uint32_t i = 0; i < fields->count; i++) {
		const struct tape_fact *field = &encoding->tape->fields.items[fields->first + i];

		string_column_put(strings, encoding, column, field->key);
		string_column_put(strings, encoding, column, field->value);
	}
}

static int segment_rows_take_fields(struct tape *tape, struct string_column *strings,
				    struct reader *column, struct tape_fields *ret_fields)
{
	size_t count;
	int r = column_count(column, column, &count);

	if (r < 0 || tape->fields.count + count > UINT32_MAX)
		return -EBADMSG;
	ret_fields->first = tape->fields.count;
	ret_fields->count = count;
	while (r == 0 && count--) {
		struct tape_fact field;

		field.key = string_column_take(strings, tape, column);
		field.value = string_column_take(strings, tape, column);
		r = array_push(&tape->fields, field);
	}
	return r;
}

static void segment_rows_encode_events(struct encoding *encoding, struct buffer *column)
{
	uint64_t last_ns = encoding->tape->begin_ns;
	struct string_column strings = { 0 };

	for (size_t i = 0; i < encoding->tape->events.count; i++) {
		const struct tape_event *event = &encoding->tape->events.items[i];

		segment_rows_put_time(column, &last_ns, event->time_ns);
		buffer_varint(column, event->cpu);
		buffer_varint(column, encoding_thread(encoding, event->thread));
		string_column_put(&strings, encoding, column, event->name);
		segment_rows_put_fields(encoding, &strings, column, &event->fields);
	}
}

static int segment_rows_decode_events(struct tape *tape, struct reader *column)
{
	uint64_t last_ns = tape->begin_ns, before_ns = 0;
	struct string_column strings = { 0 };
	int r = 0;

	while (r == 0 && reader_left(column)) {
		struct tape_event event = { .time_ns = segment_rows_take_time(column, &last_ns) };

		event.cpu = take_u32(column);
		event.thread = column_row(column, tape->threads.count);
		event.name = string_column_take(&strings, tape, column);
		r = segment_rows_take_fields(tape, &strings, column, &event.fields);
		if (r == 0 && (event.time_ns < before_ns || reader_failed(column)))
			return -EBADMSG;
		before_ns = event.time_ns;
		if (r < 0)
			return r;
		r = array_push(&tape->events, event);
	}
	return r;
}

static void segment_rows_encode_lines(struct encoding *encoding, struct buffer *column)
{
	uint64_t last_ns = encoding->tape->begin_ns, last_sequence = 0;
	struct string_column texts = { 0 };

	for (size_t i = 0; i < encoding->tape->lines.count; i++) {
		const struct tape_line *line = &encoding->tape->lines.items[i];

		segment_rows_put_time(column, &last_ns, line->time_ns);
		segment_rows_put_time(column, &last_sequence, line->sequence);
		buffer_varint(column, line->priority);
		string_column_put(&texts, encoding, column, line->text);
	}
}

static int segment_rows_decode_lines(struct tape *tape, struct reader *column)
{
	uint64_t last_ns = tape->begin_ns, last_sequence = 0;
	struct string_column texts = { 0 };
	int r = 0;

	while (r == 0 && reader_left(column)) {
		struct tape_line line = { .time_ns = segment_rows_take_time(column, &last_ns) };

		line.sequence = segment_rows_take_time(column, &last_sequence);
		line.priority = take_u32(column);
		line.text = string_column_take(&texts, tape, column);
		r = array_push(&tape->lines, line);
	}
	return r;
}

static void segment_rows_encode_incidents(struct encoding *encoding, struct buffer *column)
{
	uint64_t last_ns = encoding->tape->begin_ns;
	struct string_column strings = { 0 };

	for (size_t i = 0; i < encoding->tape->incidents.count; i++) {
		const struct tape_incident *incident = &encoding->tape->incidents.items[i];

		segment_rows_put_time(column, &last_ns, incident->time_ns);
		buffer_varint(column, zigzag((int64_t)(incident->time_ns - incident->stall_ns)));
		buffer_varint(column, incident->severity);
		string_column_put(&strings, encoding, column, incident->kind);
		string_column_put(&strings, encoding, column, incident->text);
		string_column_put(&strings, encoding, column, incident->source);
		segment_rows_put_fields(encoding, &strings, column, &incident->fields);
	}
}

static int segment_rows_decode_incidents(struct tape *tape, struct reader *column)
{
	uint64_t last_ns = tape->begin_ns;
	struct string_column strings = { 0 };
	int r = 0;

	while (r == 0 && reader_left(column)) {
		struct tape_incident incident = { .time_ns = segment_rows_take_time(column,
										    &last_ns) };

		incident.stall_ns = incident.time_ns - (uint64_t)unzigzag(reader_varint(column));
		incident.severity = take_u32(column);
		incident.kind = string_column_take(&strings, tape, column);
		incident.text = string_column_take(&strings, tape, column);
		incident.source = string_column_take(&strings, tape, column);
		r = segment_rows_take_fields(tape, &strings, column, &incident.fields);
		if (r < 0)
			return r;
		r = array_push(&tape->incidents, incident);
	}
	return r;
}

/*
 * Stores for each gauge its name and number of points, then the times, then the values. Gauges are
 * read at the same moments, so zstd packs the same times of the next gauge well.
 */
static void segment_rows_encode_gauges(struct encoding *encoding, struct buffer *column)
{
	struct string_column names = { 0 };

	for (size_t i = 0; i < encoding->tape->gauges.count; i++) {
		const struct tape_gauge *gauge = &encoding->tape->gauges.items[i];
		const struct tape_point *points = &encoding->tape->points.items[gauge->first];
		uint64_t last_ns = encoding->tape->begin_ns, last = 0;

		string_column_put(&names, encoding, column, gauge->name);
		buffer_varint(column, gauge->count);
		for (uint32_t at = 0; at < gauge->count; at++)
			segment_rows_put_time(column, &last_ns, points[at].time_ns);
		for (uint32_t at = 0; at < gauge->count; at++)
			segment_rows_put_time(column, &last, (uint64_t)points[at].value);
	}
}

static int segment_rows_decode_points(struct tape *tape, struct reader *column, size_t count)
{
	uint64_t last_ns = tape->begin_ns, last = 0, before_ns = 0;
	struct tape_point *points;

	if (array_reserve(&tape->points, tape->points.count + count) < 0)
		return -ENOMEM;
	points = tape->points.items + tape->points.count;
	for (size_t i = 0; i < count; i++) {
		points[i].time_ns = segment_rows_take_time(column, &last_ns);
		if (points[i].time_ns < before_ns)
			return -EBADMSG;
		before_ns = points[i].time_ns;
	}
	for (size_t i = 0; i < count; i++)
		points[i].value = (int64_t)segment_rows_take_time(column, &last);
	tape->points.count += count;
	return 0;
}

static int segment_rows_decode_gauges(struct tape *tape, struct reader *column)
{
	struct string_column names = { 0 };
	int r = 0;

	while (r == 0 && reader_left(column)) {
		struct tape_gauge gauge = { .name = string_column_take(&names, tape, column) };
		size_t count;

		r = column_count(column, column, &count);
		if (r < 0 || tape->points.count + count > UINT32_MAX)
			return -EBADMSG;
		gauge.first = tape->points.count;
		gauge.count = count;
		r = segment_rows_decode_points(tape, column, count);
		if (r < 0)
			return r;
		r = array_push(&tape->gauges, gauge);
	}
	return r;
}

static void segment_rows_encode_usual(struct encoding *encoding, struct buffer *column)
{
	const struct tape *tape = encoding->tape;
	struct string_column names = { 0 };

	for (size_t i = 0; i < tape->usual.count; i++) {
		const struct tape_usual *row = &tape->usual.items[i];

		buffer_varint(column, row->kind);
		string_column_put(&names, encoding, column, row->name);
		buffer_varint(column, row->count);
		for (uint32_t at = 0; at < row->count; at++)
			buffer_varint(column, tape->usual_values.items[row->first + at]);
	}
}

static int segment_rows_decode_usual(struct tape *tape, struct reader *column)
{
	struct string_column names = { 0 };
	int r = 0;

	while (r == 0 && reader_left(column)) {
		struct tape_usual row = { .kind = take_u32(column) };
		size_t count;

		row.name = string_column_take(&names, tape, column);
		r = column_count(column, column, &count);
		if (r < 0 || tape->usual_values.count + count > UINT32_MAX)
			return -EBADMSG;
		row.first = tape->usual_values.count;
		row.count = count;
		while (r == 0 && count--)
			r = array_push(&tape->usual_values, reader_varint(column));
		if (r < 0)
			return r;
		r = array_push(&tape->usual, row);
	}
	return r;
}

/* Kinds of rows in the order of decoding: strings first, rows after those that they refer to. */
static const struct rows {
	const char *name;
	/* The parts of a segment that need these rows; 0: always decoded. */
	unsigned int parts;
	int (*decode)(struct tape *tape, struct reader *column);
	/* NULL: rows_encode_context() leaves the rows out. */
	void (*encode)(struct encoding *encoding, struct buffer *column);
	/* A faster decoder, if not every byte needs a check; NULL: use decode(). */
	int (*quick)(struct tape *tape, struct reader *column);
} all_rows[] = {
	{ "strings", 0, segment_rows_decode_strings, NULL, fill_strings },
	{ "facts", 0, segment_rows_decode_facts, segment_rows_encode_facts, NULL },
	{ "anchors", 0, segment_rows_decode_anchors, segment_rows_encode_anchors, NULL },
	{ "threads", SEGMENT_SAMPLES | SEGMENT_CONTEXT | SEGMENT_DIGEST,
	  segment_rows_decode_threads, NULL, NULL },
	{ "losses", SEGMENT_LOSSES, segment_rows_decode_losses, segment_rows_encode_losses, NULL },
	{ "events", SEGMENT_CONTEXT, segment_rows_decode_events, segment_rows_encode_events, NULL },
	{ "lines", SEGMENT_CONTEXT, segment_rows_decode_lines, segment_rows_encode_lines, NULL },
	{ "incident", SEGMENT_CONTEXT, segment_rows_decode_incidents, segment_rows_encode_incidents,
	  NULL },
	{ "gauges", SEGMENT_CONTEXT, segment_rows_decode_gauges, segment_rows_encode_gauges, NULL },
	{ "usual", SEGMENT_CONTEXT, segment_rows_decode_usual, segment_rows_encode_usual, NULL },
};

int rows_encode_context(struct encoding *encoding)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_rows); i++) {
		_cleanup_(buffer_done) struct buffer column = { 0 };
		int r;

		if (!all_rows[i].encode)
			continue;
		all_rows[i].encode(encoding, &column);
		r = encoding_column(encoding, &column, all_rows[i].name, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns whether the segment is large enough for the strings of the column. */
static bool segment_rows_strings_fit(const struct decoding *decoding, const struct reader *column)
{
	const uint8_t *bytes = column->data + column->position;
	uint64_t count = 0;

	for (size_t i = 0; i < reader_left(column); i++)
		count += !bytes[i];
	return contents_fit(&decoding->contents, count);
}

static int decode_rows(const struct decoding *decoding, struct section_reader *section,
		       void *context)
{
	const struct rows *rows = context;
	struct reader column;
	int r = section_take(section, &column);

	if (r < 0)
		return r;
	if (rows == all_rows && !segment_rows_strings_fit(decoding, &column))
		return -EBADMSG;
	r = rows->quick && !decoding->whole ? rows->quick(decoding->tape, &column)
					    : rows->decode(decoding->tape, &column);
	return r == 0 && reader_failed(&column) ? -EBADMSG : r;
}

int rows_decode(const struct decoding *decoding)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(all_rows); i++) {
		const struct rows *rows = &all_rows[i];
		const struct contents_entry *entry = decoding_find(decoding, rows->name);

		if (entry && (!rows->parts || rows->parts & decoding->want->parts))
			r = decoding_section(decoding, entry, decode_rows, (void *)rows);
	}
	return r;
}
