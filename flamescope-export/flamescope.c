// SPDX-License-Identifier: GPL-2.0-only
/*
 * docs/FLAMESCOPE.md describes the text. flamescope_write() passes over the rows twice. The first
 * pass makes the text of every name and counts for the header; the second pass copies. The second
 * pass formats the first line of a sample without printf(), which would take longer than everything
 * else.
 */
#include "flamescope-export/flamescope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutation.h"
#include "flamescope-export/disguise.h"
#include "flamescope-export/header.h"
#include "flamescope-export/tape-text.h"
#include "query/text/parallel-text.h"
#include "base/workers.h"

#define USEC_PER_SEC 1000000ull
#define NUMBERS_MAX 160 /* numbers and blanks of a sample's first line at their greatest width */

struct writer {
	const struct selection *selection;
	const struct flamescope_options *options;
	/* The names of each tape as text. The first row of a tape makes them. */
	struct tape_text *texts;
	/* The end of each sample's first line: " cpu-clock:\n". */
	struct buffer event;
	uint64_t last_us;
	int moved_us;
	/*
	 * The names in the first bytes would mislead libmagic, so the writer puts padding before
	 * them.
	 */
	bool disguised;
};

static void writer_done(struct writer *writer)
{
	for (size_t i = 0; writer->texts && i < writer->selection->tapes.count; i++)
		tape_text_done(&writer->texts[i]);
	free(writer->texts);
	buffer_done(&writer->event);
}

static const struct tape_sample *row_sample(const struct selection *selection,
					    const struct selection_row *row)
{
	return &selection->tapes.items[row->tape]->samples.items[row->sample];
}

/*
 * Flamescope fails if the last event lies on a full second, or in the last microsecond before one,
 * because it rounds that time up. In the first case the last sample moves 1 us later. In the second
 * case, all samples of the last microsecond move 1 us earlier, so that all stay inside the window
 * and in order.
 */
static void plan_last_time(struct writer *writer)
{
	const struct selection *selection = writer->selection;
	uint64_t rest;

	if (!selection->rows.count)
		return;
	writer->last_us =
		selection->rows.items[selection->rows.count - 1].realtime_ns / NSEC_PER_USEC;
	rest = writer->last_us % USEC_PER_SEC;
	writer->moved_us = rest == 0 ? 1 : rest == USEC_PER_SEC - 1 ? -1 : 0;
}

static uint64_t row_time_us(const struct writer *writer, size_t row)
{
	uint64_t us = writer->selection->rows.items[row].realtime_ns / NSEC_PER_USEC;

	if (writer->moved_us < 0 && us == writer->last_us)
		return us - 1;
	if (writer->moved_us > 0 && row == writer->selection->rows.count - 1)
		return us + 1;
	return us;
}

/* The distance in rows between the current row and the row that prefetch_row() prefetches. */
#define ROWS_AHEAD 4

static void prefetch_row(const struct writer *writer, size_t row, size_t end)
{
	const struct selection_row *ahead = &writer->selection->rows.items[row];

	if (end - row <= ROWS_AHEAD)
		return;
	ahead += ROWS_AHEAD;
	tape_text_prefetch(&writer->texts[ahead->tape], row_sample(writer->selection, ahead));
}

static int want_rows(struct writer *writer)
{
	const struct selection *selection = writer->selection;

	for (size_t i = 0; i < selection->rows.count; i++) {
		const struct selection_row *row = &selection->rows.items[i];
		struct tape_text *text = &writer->texts[row->tape];

		if (!text->tape && tape_text_init(text, selection->tapes.items[row->tape],
						  writer->options->thread_frame) < 0)
			return -ENOMEM;
		prefetch_row(writer, i, selection->rows.count);
		tape_text_want(text, row_sample(selection, row));
	}
	return 0;
}

static int make_text(void *context, unsigned int worker, size_t tape)
{
	const struct writer *writer = context;

	(void)worker;
	return writer->texts[tape].tape ? tape_text_make(&writer->texts[tape]) : 0;
}

