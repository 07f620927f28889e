// SPDX-License-Identifier: GPL-2.0-only
#include "tape/sections.h"

#include <stdio.h>

/*
 * Rows as columns of varints; numbers that grow slowly are kept as differences. Each decoder stands under its encoder and
 * checks that every number refers to a row that is there (tape.h, invariants 1 to 4). A count is never believed beyond
 * the bytes that are there: each row takes at least one.
 */

static int read_count(struct reader *raw, size_t *ret_count)
{
	uint64_t count = reader_varint(raw);

	if (reader_failed(raw) || count > reader_left(raw))
		return -EBADMSG;
	*ret_count = count;
	return 0;
}

/* Makes room in an array of the tape for the rows of a section; `count` is set to what the section says. */
#define READ_ROWS(array, raw, count)                              \
	({                                                        \
		int _r = read_count((raw), &(count));             \
		if (_r == 0)                                      \
			_r = array_reserve((array), (count) + 1); \
		_r;                                               \
	})

static void encode_summary(const struct tape *tape, struct buffer *raw)
{
	struct segment_summary summary;

	segment_summarize(tape, &summary);
	buffer_u64(raw, summary.sequence);
	buffer_u64(raw, summary.begin_ns);
	buffer_u64(raw, summary.end_ns);
	buffer_u64(raw, summary.samples);
	buffer_u64(raw, summary.lost);
	buffer_bytes(raw, summary.boot_id, sizeof(summary.boot_id));
	buffer_u64(raw, tape->begin_ns);
	buffer_u64(raw, tape->end_ns);
}

int summary_decode(struct reader *raw, struct segment_summary *ret_summary)
{
	const char *boot_id;

	ret_summary->sequence = reader_u64(raw);
	ret_summary->begin_ns = reader_u64(raw);
	ret_summary->end_ns = reader_u64(raw);
	ret_summary->samples = reader_u64(raw);
	ret_summary->lost = reader_u64(raw);
	boot_id = reader_text(raw, sizeof(ret_summary->boot_id));
	if (!boot_id || strchr(boot_id, '/') || ret_summary->end_ns < ret_summary->begin_ns)
		return -EBADMSG;
	snprintf(ret_summary->boot_id, sizeof(ret_summary->boot_id), "%s", boot_id);
	return 0;
}

static int decode_summary(struct tape *tape, struct reader *raw)
{
	struct segment_summary summary;
	int r = summary_decode(raw, &summary);

	if (r < 0)
		return r;
	tape->sequence = summary.sequence;
	tape->begin_ns = reader_u64(raw);
	tape->end_ns = reader_u64(raw);
	return tape->end_ns < tape->begin_ns ? -EBADMSG : 0;
}

static void encode_strings(const struct tape *tape, struct buffer *raw)
{
	/* each with its NUL, in order; number 0 is not there */
	buffer_bytes(raw, tape->strings.text.data, tape->strings.text.size);
}

static int decode_strings(struct tape *tape, struct reader *raw)
{
	while (reader_left(raw)) {
		const char *text = (const char *)raw->data + raw->position;
		size_t size = strnlen(text, reader_left(raw));
		uint32_t id, expected = strings_count(&tape->strings);

		if (!reader_take(raw, size + 1))
			return -EBADMSG;
		if (strings_add(&tape->strings, text, size, &id) < 0)
			return -ENOMEM;
		if (id != expected)
			return -EBADMSG; /* twice the same: numbers would be wrong from here on */
	}
	return 0;
}

static uint32_t read_id(struct reader *raw, size_t count)
{
	uint64_t id = reader_varint(raw);

	if (id < count)
		return id;
	raw->failed_at = raw->failed ? raw->failed_at : raw->position;
	raw->failed = true;
	return 0;
}

static uint32_t read_string(struct tape *tape, struct reader *raw)
{
	return read_id(raw, strings_count(&tape->strings));
}

static void encode_facts(const struct tape *tape, struct buffer *raw)
{
	buffer_varint(raw, tape->facts.count);
	for (size_t i = 0; i < tape->facts.count; i++) {
		buffer_varint(raw, tape->facts.items[i].key);
		buffer_varint(raw, tape->facts.items[i].value);
	}
}

static int decode_facts(struct tape *tape, struct reader *raw)
{
	size_t count;
	int r = READ_ROWS(&tape->facts, raw, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_fact *fact = &tape->facts.items[tape->facts.count++];

		fact->key = read_string(tape, raw);
		fact->value = read_string(tape, raw);
	}
	return r;
}

static void encode_anchors(const struct tape *tape, struct buffer *raw)
{
	buffer_varint(raw, tape->anchors.count);
	for (size_t i = 0; i < tape->anchors.count; i++) {
		const struct tape_anchor *anchor = &tape->anchors.items[i];

		buffer_varint(raw, anchor->perf_ns);
		buffer_varint(raw, anchor->realtime_ns);
		buffer_varint(raw, anchor->monotonic_ns);
		buffer_varint(raw, anchor->boottime_ns);
		buffer_varint(raw, anchor->error_ns);
	}
}

