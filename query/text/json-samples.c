// SPDX-License-Identifier: GPL-2.0-only
/* Of a tape's frames and threads the text is made once, when the first sample has them; lines are
 * then put together by copying. */
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

struct writing {
	/* of the last row */
	struct tape *tape;
	uint32_t number;
	/* of the pieces */
	struct buffer texts;
	struct piece *frames, *threads;
	/* that `time` shows */
	uint64_t second;
	/* up to the point behind the seconds */
	char time[TIME_TEXT_SIZE];
};

static void forget_tape(struct writing *writing)
{
	free(take_ptr(writing->frames));
	free(take_ptr(writing->threads));
	writing->texts.size = 0;
	writing->tape = NULL;
}

static void json_samples_writing_done(struct writing *writing)
{
	forget_tape(writing);
	buffer_done(&writing->texts);
}

static int use_tape(struct writing *writing, const struct cursor_row *row)
{
	if (writing->tape && writing->number == row->number)
		return 0;
	forget_tape(writing);
	writing->frames = calloc(row->tape->frames.count, sizeof(*writing->frames));
	writing->threads =
		calloc(MAX(row->tape->threads.count, (size_t)1), sizeof(*writing->threads));
	if (!writing->frames || !writing->threads)
		return -ENOMEM;
	writing->tape = row->tape;
	writing->number = row->number;
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

/* The members of a line that follow from its thread. */
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

/* With what the piece begins is left out: a bracket that stands for what comes before it in a line.
 */
static void
json_samples_put_piece(struct writing *writing, struct piece *piece, uint32_t id, size_t skipped,
		       void (*make)(const struct tape *tape, uint32_t id, struct buffer *text),
		       struct buffer *to)
{
	if (!piece->size) {
		buffer_u8(&writing->texts, '\n');
		piece->start = writing->texts.size;
		make(writing->tape, id, &writing->texts);
		piece->size = writing->texts.size - piece->start;
	}
	if (!buffer_failed(&writing->texts))
		buffer_bytes(to, writing->texts.data + piece->start + skipped,
			     piece->size - skipped);
}

static void json_samples_put_time(struct writing *writing, uint64_t realtime_ns, struct buffer *to)
{
	uint64_t us = realtime_ns % NSEC_PER_SEC / NSEC_PER_USEC;
	char digits[6];

	if (writing->second != realtime_ns / NSEC_PER_SEC || !writing->time[0]) {
		writing->second = realtime_ns / NSEC_PER_SEC;
		time_format(realtime_ns, true, 0, writing->time);
		writing->time[strlen(writing->time) - 1] = 0; /* the Z */
	}
	for (size_t i = sizeof(digits); i-- > 0; us /= 10)
		digits[i] = '0' + us % 10;
	buffer_text(to, "{\"time\":\"");
	buffer_text(to, writing->time);
	buffer_u8(to, '.');
	buffer_bytes(to, digits, sizeof(digits));
	buffer_text(to, "Z\"");
}

static void json_samples_put_frame(struct writing *writing, uint32_t frame, bool first,
				   struct buffer *to)
{
	if (!first)
		buffer_u8(to, ',');
	json_samples_put_piece(writing, &writing->frames[frame], frame, 0, json_samples_make_frame,
			       to);
}

static void put_frames(struct writing *writing, const struct tape_sample *sample, struct buffer *to)
{
	const struct tape_stack *stacks = writing->tape->stacks.items;
	bool first = true;

	if (!tape_is_no_stack(writing->tape, sample->frame)) {
		json_samples_put_frame(writing, sample->frame, first, to);
		first = false;
	}
	for (uint32_t stack = sample->stack; stack; stack = stacks[stack].parent) {
		json_samples_put_frame(writing, stacks[stack].frame, first, to);
		first = false;
	}
}

static int put_sample(struct writing *writing, const struct cursor_row *row, struct buffer *to)
{
	const struct tape_sample *sample = &row->tape->samples.items[row->sample];
	int r = use_tape(writing, row);

	if (r < 0)
		return r;
	json_samples_put_time(writing, row->realtime_ns, to);
	json_key(to, "cpu");
	json_u64(to, sample->cpu);
	buffer_u8(to, ',');
	json_samples_put_piece(writing, &writing->threads[sample->thread], sample->thread, 1,
			       json_samples_make_thread, to);
	json_key(to, "period");
	json_u64(to, sample->period);
	buffer_text(to, ",\"frames\":[");
	put_frames(writing, sample, to);
	buffer_text(to, "]}\n");
	return buffer_failed(to) || buffer_failed(&writing->texts) ? -ENOMEM : 0;
}

int json_samples_write(struct cursor *cursor, const struct window *window, struct output *output,
		       uint64_t *ret_samples, struct error *error)
{
	_cleanup_(json_samples_writing_done) struct writing writing = { 0 };
	struct cursor_row row;
	uint64_t samples = 0;
	int r = 0;

	while (!output->failed && (r = cursor_next(cursor, &row, error)) > 0) {
		r = put_sample(&writing, &row, &output->text);
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
