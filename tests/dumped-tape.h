/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes the meaning of a whole tape as text, without row numbers, so that two tapes with the same
 * contents give the same text. One line each, in this order:
 *
 *   segment SEQUENCE BEGIN END
 *   fact KEY VALUE
 *   anchor PERF REALTIME MONOTONIC BOOTTIME ERROR
 *   loss KIND CPU FROM TO COUNT                          CPU is -1 for all
 *   event TIME CPU PID TID COMM CGROUP NAME [KEY VALUE]...
 *   line TIME SEQUENCE PRIORITY TEXT
 *   incident TIME STALL SEVERITY KIND TEXT SOURCE [KEY VALUE]...
 *   gauge NAME                                           followed by its points:
 *   point TIME VALUE
 *   usual KIND NAME [VALUE]...
 *   sum COUNT COMM FRAME...                              in the order of the leaf nodes
 *   sample TIME CPU PID TID COMM CGROUP PERIOD FRAME...
 *
 * The first frame of a sum is the first leaf of its function.
 * Words are separated by one space. Strings are in quotes, with \xHH (lower case) for bytes below
 * 0x20, above 0x7e, and for " and \. All other words except frames are decimal numbers. Frames
 * come leaf first; each is MODULE:ADDRESS:SYMBOL+OFFSET, with the address and offset in
 * hexadecimal without 0x, and MODULE the number of a line that comes before the first line that
 * uses it:
 *
 *   module NUMBER KIND PATH BUILD-ID DEVICE INODE        NUMBER counts from 0; BUILD-ID is
 *                                                        hexadecimal, or - for none
 */

#include <inttypes.h>

#include "tape/tape.h"

struct tape_text {
	const struct tape *tape;
	struct buffer *out;
	/* 0: not seen yet */
	uint32_t *module_numbers;
	uint32_t modules;
};

static inline void tape_text_quote(const char *at, struct buffer *out)
{
	buffer_u8(out, '"');
	for (; *at; at++)
		if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e || *at == '"' ||
		    *at == '\\')
			buffer_printf(out, "\\x%02x", (unsigned char)*at);
		else
			buffer_u8(out, (uint8_t)*at);
	buffer_u8(out, '"');
}

static inline void tape_text_quoted(struct tape_text *text, uint32_t id)
{
	tape_text_quote(tape_string(text->tape, id), text->out);
}

static inline void tape_text_string(struct tape_text *text, uint32_t id)
{
	buffer_u8(text->out, ' ');
	tape_text_quoted(text, id);
}

static inline void tape_text_module(struct tape_text *text, uint32_t id)
{
	const struct tape_module *module = &text->tape->modules.items[id];

	if (text->module_numbers[id])
		return;
	text->module_numbers[id] = ++text->modules;
	buffer_printf(text->out, "module %" PRIu32 " %d", text->modules - 1, module->kind);
	tape_text_string(text, module->path);
	buffer_text(text->out, module->build_id_size ? " " : " -");
	for (int i = 0; i < module->build_id_size; i++)
		buffer_printf(text->out, "%02x", module->build_id[i]);
	buffer_printf(text->out, " %" PRIu64 " %" PRIu64 "\n", module->device, module->inode);
}

static inline void tape_text_modules(struct tape_text *text, uint32_t stack, uint32_t leaf)
{
	const struct tape *tape = text->tape;

	tape_text_module(text, tape->frames.items[leaf].module);
	for (; stack; stack = tape->stacks.items[stack].parent)
		tape_text_module(text, tape->frames.items[tape->stacks.items[stack].frame].module);
}

static inline void tape_text_frame(struct tape_text *text, uint32_t id)
{
	const struct tape_frame *frame = &text->tape->frames.items[id];

	buffer_printf(text->out, " %" PRIu32 ":%" PRIx64 ":",
		      text->module_numbers[frame->module] - 1, frame->address);
	tape_text_quoted(text, frame->symbol);
	buffer_printf(text->out, "+%" PRIx64, frame->offset);
}

static inline void tape_text_frames(struct tape_text *text, uint32_t stack, uint32_t leaf)
{
	const struct tape *tape = text->tape;

	tape_text_frame(text, leaf);
	for (; stack; stack = tape->stacks.items[stack].parent)
		tape_text_frame(text, tape->stacks.items[stack].frame);
	buffer_u8(text->out, '\n');
}

static inline void tape_text_thread(struct tape_text *text, uint32_t id)
{
	const struct tape_thread *thread = &text->tape->threads.items[id];

	buffer_printf(text->out, " %" PRId32 " %" PRId32, thread->pid, thread->tid);
	tape_text_string(text, thread->comm);
	tape_text_string(text, thread->cgroup);
}

static inline void tape_text_fields(struct tape_text *text, const struct tape_fields *fields)
{
	for (uint32_t i = 0; i < fields->count; i++) {
		tape_text_string(text, text->tape->fields.items[fields->first + i].key);
		tape_text_string(text, text->tape->fields.items[fields->first + i].value);
	}
	buffer_u8(text->out, '\n');
}

