// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/window-answer.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "fleet/answer-spans.h"
#include "fleet/row-binary.h"
#include "tape/segment/segment.h"
#include "tape/tape.h"

/* The longest stack that a tape holds is far shorter. */
#define ANSWER_DEPTH_MAX 4096
#define ANSWER_BYTES_MAX (1u << 30)
#define ANSWER_LOSSES_MAX (1u << 20)
#define ANSWER_LOSS_SIZE 32 /* bytes in the answer */
/* A recorder notes losses up to this time before its first sample, and behind its last one. */
#define ANSWER_LOSS_NEAR_NS NSEC_PER_SEC
#define ANSWER_FACTS_MAX 1024
/* Frames that are decoded: some seconds of work. */
#define ANSWER_WORK_MAX (1u << 27)

/* A stack, by its place in the answer. */
struct answer_stack {
	uint64_t hash;
	size_t place;
	/* The number of the tape that has it, and its rows there. */
	uint32_t tape;
	uint32_t stack;
	uint32_t frame;
};

struct answer_frame {
	const char *name;
	const char *module;
	uint8_t kind;
	uint64_t address;
	uint64_t offset;
};

/* A sample, by its place in the answer. */
struct answer_row {
	uint64_t time_us;
	size_t place;
};

/* A loss, and the number of the span that notes it. */
struct answer_loss {
	struct tape_loss loss;
	size_t span;
	size_t place;
};

struct answer_reader {
	const struct window_answer *answer;
	struct answer_spans spans;
	array_of(struct answer_row) rows;
	array_of(struct answer_loss) losses;
	/* Losses that tapes have got, and work that is done. */
	size_t noted;
	uint64_t work;
	array_of(struct answer_stack) stacks;
	struct table by_hash;
	struct buffer comm, cgroup, texts;
	array_of(struct answer_frame) frames;
	struct tape *tape;
	uint32_t number;
};

static void answer_reader_done(struct answer_reader *reader)
{
	answer_spans_done(&reader->spans);
	array_done(&reader->rows);
	array_done(&reader->losses);
	array_done(&reader->stacks);
	array_done(&reader->frames);
	table_done(&reader->by_hash);
	buffer_done(&reader->comm);
	buffer_done(&reader->cgroup);
	buffer_done(&reader->texts);
	tape_free(reader->tape);
}

/* Counts work, because a hostile server can ask for any amount of it with few bytes. */
static int answer_spend(struct answer_reader *reader, uint64_t work, struct error *error)
{
	if (work > ANSWER_WORK_MAX - reader->work)
		return error_set(error, -EFBIG,
				 "the server's answer is too much work; ask for less time");
	reader->work += work;
	return 0;
}

/* Notes where each sample is; each span decodes its own. */
static int answer_find_samples(struct answer_reader *reader, struct error *error)
{
	const struct buffer *bytes = &reader->answer->samples;
	struct reader rows;
	uint64_t last_us = 0;
	int r = 0;

	reader_init(&rows, bytes->data, bytes->size);
	while (r == 0 && reader_left(&rows)) {
		struct answer_row row = { .place = rows.position };

		row.time_us = reader_u64(&rows);
		reader_take(&rows, sizeof(uint16_t) + 2 * sizeof(uint32_t));
		answer_skip_text(&rows);
		answer_skip_text(&rows);
		reader_take(&rows, 2 * sizeof(uint64_t));
		if (reader_failed(&rows) || row.time_us > INT64_MAX / NSEC_PER_USEC)
			return answer_damaged(error, "a sample");
		if (row.time_us < last_us)
			return answer_damaged(error, "the order of the samples");
		last_us = row.time_us;
		r = array_push(&reader->rows, row);
	}
	return r;
}

/* Returns the place of the first sample that is not before this time. */
static size_t answer_first_row(const struct answer_reader *reader, uint64_t time_us)
{
	size_t low = 0, high = reader->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->rows.items[middle].time_us < time_us)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool answer_is_stack(const void *context, uint32_t value, const void *key)
{
	const struct answer_reader *reader = context;

	return reader->stacks.items[value].hash == *(const uint64_t *)key;
}