static int make_texts(struct writer *writer)
{
	const struct workers workers = {
		.threads = MAX(writer->options->threads, 1u),
		.count = writer->selection->tapes.count,
		.work = make_text,
		.context = writer,
	};

	writer->texts = calloc(MAX(workers.count, (size_t)1), sizeof(*writer->texts));
	if (!writer->texts || want_rows(writer) < 0)
		return -ENOMEM;
	return workers_run(&workers, &(size_t){ 0 });
}

/* Returns whether the bytes that libmagic searches contain a name that would mislead it. */
static bool is_disguised(const struct writer *writer)
{
	const struct selection *selection = writer->selection;
	size_t bytes = 0;

	for (size_t i = 0; i < selection->rows.count && bytes < DISGUISE_BYTES; i++) {
		const struct selection_row *row = &selection->rows.items[i];
		const struct tape_sample *sample = row_sample(selection, row);

		if (disguise_is_needed(&writer->texts[row->tape], sample))
			return true;
		bytes += tape_text_size(&writer->texts[row->tape], sample);
	}
	return false;
}

/* The least size of a sample's numbers and of the empty line that ends it. */
#define NUMBERS_MIN 26
/*
 * The estimate examines one of this number of rows, and subtracts a sixteenth, because it should
 * not exceed the real size.
 */
#define ROWS_PER_ESTIMATE 64

/* Estimates the size of the text of all rows. */
static uint64_t estimate_bytes(const struct writer *writer)
{
	const struct selection *selection = writer->selection;
	uint64_t bytes = selection->rows.count * (NUMBERS_MIN + writer->event.size);

	for (size_t i = 0; i < selection->rows.count; i += ROWS_PER_ESTIMATE) {
		const struct selection_row *row = &selection->rows.items[i];

		bytes += ROWS_PER_ESTIMATE *
			 tape_text_size(&writer->texts[row->tape], row_sample(selection, row));
	}
	return bytes - bytes / 16;
}

/*
 * Counts truncated stacks and work on idle CPUs. Skips the rows if no tape contains either, which
 * is usual.
 */
static void count_rows(const struct writer *writer, struct header *header)
{
	const struct selection *selection = writer->selection;
	bool plain = true;

	for (size_t i = 0; i < selection->tapes.count; i++)
		plain &= tape_text_is_plain(&writer->texts[i]);
	for (size_t i = 0; !plain && i < selection->rows.count; i++) {
		const struct selection_row *row = &selection->rows.items[i];
		const struct tape_sample *sample = row_sample(selection, row);

		header->truncated += tape_text_is_truncated(&writer->texts[row->tape], sample);
		header->idle_irq += tape_text_is_idle_irq(&writer->texts[row->tape], sample);
	}
}

/*
 * Returns how many columns Flamescope draws. Each column is a second: the first one contains the
 * start marker, the last one the last sample.
 */
static uint64_t writer_columns(const struct writer *writer)
{
	const struct window *window = &writer->selection->window;
	size_t count = writer->selection->rows.count;

	if (!count)
		return 0;
	return row_time_us(writer, count - 1) / USEC_PER_SEC - window->from_ns / NSEC_PER_SEC + 1;
}

static void flamescope_put_header(const struct writer *writer, struct output *output)
{
	const struct selection *selection = writer->selection;
	struct header header = {
		.selection = selection,
		.options = writer->options,
		.moved_us = writer->moved_us,
		.disguised = writer->disguised,
		.columns = writer_columns(writer),
	};

	for (size_t i = 0; i < selection->tapes.count; i++)
		header.changed += writer->texts[i].changed;
	count_rows(writer, &header);
	header_put(&header, &output->text);
}

static const uint64_t tens[20] = { 1,
				   10,
				   100,
				   1000,
				   10000,
				   100000,
				   1000000,
				   10000000,
				   100000000,
				   1000000000,
				   10000000000,
				   100000000000,
				   1000000000000,
				   10000000000000,
				   100000000000000,
				   1000000000000000,
				   10000000000000000,
				   100000000000000000,
				   1000000000000000000,
				   10000000000000000000u };

/*
 * Puts a decimal number, padded on the left to `width`, which is at most 20. A longer number takes
 * more columns.
 */
static uint8_t *flamescope_put_number(uint8_t *at, uint64_t value, size_t width, char fill)
{
	uint8_t *end, *digit;

	while (width < 20 && value >= tens[width])
		width++;
	end = digit = at + width;
	do {
		*--digit = '0' + value % 10;
		value /= 10;
	} while (value);
	while (digit > at)
		*--digit = fill;
	return end;
}

