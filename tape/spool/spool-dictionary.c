// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of a block that samples refer to, and the samples. The drain thread waits for the
 * encoding of samples, so it goes column by column.
 */
#include "tape/spool/spool-rows.h"

/* The least and the most bytes that a row of samples takes; at least a byte in each column. */
#define SAMPLE_BYTES_MIN 6
#define SAMPLE_BYTES_MAX 45

static size_t text_end(const struct tape *tape, uint32_t strings)
{
	return strings < tape->strings.starts.count ? tape->strings.starts.items[strings]
						    : tape->strings.text.size;
}

static void encode_strings(const struct tape *tape, const struct spool_mark *mark,
			   struct buffer *raw)
{
	size_t from = text_end(tape, mark->strings), size = tape->strings.text.size - from;

	buffer_varint(raw, size);
	if (size)
		buffer_bytes(raw, tape->strings.text.data + from, size);
}

static int spool_dictionary_decode_strings(struct spool_rows *rows, struct reader *raw)
{
	struct strings *strings = &rows->tape->strings;
	size_t left;
	int r = read_count(raw, 1, &left);

	while (r == 0 && left) {
		const char *text = (const char *)raw->data + raw->position;
		size_t size = strnlen(text, left);
		uint32_t id, expected = strings_count(strings);

		if (size == left)
			return -EBADMSG;
		r = strings_add(strings, text, size, &id);
		if (r == -E2BIG || (r == 0 && id != expected))
			/*
			 * refuse a repeated string, because the numbers of later strings would be
			 * wrong
			 */
			return -EBADMSG;
		reader_take(raw, size + 1);
		left -= size + 1;
	}
	return r;
}

static void spool_dictionary_encode_modules(const struct tape *tape, const struct spool_mark *mark,
					    struct buffer *raw)
{
	size_t from = MAX(mark->modules, 1u);

	buffer_varint(raw, tape->modules.count - from);
	for (size_t i = from; i < tape->modules.count; i++) {
		const struct tape_module *module = &tape->modules.items[i];

		buffer_varint(raw, module->path);
		buffer_u8(raw, module->kind);
		buffer_u8(raw, module->build_id_size);
		buffer_bytes(raw, module->build_id, module->build_id_size);
		buffer_varint(raw, module->device);
		buffer_varint(raw, module->inode);
	}
}

static int spool_dictionary_decode_modules(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->modules, raw, 5, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_module *module = &tape->modules.items[tape->modules.count];
		const void *build_id;

		*module = (struct tape_module){ .path = read_string(tape, raw) };
		module->kind = read_below(raw, TAPE_MODULE_KINDS);
		module->build_id_size = read_below(raw, TAPE_BUILD_ID_MAX + 1);
		build_id = reader_take(raw, module->build_id_size);
		module->device = reader_varint(raw);
		module->inode = reader_varint(raw);
		if (reader_failed(raw))
			return -EBADMSG;
		memcpy(module->build_id, build_id, module->build_id_size);
		tape->modules.count++;
	}
	return r;
}

/*
 * Encodes the processes of modules. If a known module got another process, encodes all of them
 * again.
 */
static void encode_pids(const struct tape *tape, const struct spool_mark *mark, struct buffer *raw)
{
	size_t from = pids_hash(tape, mark->pids) == mark->pids_hash ? mark->pids : 0;

	buffer_varint(raw, from);
	buffer_varint(raw, tape->pids.count - from);
	for (size_t i = from; i < tape->pids.count; i++)
		put_signed(raw, tape->pids.items[i]);
}

static int decode_pids(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	uint64_t from = reader_varint(raw);
	size_t count;
	int r = read_count(raw, 1, &count);

	if (r < 0)
		return r;
	if (from > tape->pids.count || count > tape->modules.count - from)
		return -EBADMSG;
	r = array_reserve(&tape->pids, from + count);
	for (size_t i = 0; r == 0 && i < count; i++)
		tape->pids.items[from + i] = read_i32(raw);
	if (r < 0)
		return r;
	tape->pids.count = MAX(tape->pids.count, from + count);
	return 0;
}

static void encode_frames(const struct tape *tape, const struct spool_mark *mark,
			  struct buffer *raw)
{
	size_t from = MAX(mark->frames, 1u);
	uint64_t address = 0;

	buffer_varint(raw, tape->frames.count - from);
	for (size_t i = from; i < tape->frames.count; address = tape->frames.items[i++].address) {
		buffer_varint(raw, tape->frames.items[i].module);
		put_difference(raw, tape->frames.items[i].address, address);
	}
}

static int decode_frames(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	uint64_t address = 0;
	size_t count;
	int r = READ_ROWS(&tape->frames, raw, 2, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_frame frame = { .module = read_below(raw, tape->modules.count) };

		frame.address = address = read_difference(raw, address);
		tape->frames.items[tape->frames.count++] = frame;
	}
	return r;
}