/* Notes where each stack is; the tapes that need it decode it. */
static int answer_find_stacks(struct answer_reader *reader, struct error *error)
{
	const struct buffer *bytes = &reader->answer->stacks;
	struct reader rows;

	reader_init(&rows, bytes->data, bytes->size);
	while (reader_left(&rows)) {
		struct answer_stack stack = { .hash = reader_u64(&rows), .tape = UINT32_MAX };

		stack.place = rows.position;
		answer_skip_texts(&rows);
		answer_skip_texts(&rows);
		reader_take(&rows, row_array(&rows, 1));
		reader_take(&rows, row_array(&rows, 8) * 8);
		reader_take(&rows, row_array(&rows, 8) * 8);
		if (reader_failed(&rows))
			return answer_damaged(error, "a stack");
		if (table_find(&reader->by_hash, hash_numbers(stack.hash, 0), answer_is_stack,
			       reader, &stack.hash) != TABLE_NONE)
			return answer_damaged(error, "a stack that comes twice");
		if (array_push(&reader->stacks, stack) < 0 ||
		    table_add(&reader->by_hash, hash_numbers(stack.hash, 0),
			      reader->stacks.count - 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Appends a text to the texts of the stack that is being read. Returns its place. */
static size_t answer_take_text(struct answer_reader *reader, struct reader *rows)
{
	size_t place = reader->texts.size, size = reader_varint(rows);
	const void *text = size ? reader_take(rows, size) : "";

	if (text)
		buffer_bytes(&reader->texts, text, strnlen(text, size));
	buffer_u8(&reader->texts, 0);
	return place;
}

/* Reads the frames of a stack. All its arrays have one length, which is not 0. */
static int answer_read_frames(struct answer_reader *reader, size_t place, struct error *error)
{
	const struct buffer *bytes = &reader->answer->stacks;
	size_t names[ANSWER_DEPTH_MAX], modules[ANSWER_DEPTH_MAX], depth;
	struct reader rows;

	reader_init(&rows, bytes->data, bytes->size);
	rows.position = place;
	reader->texts.size = reader->frames.count = 0;
	depth = row_array(&rows, 1);
	if (!depth || depth > ANSWER_DEPTH_MAX)
		return answer_damaged(error, "the depth of a stack");
	if (array_reserve(&reader->frames, depth) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < depth; i++)
		names[i] = answer_take_text(reader, &rows);
	if (row_array(&rows, 1) != depth)
		return answer_damaged(error, "the modules of a stack");
	for (size_t i = 0; i < depth; i++)
		modules[i] = answer_take_text(reader, &rows);
	if (reader->texts.failed)
		return -ENOMEM;
	reader->frames.count = depth;
	for (size_t i = 0; i < depth; i++) {
		reader->frames.items[i].name = (const char *)reader->texts.data + names[i];
		reader->frames.items[i].module = (const char *)reader->texts.data + modules[i];
	}
	if (row_array(&rows, 1) != depth)
		return answer_damaged(error, "the kinds of a stack");
	for (size_t i = 0; i < depth; i++)
		reader->frames.items[i].kind = reader_u8(&rows);
	if (row_array(&rows, 8) != depth)
		return answer_damaged(error, "the addresses of a stack");
	for (size_t i = 0; i < depth; i++)
		reader->frames.items[i].address = reader_u64(&rows);
	if (row_array(&rows, 8) != depth)
		return answer_damaged(error, "the offsets of a stack");
	for (size_t i = 0; i < depth; i++)
		reader->frames.items[i].offset = reader_u64(&rows);
	return reader_failed(&rows) ? answer_damaged(error, "a stack") : 0;
}

static int answer_add_string(struct tape *tape, const char *text, uint32_t *ret_id)
{
	return strings_add(&tape->strings, text, strlen(text), ret_id);
}

/*
 * Adds a frame. A file that was replaced has other symbols at the same address, so such a frame
 * gets a module of its own, which differs by its inode.
 */
static int answer_add_frame(struct answer_reader *reader, const struct answer_frame *frame,
			    uint32_t *ret_id, struct error *error)
{
	struct tape *tape = reader->tape;
	struct tape_module module = { .kind = frame->kind };
	char label[TAPE_LABEL_SIZE];
	uint32_t symbol = 0, id = 0, number, before;
	struct tape_frame *row;
	int r = answer_add_string(tape, frame->module, &module.path);

	if (r == 0 && strcmp(frame->name, tape_path_label(frame->module, label)) != 0)
		r = answer_add_string(tape, frame->name, &symbol);
	if (frame->kind >= TAPE_MODULE_KINDS)
		module.kind = TAPE_MODULE_UNKNOWN;
	for (module.inode = 0; r == 0; module.inode++) {
		bool is_unknown = module.kind == TAPE_MODULE_UNKNOWN;

		/* many names of one address cost more and more, because each is compared with all
		 */
		r = answer_spend(reader, 1 + module.inode, error);
		if (is_unknown && !module.path)
			number = 0;
		else if (r == 0)
			r = tape_add_module(tape, &module, &number);
		before = tape->frames.count;
		if (r < 0)
			return r;
		r = tape_add_frame(tape, number, is_unknown ? 0 : frame->address, &id);
		if (r < 0)
			return r;
		row = &tape->frames.items[id];
		if (before != tape->frames.count) {
			row->symbol = symbol;
			row->offset = symbol ? frame->offset : 0;
		}
		if (is_unknown ||
		    (row->symbol == symbol && row->offset == (symbol ? frame->offset : 0)))
			break;
	}
	*ret_id = id;
	return r;
}

/* Adds the stack to the tape, once for each tape. */
static int answer_add_stack(struct answer_reader *reader, struct answer_stack *stack,
			    struct error *error)
{
	uint32_t parent = 0, frame = 0;
	int r;

	if (stack->tape == reader->number)
		return 0;
	r = answer_read_frames(reader, stack->place, error);
	/* the outermost caller first */
	for (size_t i = reader->frames.count; r == 0 && i-- > 0;) {
		r = answer_add_frame(reader, &reader->frames.items[i], &frame, error);
		if (r == 0 && i)
			r = tape_add_stack(reader->tape, parent, frame, &parent);
	}
	stack->tape = reader->number;
	stack->stack = parent;
	stack->frame = frame;
	return r;
}

/* Reads the row of a sample, and adds it. */
static int answer_take_sample(struct answer_reader *reader, struct reader *rows,
			      struct error *error)
{
	struct tape *tape = reader->tape;
	struct tape_sample sample = { .time_ns = reader_u64(rows) };
	struct tape_thread thread = { 0 };
	const char *comm, *cgroup;
	uint32_t at;
	uint64_t hash;
	int r;

	sample.cpu = reader_u16(rows);
	thread.pid = (int32_t)reader_u32(rows);
	thread.tid = (int32_t)reader_u32(rows);
	comm = row_text(rows, &reader->comm);
	cgroup = row_text(rows, &reader->cgroup);
	sample.period = reader_u64(rows);
	hash = reader_u64(rows);
	sample.time_ns *= NSEC_PER_USEC;
	at = table_find(&reader->by_hash, hash_numbers(hash, 0), answer_is_stack, reader, &hash);
	if (at == TABLE_NONE)
		return error_set(error, -EBADMSG, "the server lacks the stack %llu of a sample",
				 (unsigned long long)hash);
	r = answer_add_stack(reader, &reader->stacks.items[at], error);
	if (r < 0)
		return r;
	r = answer_add_string(tape, comm, &thread.comm);
	if (r < 0)
		return r;
	r = answer_add_string(tape, cgroup, &thread.cgroup);
	if (r < 0)
		return r;
	r = tape_add_thread(tape, &thread, &sample.thread);
	if (r < 0)
		return r;
	sample.stack = reader->stacks.items[at].stack;
	sample.frame = reader->stacks.items[at].frame;
	return array_push(&tape->samples, sample);
}

/* Facts that are moments of the host's own perf clock. */
static bool answer_is_moment(const char *name)
{
	return strcmp(name, TAPE_BEGUN) == 0 || strcmp(name, TAPE_ENDED) == 0;
}

static int answer_add_facts(struct answer_reader *reader, const struct answer_span *span)
{
	const struct buffer *bytes = &reader->answer->spans;
	struct reader names, values;
	uint64_t count, others;
	int r = 0;

	reader_init(&names, bytes->data, bytes->size);
	names.position = span->facts;
	values = names;
	answer_skip_texts(&values);
	count = row_array(&names, 1);
	others = row_array(&values, 1);
	/* finding a fact looks at all of them */
	count = MIN(MIN(count, others), ANSWER_FACTS_MAX);
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		const char *name = row_text(&names, &reader->comm);
		const char *value = row_text(&values, &reader->cgroup);

		if (*name && *value && !answer_is_moment(name) && !*tape_fact(reader->tape, name))
			r = tape_add_fact(reader->tape, name, value);
	}
	return r;
}

/* A loss that reaches into the next segment counts once. */
static int answer_take_loss(struct answer_reader *reader, const struct tape_loss *loss)
{
	struct answer_loss found = { .loss = *loss, .place = reader->losses.count };
	const struct answer_span *span;

	if (!reader->spans.list.count)
		return 0;
	found.span = answer_spans_at(&reader->spans, loss->from_ns);
	span = &reader->spans.list.items[found.span];
	if (loss->to_ns + ANSWER_LOSS_NEAR_NS < span->begin_ns ||
	    loss->from_ns > span->end_ns + ANSWER_LOSS_NEAR_NS)
		return 0;
	return array_push(&reader->losses, found);
}

static int answer_compare_losses(const void *a, const void *b)
{
	const struct answer_loss *first = a, *second = b;

	if (first->span != second->span)
		return first->span < second->span ? -1 : 1;
	return (first->place > second->place) - (first->place < second->place);
}

static int answer_find_losses(struct answer_reader *reader, struct error *error)
{
	const struct buffer *bytes = &reader->answer->losses;
	struct reader rows;

	if (bytes->size / ANSWER_LOSS_SIZE > ANSWER_LOSSES_MAX)
		return error_set(error, -EFBIG,
				 "the answer has more than %u losses; ask for less time",
				 ANSWER_LOSSES_MAX);
	reader_init(&rows, bytes->data, bytes->size);
	while (reader_left(&rows)) {
		struct tape_loss loss = { .from_ns = reader_u64(&rows) };
		int r;

		loss.to_ns = reader_u64(&rows);
		loss.kind = reader_u32(&rows);
		loss.cpu = reader_u32(&rows);
		loss.count = reader_u64(&rows);
		if (reader_failed(&rows) || loss.from_ns > loss.to_ns || !loss.kind ||
		    loss.to_ns > INT64_MAX / NSEC_PER_USEC)
			return answer_damaged(error, "a loss");
		if (loss.cpu >= TAPE_CPUS_MAX)
			loss.cpu = TAPE_ALL_CPUS;
		loss.from_ns *= NSEC_PER_USEC;
		loss.to_ns *= NSEC_PER_USEC;
		r = answer_take_loss(reader, &loss);
		if (r < 0)
			return r;
	}
	if (reader->losses.count)
		qsort(reader->losses.items, reader->losses.count, sizeof(*reader->losses.items),
		      answer_compare_losses);
	return 0;
}

/* Adds the losses of the span. The spans come in their order. */
static int answer_add_losses(struct answer_reader *reader, size_t span)
{
	while (reader->noted < reader->losses.count &&
	       reader->losses.items[reader->noted].span == span) {
		int r = array_push(&reader->tape->losses, reader->losses.items[reader->noted].loss);

		if (r < 0)
			return r;
		reader->noted++;
	}
	return 0;
}

/* Adds the samples of the span. */
static int answer_add_samples(struct answer_reader *reader, const struct answer_span *span,
			      struct error *error)
{
	const struct buffer *bytes = &reader->answer->samples;
	size_t at = answer_first_row(reader, span->begin_ns / NSEC_PER_USEC);
	struct reader rows;
	int r = 0;

	reader_init(&rows, bytes->data, bytes->size);
	for (; r == 0 && at < reader->rows.count &&
	       reader->rows.items[at].time_us < span->end_ns / NSEC_PER_USEC;
	     at++) {
		rows.position = reader->rows.items[at].place;
		r = answer_take_sample(reader, &rows, error);
	}
	return r;
}

/* Makes the tape of a span, whose perf clock is the wall clock of the host. */
static int answer_encode_span(struct answer_reader *reader, size_t number, struct buffer *tapes,
			      struct error *error)
{
	const struct answer_span *span = &reader->spans.list.items[number];
	int r;

	if (tapes->size > ANSWER_BYTES_MAX)
		return answer_damaged(error, "its segments take too much memory");
	reader->tape = tape_free(reader->tape);
	r = tape_new(&reader->tape);
	if (r < 0)
		return r;
	reader->tape->sequence = ++reader->number;
	reader->tape->begin_ns = span->begin_ns;
	reader->tape->end_ns = span->end_ns;
	r = array_push(&reader->tape->anchors, (struct tape_anchor){ .perf_ns = span->begin_ns,
								     .realtime_ns = span->begin_ns,
								     .error_ns = span->error_ns });
	if (r < 0)
		return r;
	r = answer_add_facts(reader, span);
	if (r < 0)
		return r;
	r = answer_add_losses(reader, number);
	if (r < 0)
		return r;
	r = answer_add_samples(reader, span, error);
	if (r < 0)
		return r;
	r = tape_sort_samples(reader->tape);
	return r < 0 ? r : segment_encode(reader->tape, SEGMENT_HASTY, ANSWER_BYTES_MAX, tapes);
}

int window_answer_encode(const struct window_answer *answer, uint64_t from_ns, uint64_t to_ns,
			 struct buffer *tapes, struct error *error)
{
	_cleanup_(answer_reader_done) struct answer_reader reader = { .answer = answer };
	int r = answer_spans_read(&reader.spans, &answer->spans, from_ns, to_ns, error);

	if (r < 0)
		return r;
	r = answer_find_losses(&reader, error);
	if (r < 0)
		return r;
	r = answer_find_samples(&reader, error);
	if (r < 0)
		return r;
	r = answer_find_stacks(&reader, error);
	for (size_t i = 0; r == 0 && i < reader.spans.list.count; i++)
		r = answer_encode_span(&reader, i, tapes, error);
	return r < 0 ? r : (int)reader.spans.list.count;
}