static int decode_anchors(struct tape *tape, struct reader *raw)
{
	size_t count;
	int r = READ_ROWS(&tape->anchors, raw, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_anchor *anchor = &tape->anchors.items[tape->anchors.count++];

		anchor->perf_ns = reader_varint(raw);
		anchor->realtime_ns = reader_varint(raw);
		anchor->monotonic_ns = reader_varint(raw);
		anchor->boottime_ns = reader_varint(raw);
		anchor->error_ns = reader_varint(raw);
		if (reader_failed(raw) || (i > 0 && anchor->perf_ns <= anchor[-1].perf_ns))
			return -EBADMSG;
	}
	return r;
}

static void encode_modules(const struct tape *tape, struct buffer *raw)
{
	buffer_varint(raw, tape->modules.count);
	for (size_t i = 0; i < tape->modules.count; i++) {
		const struct tape_module *module = &tape->modules.items[i];

		buffer_varint(raw, module->path);
		buffer_u8(raw, module->kind);
		buffer_u8(raw, module->build_id_size);
		buffer_bytes(raw, module->build_id, module->build_id_size);
		buffer_varint(raw, module->device);
		buffer_varint(raw, module->inode);
	}
}

/* Row 0 says nothing. */
static bool is_unknown_module(const struct tape_module *module)
{
	return !module->path && module->kind == TAPE_MODULE_UNKNOWN && !module->build_id_size &&
	       !module->device && !module->inode;
}

static int decode_modules(struct tape *tape, struct reader *raw)
{
	size_t count;
	int r = READ_ROWS(&tape->modules, raw, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_module module = { .path = read_string(tape, raw) };
		const void *build_id;

		module.kind = reader_u8(raw);
		module.build_id_size = reader_u8(raw);
		if (module.kind >= TAPE_MODULE_KINDS || module.build_id_size > TAPE_BUILD_ID_MAX)
			return -EBADMSG;
		build_id = reader_take(raw, module.build_id_size);
		if (!build_id)
			return -EBADMSG;
		memcpy(module.build_id, build_id, module.build_id_size);
		module.device = reader_varint(raw);
		module.inode = reader_varint(raw);
		tape->modules.items[tape->modules.count++] = module;
	}
	return r == 0 && (!count || !is_unknown_module(&tape->modules.items[0])) ? -EBADMSG : r;
}

static void encode_frames(const struct tape *tape, struct buffer *raw)
{
	buffer_varint(raw, tape->frames.count);
	for (size_t i = 0; i < tape->frames.count; i++)
		buffer_varint(raw, tape->frames.items[i].module);
	for (size_t i = 0; i < tape->frames.count; i++)
		buffer_u64(raw, tape->frames.items[i].address);
	for (size_t i = 0; i < tape->frames.count; i++)
		buffer_varint(raw, tape->frames.items[i].symbol);
	for (size_t i = 0; i < tape->frames.count; i++)
		buffer_varint(raw, tape->frames.items[i].offset);
}

static bool is_unknown_frame(const struct tape_frame *frame)
{
	return !frame->module && !frame->address && !frame->symbol && !frame->offset;
}

static int decode_frames(struct tape *tape, struct reader *raw)
{
	size_t count;
	int r = READ_ROWS(&tape->frames, raw, count);

	if (r < 0 || !count)
		return r < 0 ? r : -EBADMSG;
	tape->frames.count = count;
	for (size_t i = 0; i < count; i++)
		tape->frames.items[i].module = read_id(raw, tape->modules.count);
	for (size_t i = 0; i < count; i++)
		tape->frames.items[i].address = reader_u64(raw);
	for (size_t i = 0; i < count; i++)
		tape->frames.items[i].symbol = read_string(tape, raw);
	for (size_t i = 0; i < count; i++)
		tape->frames.items[i].offset = reader_varint(raw);
	return is_unknown_frame(&tape->frames.items[0]) ? 0 : -EBADMSG;
}

static void encode_stacks(const struct tape *tape, struct buffer *raw)
{
	buffer_varint(raw, tape->stacks.count);
	for (size_t i = 1; i < tape->stacks.count; i++)
		buffer_varint(raw, i - tape->stacks.items[i].parent);
	for (size_t i = 1; i < tape->stacks.count; i++)
		buffer_varint(raw, tape->stacks.items[i].frame);
}

static int decode_stacks(struct tape *tape, struct reader *raw)
{
	size_t count = reader_varint(raw);

	/* stack 0 takes no byte */
	if (!count || count - 1 > reader_left(raw))
		return -EBADMSG;
	if (array_reserve(&tape->stacks, count) < 0)
		return -ENOMEM;
	tape->stacks.count = count;
	tape->stacks.items[0] = (struct tape_stack){ 0 };
	for (size_t i = 1; i < count; i++) {
		uint64_t back = reader_varint(raw);

		if (back == 0 || back > i)
			return -EBADMSG;
		tape->stacks.items[i].parent = i - back;
	}
	for (size_t i = 1; i < count; i++)
		tape->stacks.items[i].frame = read_id(raw, tape->frames.count);
	return 0;
}

