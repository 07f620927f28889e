// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints everything that a segment holds as the text of tests/dumped-tape.h. A test compares this
 * with the output of a reader that was written from docs/FORMAT.md alone. The section of busy CPUs,
 * if the segment has one, follows:
 *
 *   busy KNOWN CPUS
 *   slot BEGIN LENGTH REALTIME MACHINE
 *   cell CPU SLOT BUSY KERNEL INTERRUPTS UNSEEN GAUGES PID TID COMM SHARE FUNCTION SHARE
 *
 * A cell without a known thread has 0 0 "".
 *
 *   dump-tape FILE.tape     each segment of the file
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tape/busy.h"
#include "tape/segment/segment.h"
#include "tests/dumped-tape.h"

static void put_cell(const struct busy *busy, const struct busy_cell *cell, struct buffer *out)
{
	static const struct busy_thread nobody;
	const struct busy_thread *thread =
		cell->thread ? &busy->threads.items[cell->thread - 1] : &nobody;

	buffer_printf(out, "cell %u %u %u %u %u %u %u %d %d ", cell->cpu, cell->slot, cell->busy,
		      cell->kernel, cell->irq, cell->unseen, cell->gauges, thread->pid,
		      thread->tid);
	tape_text_quote(strings_at(&busy->names, thread->comm), out);
	buffer_printf(out, " %u ", cell->thread_share);
	tape_text_quote(strings_at(&busy->names, cell->function), out);
	buffer_printf(out, " %u\n", cell->function_share);
}

static void put_busy(const struct busy *busy, struct buffer *out)
{
	buffer_printf(out, "busy %d %" PRIu64 "\n", busy->known, busy->cpus);
	for (size_t i = 0; i < busy->slots.count; i++) {
		const struct busy_slot *slot = &busy->slots.items[i];

		buffer_printf(out, "slot %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", slot->perf_ns,
			      slot->length_ns, slot->realtime_ns, slot->machine);
	}
	for (size_t i = 0; i < busy->cells.count; i++)
		put_cell(busy, &busy->cells.items[i], out);
}

static int dump_busy(const struct segment_input *input, struct buffer *out, struct error *error)
{
	_cleanup_(cleanup_busy_decoder) struct busy_decoder *decoder = NULL;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct busy busy = { .known = false };
	int r = segment_busy(input, &bytes, error);

	if (r <= 0)
		return r;
	r = busy_decoder_new(&decoder);
	if (r == 0)
		r = busy_decode(decoder, bytes.data, bytes.size, &busy);
	if (r == 0)
		put_busy(&busy, out);
	busy_done(&busy);
	return r < 0 ? error_set(error, r, "the section of busy CPUs: %s", strerror(-r)) : 0;
}

static int dump(const struct segment_input *input, struct buffer *out, struct error *error)
{
	static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = segment_decode(input, &everything, &tape, error);

	return r == 0 && tape_text(tape, true, out) < 0 ? -ENOMEM : r;
}

int main(int argc, char **argv)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct segment_summary summary;
	_cleanup_free_ char *data = NULL;
	struct error error = { 0 };
	size_t size;
	int r;

	if (argc != 2)
		return 2;
	r = file_read(argv[1], 1 << 30, &data, &size);
	if (r < 0)
		error_set(&error, r, "%s", strerror(-r));
	for (size_t at = 0; r == 0 && at < size; at += summary.bytes) {
		struct segment_input input = segment_input_memory(data + at, size - at);

		r = dump(&input, &out, &error);
		if (r == 0)
			r = dump_busy(&input, &out, &error);
		if (r == 0)
			r = segment_peek(data + at, size - at, size - at, &summary, &error);
	}
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], error.text);
		return 1;
	}
	return fwrite(out.data, 1, out.size, stdout) == out.size ? 0 : 1;
}