/* Puts "[CPU] SECONDS.MICROSECONDS:     PERIOD EVENT:" and the end of the line. */
static void flamescope_put_numbers(const struct writer *writer, uint32_t cpu, uint64_t us,
				   uint64_t period, struct buffer *text)
{
	uint8_t *at = buffer_room(text, NUMBERS_MAX), *start = at;

	if (!at)
		return;
	*at++ = '[';
	at = flamescope_put_number(at, cpu, 3, '0');
	*at++ = ']';
	*at++ = ' ';
	at = flamescope_put_number(at, us / USEC_PER_SEC, us < 1000000000 * USEC_PER_SEC ? 1 : 10,
				   ' ');
	*at++ = '.';
	at = flamescope_put_number(at, us % USEC_PER_SEC, 6, '0');
	*at++ = ':';
	*at++ = ' ';
	at = flamescope_put_number(at, period, 10, ' ');
	text->size += at - start;
	buffer_bytes(text, writer->event.data, writer->event.size);
}

/*
 * Puts an idle sample with period 0 at the window's start. Column 0 is then the window's first
 * second even without a sample in that second. A marker at the end would count as a sample. If the
 * header is left out, blanks before the marker's address keep the first names away from libmagic.
 */
static void put_marker(const struct writer *writer, struct buffer *text)
{
	uint64_t start_us = writer->selection->window.from_ns / NSEC_PER_USEC;
	size_t blanks = writer->disguised && writer->options->no_header ? DISGUISE_BYTES : 15;

	buffer_text(text, "swapper     0/0     ");
	flamescope_put_numbers(writer, 0, MIN(start_us, row_time_us(writer, 0)), 0, text);
	buffer_u8(text, '\t');
	while (blanks--)
		buffer_u8(text, ' ');
	buffer_text(text, "0 cpuidle_enter_state ([kernel.kallsyms])\n\n");
}

/*
 * The number of rows in a piece, about 256 KiB of text. Threads then rarely wait for each other,
 * and a piece stays in the L2 cache.
 */
#define PIECE_ROWS 256

static void make_piece(const void *context, size_t piece, struct buffer *to)
{
	const struct writer *writer = context;
	const struct selection *selection = writer->selection;
	size_t first = piece * PIECE_ROWS, end = MIN(first + PIECE_ROWS, selection->rows.count);

	for (size_t i = first; i < end; i++) {
		const struct selection_row *row = &selection->rows.items[i];
		const struct tape_sample *sample = row_sample(selection, row);
		const struct tape_text *text = &writer->texts[row->tape];

		prefetch_row(writer, i, end);
		tape_text_put_thread(text, sample, to);
		flamescope_put_numbers(writer, sample->cpu, row_time_us(writer, i), sample->period,
				       to);
		tape_text_put_stack(text, sample, to);
		if (!mutated("glue-samples"))
			buffer_u8(to, '\n');
	}
}

static int put_samples(const struct writer *writer, struct output *output)
{
	struct parallel_text text = {
		.make = make_piece,
		.context = writer,
		.count = (writer->selection->rows.count + PIECE_ROWS - 1) / PIECE_ROWS,
		.threads = writer->options->threads,
	};

	return parallel_text_write(&text, output);
}

int flamescope_write(const struct selection *selection, const struct flamescope_options *options,
		     struct output *output)
{
	_cleanup_(writer_done) struct writer writer = { .selection = selection,
							.options = options };
	int r;

	plan_last_time(&writer);
	r = make_texts(&writer);
	if (r < 0)
		return r;
	buffer_u8(&writer.event, ' ');
	header_put_event(selection, &writer.event);
	buffer_text(&writer.event, ":\n");
	writer.disguised = is_disguised(&writer);
	if (!options->no_header)
		flamescope_put_header(&writer, output);
	output_expect(output, estimate_bytes(&writer));
	if (selection->rows.count) {
		put_marker(&writer, &output->text);
		r = put_samples(&writer, output);
	}
	return r < 0 || buffer_failed(&writer.event) || buffer_failed(&output->text) ? -ENOMEM : 0;
}