static void encode_threads(const struct tape *tape, struct buffer *raw)
{
	buffer_varint(raw, tape->threads.count);
	for (size_t i = 0; i < tape->threads.count; i++) {
		const struct tape_thread *thread = &tape->threads.items[i];

		buffer_varint(raw, zigzag(thread->pid));
		buffer_varint(raw, zigzag((int64_t)thread->tid - thread->pid));
		buffer_varint(raw, thread->comm);
		buffer_varint(raw, thread->cgroup);
	}
}

static int decode_threads(struct tape *tape, struct reader *raw)
{
	size_t count;
	int r = READ_ROWS(&tape->threads, raw, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_thread *thread = &tape->threads.items[tape->threads.count++];

		thread->pid = unzigzag(reader_varint(raw));
		thread->tid = (uint32_t)thread->pid + (uint32_t)unzigzag(reader_varint(raw));
		thread->comm = read_string(tape, raw);
		thread->cgroup = read_string(tape, raw);
	}
	return r;
}

/* Differences of the times, per sample to the one before; then a column each of the rest. */
static void encode_samples(const struct tape *tape, struct buffer *raw)
{
	uint64_t last = 0;

	buffer_varint(raw, tape->samples.count);
	for (size_t i = 0; i < tape->samples.count; i++) {
		buffer_varint(raw, tape->samples.items[i].time_ns - last);
		last = tape->samples.items[i].time_ns;
	}
	for (size_t i = 0; i < tape->samples.count; i++)
		buffer_varint(raw, tape->samples.items[i].cpu);
	for (size_t i = 0; i < tape->samples.count; i++)
		buffer_varint(raw, tape->samples.items[i].thread);
	for (size_t i = 0; i < tape->samples.count; i++)
		buffer_u32(raw, tape->samples.items[i].stack);
	for (size_t i = 0; i < tape->samples.count; i++)
		buffer_u32(raw, tape->samples.items[i].frame);
	for (size_t i = 0; i < tape->samples.count; i++)
		buffer_varint(raw, tape->samples.items[i].period);
}

static int decode_samples(struct tape *tape, struct reader *raw)
{
	size_t count;
	int r = READ_ROWS(&tape->samples, raw, count);
	uint64_t time = 0;

	if (r < 0)
		return r;
	tape->samples.count = count;
	for (size_t i = 0; i < count; i++) {
		if (__builtin_add_overflow(time, reader_varint(raw), &time) ||
			time < tape->begin_ns || time >= tape->end_ns)
			return -EBADMSG;
		tape->samples.items[i].time_ns = time;
	}
	for (size_t i = 0; i < count; i++)
		tape->samples.items[i].cpu = read_id(raw, UINT32_MAX);
	for (size_t i = 0; i < count; i++)
		tape->samples.items[i].thread = read_id(raw, tape->threads.count);
	for (size_t i = 0; i < count; i++) {
		tape->samples.items[i].stack = reader_u32(raw);
		if (tape->samples.items[i].stack >= tape->stacks.count)
			return -EBADMSG;
	}
	for (size_t i = 0; i < count; i++) {
		tape->samples.items[i].frame = reader_u32(raw);
		if (tape->samples.items[i].frame >= tape->frames.count)
			return -EBADMSG;
	}
	for (size_t i = 0; i < count; i++)
		tape->samples.items[i].period = reader_varint(raw);
	return 0;
}

static void encode_losses(const struct tape *tape, struct buffer *raw)
{
	buffer_varint(raw, tape->losses.count);
	for (size_t i = 0; i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		buffer_varint(raw, loss->kind);
		buffer_varint(raw, loss->cpu);
		buffer_varint(raw, loss->from_ns);
		buffer_varint(raw, loss->to_ns);
		buffer_varint(raw, loss->count);
	}
}

static int decode_losses(struct tape *tape, struct reader *raw)
{
	size_t count;
	int r = READ_ROWS(&tape->losses, raw, count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct tape_loss *loss = &tape->losses.items[tape->losses.count++];

		loss->kind = read_id(raw, UINT32_MAX);
		loss->cpu = read_id(raw, (size_t)TAPE_ALL_CPUS + 1);
		loss->from_ns = reader_varint(raw);
		loss->to_ns = reader_varint(raw);
		loss->count = reader_varint(raw);
	}
	return r;
}

const struct section sections[] = {
	{ SECTION_SUMMARY, "summary", encode_summary, decode_summary },
	{ 2, "strings", encode_strings, decode_strings },
	{ 3, "facts", encode_facts, decode_facts },
	{ 4, "anchors", encode_anchors, decode_anchors },
	{ 5, "modules", encode_modules, decode_modules },
	{ 6, "frames", encode_frames, decode_frames },
	{ 7, "stacks", encode_stacks, decode_stacks },
	{ 8, "threads", encode_threads, decode_threads },
	{ 9, "samples", encode_samples, decode_samples },
	{ 10, "losses", encode_losses, decode_losses },
	{ 0 },
};