static inline void tape_text_head(struct tape_text *text)
{
	const struct tape *tape = text->tape;

	buffer_printf(text->out, "segment %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", tape->sequence,
		      tape->begin_ns, tape->end_ns);
	for (size_t i = 0; i < tape->facts.count; i++) {
		buffer_text(text->out, "fact");
		tape_text_string(text, tape->facts.items[i].key);
		tape_text_string(text, tape->facts.items[i].value);
		buffer_u8(text->out, '\n');
	}
	for (size_t i = 0; i < tape->anchors.count; i++) {
		const struct tape_anchor *anchor = &tape->anchors.items[i];

		buffer_printf(text->out,
			      "anchor %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			      "\n",
			      anchor->perf_ns, anchor->realtime_ns, anchor->monotonic_ns,
			      anchor->boottime_ns, anchor->error_ns);
	}
	for (size_t i = 0; i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		buffer_printf(text->out,
			      "loss %" PRIu32 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			      loss->kind, loss->cpu == TAPE_ALL_CPUS ? -1 : (int64_t)loss->cpu,
			      loss->from_ns, loss->to_ns, loss->count);
	}
}

static inline void tape_text_events(struct tape_text *text)
{
	const struct tape *tape = text->tape;

	for (size_t i = 0; i < tape->events.count; i++) {
		const struct tape_event *event = &tape->events.items[i];

		buffer_printf(text->out, "event %" PRIu64 " %" PRIu32, event->time_ns, event->cpu);
		tape_text_thread(text, event->thread);
		tape_text_string(text, event->name);
		tape_text_fields(text, &event->fields);
	}
	for (size_t i = 0; i < tape->lines.count; i++) {
		const struct tape_line *line = &tape->lines.items[i];

		buffer_printf(text->out, "line %" PRIu64 " %" PRIu64 " %" PRIu32, line->time_ns,
			      line->sequence, line->priority);
		tape_text_string(text, line->text);
		buffer_u8(text->out, '\n');
	}
	for (size_t i = 0; i < tape->incidents.count; i++) {
		const struct tape_incident *incident = &tape->incidents.items[i];

		buffer_printf(text->out, "incident %" PRIu64 " %" PRIu64 " %" PRIu32,
			      incident->time_ns, incident->stall_ns, incident->severity);
		tape_text_string(text, incident->kind);
		tape_text_string(text, incident->text);
		tape_text_string(text, incident->source);
		tape_text_fields(text, &incident->fields);
	}
}

static inline void tape_text_gauges(struct tape_text *text)
{
	for (size_t i = 0; i < text->tape->gauges.count; i++) {
		const struct tape_gauge *gauge = &text->tape->gauges.items[i];

		buffer_text(text->out, "gauge");
		tape_text_string(text, gauge->name);
		buffer_u8(text->out, '\n');
		for (uint32_t at = gauge->first; at < gauge->first + gauge->count; at++)
			buffer_printf(text->out, "point %" PRIu64 " %" PRId64 "\n",
				      text->tape->points.items[at].time_ns,
				      text->tape->points.items[at].value);
	}
}

static inline void tape_text_usual(struct tape_text *text)
{
	const struct tape *tape = text->tape;

	for (size_t i = 0; i < tape->usual.count; i++) {
		const struct tape_usual *row = &tape->usual.items[i];

		buffer_printf(text->out, "usual %" PRIu32, row->kind);
		tape_text_string(text, row->name);
		for (uint32_t at = 0; at < row->count; at++)
			buffer_printf(text->out, " %" PRIu64,
				      tape->usual_values.items[row->first + at]);
		buffer_u8(text->out, '\n');
	}
}

static inline void tape_text_sample(struct tape_text *text, const struct tape_sample *sample)
{
	tape_text_modules(text, sample->stack, sample->frame);
	buffer_printf(text->out, "sample %" PRIu64 " %" PRIu32, sample->time_ns, sample->cpu);
	tape_text_thread(text, sample->thread);
	buffer_printf(text->out, " %" PRIu64, sample->period);
	tape_text_frames(text, sample->stack, sample->frame);
}

/* Returns 0, or -1 without memory. */
static inline int tape_text(const struct tape *tape, bool sums, struct buffer *out)
{
	struct tape_text text = { .tape = tape, .out = out };

	text.module_numbers = calloc(tape->modules.count, sizeof(*text.module_numbers));
	if (!text.module_numbers)
		return -1;
	tape_text_head(&text);
	tape_text_events(&text);
	tape_text_gauges(&text);
	tape_text_usual(&text);
	for (size_t i = 0; sums && i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];

		tape_text_modules(&text, sum->stack, sum->frame);
		buffer_printf(out, "sum %" PRIu64, sum->count);
		tape_text_string(&text, sum->comm);
		tape_text_frames(&text, sum->stack, sum->frame);
	}
	for (size_t i = 0; i < tape->samples.count; i++)
		tape_text_sample(&text, &tape->samples.items[i]);
	free(text.module_numbers);
	return buffer_failed(out) ? -1 : 0;
}
