// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of a frame or thread is made once per tape, when a sample first needs it. A line is then
 * a copy of such texts.
 */
#include "query/text/json-samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "query/window/filter.h"

struct piece {
	size_t start;
	/* 0: not made yet */
	uint32_t size;
};

struct writer {
	/* tape of the last row */
	struct tape *tape;
	uint32_t number;
	/* the texts of the frames and threads */
	struct buffer texts;
	struct piece *frames, *threads;
	/* the second for which `time` was made */
	uint64_t second;
	/* the time up to the second, without fraction and zone */
	char time[TIME_TEXT_SIZE];
};

static void forget_tape(struct writer *writer)
{
	free(take_ptr(writer->frames));
	free(take_ptr(writer->threads));
	writer->texts.size = 0;
	writer->tape = NULL;
}

static void json_samples_writer_done(struct writer *writer)
{
	forget_tape(writer);
	buffer_done(&writer->texts);
}

static int use_tape(struct writer *writer, const struct cursor_row *row)
{
	if (writer->tape && writer->number == row->number)
		return 0;
	forget_tape(writer);
	writer->frames = calloc(row->tape->frames.count, sizeof(*writer->frames));
	writer->threads =
		calloc(MAX(row->tape->threads.count, (size_t)1), sizeof(*writer->threads));
	if (!writer->frames || !writer->threads)
		return -ENOMEM;
	writer->tape = row->tape;
	writer->number = row->number;
	return 0;
}

static void json_samples_put_known(struct buffer *text, const char *key, const char *value)
{
	json_key(text, key);
	if (*value)
		json_string(text, value);
	else
		json_null(text);
}

static void json_samples_make_frame(const struct tape *tape, uint32_t id, struct buffer *text)
{
	const struct tape_frame *frame = &tape->frames.items[id];
	const struct tape_module *module = &tape->modules.items[frame->module];
	char address[24];

	json_open(text, '{');
	json_samples_put_known(text, "symbol", tape_string(tape, frame->symbol));
	json_samples_put_known(text, "module", tape_string(tape, module->path));
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)frame->address);
	json_samples_put_known(text, "address", frame->module ? address : "");
	json_key(text, "offset");
	if (frame->symbol)
		json_u64(text, frame->offset);
	else
		json_null(text);
	json_close(text, '}');
}

/* Makes the members of a line that depend on the thread. */
static void json_samples_make_thread(const struct tape *tape, uint32_t id, struct buffer *text)
{
	const struct tape_thread *thread = &tape->threads.items[id];
	char number[FILTER_COMM_SIZE];

	buffer_u8(text, '{');
	json_key(text, "pid");
	json_i64(text, thread->pid);
	json_key(text, "tid");
	json_i64(text, thread->tid);
	json_key(text, "comm");
	json_string(text, filter_shown_comm(tape, thread, number));
	json_samples_put_known(text, "cgroup", tape_string(tape, thread->cgroup));
}

/*
 * Appends a piece without its first `skipped` bytes. A piece may begin with an extra bracket,
 * because the JSON writer needs to know what precedes it.
 */
static void
json_samples_put_piece(struct writer *writer, struct piece *piece, uint32_t id, size_t skipped,
		       void (*make)(const struct tape *tape, uint32_t id, struct buffer *text),
		       struct buffer *to)
{
	if (!piece->size) {
		buffer_u8(&writer->texts, '\n');
		piece->start = writer->texts.size;
		make(writer->tape, id, &writer->texts);
		piece->size = writer->texts.size - piece->start;
	}
	if (!buffer_failed(&writer->texts))
		buffer_bytes(to, writer->texts.data + piece->start + skipped,
			     piece->size - skipped);
}

static void json_samples_put_time(struct writer *writer, uint64_t realtime_ns, struct buffer *to)
{
	uint64_t us = realtime_ns % NSEC_PER_SEC / NSEC_PER_USEC;
	char digits[6];

	if (writer->second != realtime_ns / NSEC_PER_SEC || !writer->time[0]) {
		writer->second = realtime_ns / NSEC_PER_SEC;
		time_format(realtime_ns, true, 0, writer->time);
		writer->time[strlen(writer->time) - 1] = 0; /* the Z */
	}
	for (size_t i = sizeof(digits); i-- > 0; us /= 10)
		digits[i] = '0' + us % 10;
	buffer_text(to, "{\"time\":\"");
	buffer_text(to, writer->time);
	buffer_u8(to, '.');
	buffer_bytes(to, digits, sizeof(digits));
	buffer_text(to, "Z\"");
}

static void json_samples_put_frame(struct writer *writer, uint32_t frame, bool first,
				   struct buffer *to)
{
	if (!first)
		buffer_u8(to, ',');
	json_samples_put_piece(writer, &writer->frames[frame], frame, 0, json_samples_make_frame,
			       to);
}

static void put_frames(struct writer *writer, const struct tape_sample *sample, struct buffer *to)
{
	const struct tape_stack *stacks = writer->tape->stacks.items;
	bool first = true;

	if (!tape_is_no_stack(writer->tape, sample->frame)) {
		json_samples_put_frame(writer, sample->frame, first, to);
		first = false;
	}
	for (uint32_t stack = sample->stack; stack; stack = stacks[stack].parent) {
		json_samples_put_frame(writer, stacks[stack].frame, first, to);
		first = false;
	}
}

static int put_sample(struct writer *writer, const struct cursor_row *row, struct buffer *to)
{
	const struct tape_sample *sample = &row->tape->samples.items[row->sample];
	int r = use_tape(writer, row);

	if (r < 0)
		return r;
	json_samples_put_time(writer, row->realtime_ns, to);
	json_key(to, "cpu");
	json_u64(to, sample->cpu);
	buffer_u8(to, ',');
	json_samples_put_piece(writer, &writer->threads[sample->thread], sample->thread, 1,
			       json_samples_make_thread, to);
	json_key(to, "period");
	json_u64(to, sample->period);
	buffer_text(to, ",\"frames\":[");
	put_frames(writer, sample, to);
	buffer_text(to, "]}\n");
	return buffer_failed(to) || buffer_failed(&writer->texts) ? -ENOMEM : 0;
}

int json_samples_write(struct cursor *cursor, const struct window *window, struct output *output,
		       uint64_t *ret_samples, struct error *error)
{
	_cleanup_(json_samples_writer_done) struct writer writer = { 0 };
	struct cursor_row row;
	uint64_t samples = 0;
	int r = 0;

	while (!output->failed && (r = cursor_next(cursor, &row, error)) > 0) {
		r = put_sample(&writer, &row, &output->text);
		if (r < 0)
			return r;
		output_flush(output);
		samples++;
	}
	if (r < 0)
		return r;
	coverage_put_json(cursor_coverage(cursor), window, &output->text);
	*ret_samples = samples;
	return buffer_failed(&output->text) ? -ENOMEM : 0;
}