static void encode_stacks(const struct tape *tape, const struct spool_mark *mark,
			  struct buffer *raw)
{
	size_t from = MAX(mark->stacks, 1u);

	buffer_varint(raw, tape->stacks.count - from);
	for (size_t i = from; i < tape->stacks.count; i++) {
		buffer_varint(raw, i - tape->stacks.items[i].parent);
		buffer_varint(raw, tape->stacks.items[i].frame);
	}
}

static int spool_dictionary_decode_stacks(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->stacks, raw, 2, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		size_t id = tape->stacks.count++;
		uint64_t back = read_below(raw, id + 1);

		if (!back)
			reader_fail(raw);
		tape->stacks.items[id].parent = id - back;
		tape->stacks.items[id].frame = read_below(raw, tape->frames.count);
	}
	return r;
}

static void spool_dictionary_encode_threads(const struct tape *tape, const struct spool_mark *mark,
					    struct buffer *raw)
{
	buffer_varint(raw, tape->threads.count - mark->threads);
	for (size_t i = mark->threads; i < tape->threads.count; i++) {
		const struct tape_thread *thread = &tape->threads.items[i];

		put_signed(raw, thread->pid);
		put_signed(raw, thread->tid);
		buffer_varint(raw, thread->comm);
		buffer_varint(raw, thread->cgroup);
	}
}

static int spool_dictionary_decode_threads(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	size_t count;
	int r = READ_ROWS(&tape->threads, raw, 4, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_thread *thread = &tape->threads.items[tape->threads.count++];

		thread->pid = read_i32(raw);
		thread->tid = read_i32(raw);
		thread->comm = read_string(tape, raw);
		thread->cgroup = read_string(tape, raw);
	}
	return r;
}

static uint8_t *spool_dictionary_put(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = value | 0x80;
		value >>= 7;
	}
	*at++ = value;
	return at;
}

#define PUT_COLUMN(at, samples, count, column)     \
	for (size_t row = 0; row < (count); row++) \
	(at) = spool_dictionary_put((at), (samples)[row].column)

static void spool_dictionary_encode_samples(const struct tape *tape, const struct spool_mark *mark,
					    struct buffer *raw)
{
	size_t count = tape->samples.count - mark->samples;
	const struct tape_sample *samples = count ? tape->samples.items + mark->samples : NULL;
	uint64_t unit, last_unit = 0, period = 0;
	uint8_t *at;

	buffer_varint(raw, count);
	at = samples ? buffer_room(raw, count * SAMPLE_BYTES_MAX) : NULL;
	if (!at)
		return;
	for (size_t i = 0; i < count; i++, last_unit = unit) {
		unit = samples[i].time_ns / TAPE_TIME_UNIT_NS;
		at = spool_dictionary_put(at, zigzag((int64_t)(unit - last_unit)));
	}
	PUT_COLUMN(at, samples, count, cpu);
	PUT_COLUMN(at, samples, count, thread);
	PUT_COLUMN(at, samples, count, stack);
	PUT_COLUMN(at, samples, count, frame);
	for (size_t i = 0; i < count; period = samples[i++].period)
		at = spool_dictionary_put(at, zigzag((int64_t)(samples[i].period - period)));
	raw->size = at - raw->data;
}

static int decode_samples(struct spool_rows *rows, struct reader *raw)
{
	struct tape *tape = rows->tape;
	uint64_t unit = 0, period = 0;
	struct tape_sample *samples;
	size_t count;
	int r = READ_ROWS(&tape->samples, raw, SAMPLE_BYTES_MIN, count);

	if (r < 0 || !count)
		return r;
	samples = tape->samples.items + tape->samples.count;
	for (size_t i = 0; i < count; i++) {
		unit = read_difference(raw, unit);
		if (unit >= SPOOL_TIME_UNITS)
			return -EBADMSG;
		samples[i].time_ns = unit * TAPE_TIME_UNIT_NS;
	}
	for (size_t i = 0; i < count; i++)
		samples[i].cpu = read_u32(raw);
	for (size_t i = 0; i < count; i++)
		samples[i].thread = read_below(raw, tape->threads.count);
	for (size_t i = 0; i < count; i++)
		samples[i].stack = read_below(raw, tape->stacks.count);
	for (size_t i = 0; i < count; i++)
		samples[i].frame = read_below(raw, tape->frames.count);
	for (size_t i = 0; i < count; i++)
		samples[i].period = period = read_difference(raw, period);
	tape->samples.count += count;
	return 0;
}

const struct spool_table spool_dictionary[SPOOL_DICTIONARY_TABLES] = {
	{ encode_strings, spool_dictionary_decode_strings },
	{ spool_dictionary_encode_modules, spool_dictionary_decode_modules },
	{ encode_pids, decode_pids },
	{ encode_frames, decode_frames },
	{ encode_stacks, spool_dictionary_decode_stacks },
	{ spool_dictionary_encode_threads, spool_dictionary_decode_threads },
	{ spool_dictionary_encode_samples, decode_samples },
};
