// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment-busy.h"

/* The columns of a cell, besides its position. */
enum column {
	BUSY,
	KERNEL,
	IRQ,
	UNSEEN,
	GAUGES,
	THREAD,
	THREAD_SHARE,
	FUNCTION,
	FUNCTION_SHARE,
	COLUMNS,
};

static void put_slots(const struct busy *busy, struct buffer *rows)
{
	struct busy_slot last = { 0 };

	for (size_t i = 0; i < busy->slots.count; i++) {
		const struct busy_slot *slot = &busy->slots.items[i];

		buffer_varint(rows, slot->perf_ns - (last.perf_ns + last.length_ns));
		buffer_varint(rows, slot->length_ns);
		buffer_varint(rows, zigzag((int64_t)(slot->realtime_ns - slot->perf_ns -
						     (last.realtime_ns - last.perf_ns))));
		buffer_varint(rows, slot->machine);
		last = *slot;
	}
}

static int take_slots(struct reader *rows, struct busy *busy)
{
	struct busy_slot slot = { 0 };
	uint64_t begin_ns;

	while (reader_left(rows)) {
		uint64_t end_ns = slot.perf_ns + slot.length_ns;
		uint64_t offset_ns = slot.realtime_ns - slot.perf_ns;

		begin_ns = end_ns + reader_varint(rows);
		slot.perf_ns = begin_ns;
		slot.length_ns = reader_varint(rows);
		slot.realtime_ns = begin_ns + offset_ns + (uint64_t)unzigzag(reader_varint(rows));
		slot.machine = reader_varint(rows);
		if (reader_failed(rows) || begin_ns < end_ns || !slot.length_ns ||
		    begin_ns + slot.length_ns < begin_ns)
			return -EBADMSG;
		if (array_push(&busy->slots, slot) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void segment_busy_put_names(const struct busy *busy, struct buffer *rows)
{
	for (uint32_t i = 1; i < strings_count(&busy->names); i++) {
		const char *name = strings_at(&busy->names, i);

		buffer_bytes(rows, name, strlen(name) + 1);
	}
}

static int take_names(struct reader *rows, struct busy *busy)
{
	uint32_t expected = 1, id;

	while (reader_left(rows)) {
		const char *name = reader_string(rows);
		int r = name ? strings_add(&busy->names, name, strlen(name), &id) : -EBADMSG;

		if (r < 0)
			return r;
		if (id != expected++)
			return -EBADMSG;
	}
	return 0;
}

static void segment_busy_put_threads(const struct busy *busy, struct buffer *rows)
{
	int64_t pid = 0;

	for (size_t i = 0; i < busy->threads.count; i++) {
		const struct busy_thread *thread = &busy->threads.items[i];

		buffer_varint(rows, zigzag(thread->pid - pid));
		buffer_varint(rows, zigzag((int64_t)thread->tid - thread->pid));
		buffer_varint(rows, thread->comm);
		pid = thread->pid;
	}
}

static int segment_busy_take_threads(struct reader *rows, struct busy *busy)
{
	struct busy_thread thread = { 0 };

	while (reader_left(rows)) {
		thread.pid = (int32_t)((uint64_t)thread.pid + unzigzag(reader_varint(rows)));
		thread.tid = (int32_t)((uint64_t)thread.pid + unzigzag(reader_varint(rows)));
		thread.comm = column_row(rows, strings_count(&busy->names));
		if (reader_failed(rows))
			return -EBADMSG;
		if (array_push(&busy->threads, thread) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Encodes the positions as runs of consecutive slots of one CPU. */
static void segment_busy_put_runs(const struct busy *busy, struct buffer *rows)
{
	const struct busy_cell *cells = busy->cells.items;
	uint32_t cpu = 0, slot = 0;

	for (size_t i = 0, end; i < busy->cells.count; i = end) {
		for (end = i + 1; end < busy->cells.count && cells[end].cpu == cells[i].cpu &&
				  cells[end].slot == cells[end - 1].slot + 1;
		     end++)
			;
		buffer_varint(rows, cells[i].cpu - cpu);
		buffer_varint(rows, cells[i].cpu == cpu ? cells[i].slot - slot : cells[i].slot);
		buffer_varint(rows, end - i - 1);
		cpu = cells[i].cpu;
		slot = cells[end - 1].slot + 1;
	}
}

/* The columns prove the number of cells, so a run cannot claim memory. */
static int segment_busy_take_runs(struct reader *rows, size_t count, struct busy *busy)
{
	uint64_t cpu = 0, slot = 0, slots = busy->slots.count, more;

	if (array_reserve(&busy->cells, count) < 0)
		return -ENOMEM;
	while (reader_left(rows)) {
		uint64_t on = reader_varint(rows), skipped = reader_varint(rows);

		if (on)
			slot = 0;
		cpu += on;
		more = reader_varint(rows);
		if (reader_failed(rows) || on > UINT32_MAX || cpu > UINT32_MAX ||
		    skipped >= slots - slot || more >= slots - slot - skipped ||
		    more >= count - busy->cells.count)
			return -EBADMSG;
		slot += skipped;
		for (uint64_t i = 0; i <= more; i++)
			busy->cells.items[busy->cells.count++] =
				(struct busy_cell){ .cpu = cpu, .slot = slot++ };
	}
	return busy->cells.count == count ? 0 : -EBADMSG;
}

static void segment_busy_put_cell(const struct busy_cell *cell, struct buffer columns[COLUMNS])
{
	buffer_u8(&columns[BUSY], cell->busy);
	buffer_u8(&columns[KERNEL], cell->kernel);
	buffer_u8(&columns[IRQ], cell->irq);
	buffer_u8(&columns[UNSEEN], cell->unseen);
	buffer_u8(&columns[GAUGES], cell->gauges);
	buffer_varint(&columns[THREAD], cell->thread);
	buffer_u8(&columns[THREAD_SHARE], cell->thread_share);
	buffer_varint(&columns[FUNCTION], cell->function);
	buffer_u8(&columns[FUNCTION_SHARE], cell->function_share);
}

/* A column of bytes has one byte for each cell. The other columns are read value by value. */
static int segment_busy_take_columns(struct reader columns[COLUMNS], struct busy *busy)
{
	uint32_t threads = busy->threads.count + 1, names = strings_count(&busy->names);

	for (int i = 0; i < COLUMNS; i++)
		if (i != THREAD && i != FUNCTION && columns[i].size != busy->cells.count)
			return -EBADMSG;
	for (size_t i = 0; i < busy->cells.count; i++) {
		struct busy_cell *cell = &busy->cells.items[i];

		cell->busy = columns[BUSY].data[i];
		cell->kernel = columns[KERNEL].data[i];
		cell->irq = columns[IRQ].data[i];
		cell->unseen = columns[UNSEEN].data[i];
		cell->gauges = columns[GAUGES].data[i];
		cell->thread = column_row(&columns[THREAD], threads);
		cell->thread_share = columns[THREAD_SHARE].data[i];
		cell->function = column_row(&columns[FUNCTION], names);
		cell->function_share = columns[FUNCTION_SHARE].data[i];
	}
	for (int i = THREAD; i <= FUNCTION; i += FUNCTION - THREAD)
		if (reader_failed(&columns[i]) || reader_left(&columns[i]))
			return -EBADMSG;
	return 0;
}

static int put_cells(const struct busy *busy, struct section_writer *writer)
{
	struct buffer columns[COLUMNS] = { 0 };
	int r = 0;

	for (size_t i = 0; i < busy->cells.count; i++)
		segment_busy_put_cell(&busy->cells.items[i], columns);
	for (int i = 0; i < COLUMNS; i++) {
		if (r == 0)
			r = section_put(writer, &columns[i]);
		buffer_done(&columns[i]);
	}
	return r;
}

static int take_cells(struct section_reader *section, struct reader *runs, struct busy *busy)
{
	struct reader columns[COLUMNS];
	int r = 0;

	for (int i = 0; r == 0 && i < COLUMNS; i++)
		r = section_take(section, &columns[i]);
	if (r < 0)
		return r;
	r = segment_busy_take_runs(runs, columns[BUSY].size, busy);
	return r < 0 ? r : segment_busy_take_columns(columns, busy);
}

static int segment_busy_put_columns(const struct busy *busy, struct section_writer *writer)
{
	struct buffer columns[5] = { 0 };
	int r = 0;

	buffer_varint(&columns[0], busy->known);
	buffer_varint(&columns[0], busy->cpus);
	put_slots(busy, &columns[1]);
	segment_busy_put_names(busy, &columns[2]);
	segment_busy_put_threads(busy, &columns[3]);
	segment_busy_put_runs(busy, &columns[4]);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (r == 0)
			r = section_put(writer, &columns[i]);
		buffer_done(&columns[i]);
	}
	return r < 0 ? r : put_cells(busy, writer);
}

int busy_encode(const struct busy *busy, struct encoding *encoding)
{
	struct section_writer writer;
	int r;

	encoding_begin(encoding, &writer);
	r = segment_busy_put_columns(busy, &writer);
	return r < 0 ? r : encoding_end(encoding, &writer, SEGMENT_BUSY, 0);
}

static int take_head(struct reader *head, struct busy *busy)
{
	busy->known = reader_varint(head);
	busy->cpus = reader_varint(head);
	return reader_failed(head) || reader_left(head) ? -EBADMSG : 0;
}

int busy_take(struct section_reader *section, struct busy *busy)
{
	struct reader columns[5];
	int r = 0;

	*busy = (struct busy){ 0 };
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(columns); i++)
		r = section_take(section, &columns[i]);
	if (r < 0)
		return r;
	r = take_head(&columns[0], busy);
	if (r < 0)
		return r;
	r = take_slots(&columns[1], busy);
	if (r < 0)
		return r;
	r = take_names(&columns[2], busy);
	if (r < 0)
		return r;
	r = segment_busy_take_threads(&columns[3], busy);
	return r < 0 ? r : take_cells(section, &columns[4], busy);
}

static int take_and_drop(const struct decoding *decoding, struct section_reader *section,
			 void *context)
{
	struct busy busy;
	int r = busy_take(section, &busy);

	busy_done(&busy);
	return r;
}

int busy_check(const struct decoding *decoding, const struct contents_entry *entry)
{
	return decoding_section(decoding, entry, take_and_drop, NULL);
}

struct busy_decoder {
	struct zstd_unpacker *unpacker;
};

struct busy_decoder *busy_decoder_free(struct busy_decoder *decoder)
{
	if (!decoder)
		return NULL;
	zstd_unpacker_free(decoder->unpacker);
	free(decoder);
	return NULL;
}

int busy_decoder_new(struct busy_decoder **ret_decoder)
{
	_cleanup_(cleanup_busy_decoder) struct busy_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder || zstd_unpacker_new(&decoder->unpacker) < 0)
		return -ENOMEM;
	*ret_decoder = take_ptr(decoder);
	return 0;
}

int busy_decode(struct busy_decoder *decoder, const void *data, size_t size, struct busy *busy)
{
	_cleanup_(section_reader_done) struct section_reader section = {
		.unpacker = decoder->unpacker,
		/* the index does not announce a size */
		.raw_limit = CONTENTS_RAW_FREE,
	};
	int r;

	reader_init(&section.stored, data, size);
	r = busy_take(&section, busy);
	return r == 0 && reader_left(&section.stored) ? -EBADMSG : r;
}
