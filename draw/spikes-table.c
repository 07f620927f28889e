// SPDX-License-Identifier: GPL-2.0-only
#include "draw/spikes-table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "draw/text.h"

/* The table mentions a difference between gauges and samples from here on. */
#define DIFFERENCE_MIN 0.15

#define THREAD_WIDTH 30
#define FUNCTION_WIDTH 120
#define FUNCTION_MIN 24
#define NAMES_AT 78 /* the column where names begin in a full row */
#define FULL_WIDTH (NAMES_AT + THREAD_WIDTH + 7 + FUNCTION_MIN + 5)
#define NUMBERS_WIDTH 63 /* a row with all numbers, and the time of day as its time */
#define BUSY_WIDTH 47 /* a row without the numbers of interrupts and the machine */
#define INDENT 4
#define SHARE_WIDTH 5 /* " 100%" */
#define WIDTH_MIN 20 /* on a narrower terminal the lines are too long */

struct sheet {
	const struct spikes *spikes;
	const struct terminal *terminal;
	unsigned int width;
	bool utc;
	struct buffer *text;
};

static bool spikes_table_is_full(const struct sheet *sheet)
{
	return !sheet->width || sheet->width >= FULL_WIDTH;
}

static void spikes_table_put_head(const struct sheet *sheet)
{
	if (spikes_table_is_full(sheet))
		buffer_printf(sheet->text,
			      "%-25s  %12s  %4s  %5s  %6s  %5s  %7s    %-*s       %s\n", "time",
			      "duration", "CPU", "busy", "kernel", "irq", "machine", THREAD_WIDTH,
			      "thread", "function");
	else
		buffer_printf(sheet->text, "%-14s  %10s  %4s%s  %6s%s\n", "time", "duration", "CPU",
			      sheet->width >= BUSY_WIDTH ? "   busy" : "", "kernel",
			      sheet->width >= NUMBERS_WIDTH ? "    irq  machine" : "");
}

/* Shortens "2026-11-18T03:12:07+01:00" to "11-18 03:12:07". */
static const char *spikes_table_short_time(char time[TIME_TEXT_SIZE])
{
	time[10] = ' ';
	time[19] = 0;
	return time + 5;
}

static void put_numbers(const struct sheet *sheet, const struct spike *spike)
{
	bool alert = 2 * (spike->kernel + spike->irq) >= spike->busy,
	     full = spikes_table_is_full(sheet);
	char time[TIME_TEXT_SIZE], length[32];
	uint64_t tenths_ns = (spike->length_ns + 50 * NSEC_PER_MSEC) / (100 * NSEC_PER_MSEC) *
			     (100 * NSEC_PER_MSEC);

	time_format(spike->from_ns, sheet->utc, 0, time);
	buffer_printf(sheet->text, full ? "%-25s  %12s  %4u" : "%-14s  %10s  %4u",
		      full ? time : spikes_table_short_time(time),
		      duration_format(tenths_ns, length, sizeof(length)), spike->cpu);
	if (full || sheet->width >= BUSY_WIDTH)
		buffer_printf(sheet->text, "  %4.0f%%", spike->busy * 100);
	buffer_text(sheet->text, "  ");
	terminal_style(sheet->terminal, alert ? STYLE_ALERT : STYLE_PLAIN, sheet->text);
	buffer_printf(sheet->text, "%5.0f%%", spike->kernel * 100);
	terminal_style(sheet->terminal, STYLE_PLAIN, sheet->text);
	if (full || sheet->width >= NUMBERS_WIDTH)
		buffer_printf(sheet->text, "  %4.0f%%  %6.0f%%", spike->irq * 100,
			      spike->machine * 100);
}

/* Puts a thread and shortens only its name. Returns the columns used. */
static unsigned int spikes_table_put_thread(const struct sheet *sheet, const struct spike *spike,
					    unsigned int width)
{
	const struct spike_thread *thread = &sheet->spikes->threads.items[spike->thread];
	unsigned int size, used;
	char ids[32];

	if (!spike->thread) {
		buffer_u8(sheet->text, '-');
		return 1;
	}
	size = snprintf(ids, sizeof(ids), " %d/%d", thread->pid, thread->tid);
	used = text_put_middle(sheet->terminal, strings_at(&sheet->spikes->names, thread->comm),
			       width > size ? width - size : 1, sheet->text);
	buffer_text(sheet->text, ids);
	return used + size;
}

static void spikes_table_put_function(const struct sheet *sheet, const struct spike *spike,
				      unsigned int width)
{
	if (!spike->function) {
		buffer_u8(sheet->text, '-');
		return;
	}
	text_put_middle(sheet->terminal, strings_at(&sheet->spikes->names, spike->function), width,
			sheet->text);
	buffer_printf(sheet->text, " %.0f%%", spike->function_share * 100);
}

static void spikes_table_put_names(const struct sheet *sheet, const struct spike *spike)
{
	char share[16] = "";
	unsigned int used, width = FUNCTION_WIDTH;

	if (spike->thread)
		snprintf(share, sizeof(share), "%.0f%%", spike->thread_share * 100);
	if (sheet->width)
		width = MIN(sheet->width - (NAMES_AT + THREAD_WIDTH + 7 + 5), FUNCTION_WIDTH);
	buffer_text(sheet->text, "    ");
	used = spikes_table_put_thread(sheet, spike, THREAD_WIDTH);
	buffer_printf(sheet->text, "%*s %4s  ",
		      used < THREAD_WIDTH ? (int)(THREAD_WIDTH - used) : 0, "", share);
	spikes_table_put_function(sheet, spike, width);
}

/* Puts thread and function below the row, on one line if they fit. */
static void put_names_below(const struct sheet *sheet, const struct spike *spike)
{
	const char *function = strings_at(&sheet->spikes->names, spike->function);
	unsigned int room = sheet->width - INDENT, used = 0;

	if (!spike->thread && !spike->function)
		return;
	buffer_printf(sheet->text, "%*s", INDENT, "");
	if (spike->thread) {
		used = spikes_table_put_thread(sheet, spike, room - SHARE_WIDTH) + SHARE_WIDTH;
		buffer_printf(sheet->text, " %.0f%%", spike->thread_share * 100);
	}
	if (used && spike->function) {
		bool fits = used + 2 + text_width(sheet->terminal, function) + SHARE_WIDTH <= room;

		buffer_printf(sheet->text, "%s%*s", fits ? "" : "\n", fits ? 2 : INDENT, "");
	}
	if (spike->function)
		spikes_table_put_function(sheet, spike, room - SHARE_WIDTH);
	buffer_u8(sheet->text, '\n');
}

/* Puts the part of the spike that the kernel took for itself. */
static void spikes_table_put_stretch(const struct sheet *sheet, const struct spike *spike,
				     struct buffer *text)
{
	const struct spike_stretch *stretch = &spike->stretch;
	char time[TIME_TEXT_SIZE], length[32];
	uint64_t ns = (stretch->length_ns + 50 * NSEC_PER_MSEC) / (100 * NSEC_PER_MSEC) *
		      (100 * NSEC_PER_MSEC);

	if (!stretch->length_ns)
		return;
	time_format(stretch->from_ns, sheet->utc, 0, time);
	buffer_printf(text, "; %.0f%% in the kernel for %s from %.8s on", stretch->kernel * 100,
		      duration_format(ns, length, sizeof(length)), time + 11);
	if (stretch->function)
		buffer_printf(text, ": %s", strings_at(&sheet->spikes->names, stretch->function));
}

/* Puts what limits the row's samples, and other remarks. */
static void put_remarks(const struct sheet *sheet, const struct spike *spike, struct buffer *text)
{
	double difference = spike->gauges - spike->busy;

	spikes_table_put_stretch(sheet, spike, text);
	if (spike->unseen >= 0.01)
		buffer_printf(text,
			      spike->gauges < 0
				      ? "; sampling timer late for %.0f%% of it"
				      : "; no samples for %.0f%% of it, by the host's gauges",
			      spike->unseen * 100);
	if (spike->gauges >= 0 && (difference > DIFFERENCE_MIN || difference < -DIFFERENCE_MIN))
		buffer_printf(text, "; the host's gauges say %.0f%% busy", spike->gauges * 100);
	if (spike->crowded > 0)
		buffer_printf(text, "; most other CPUs were busy too for %.0f%% of it",
			      spike->crowded * 100);
}

/* Puts the numbers that did not fit into the row. */
static void put_omitted_numbers(const struct sheet *sheet, const struct spike *spike,
				struct buffer *text)
{
	if (spikes_table_is_full(sheet) || sheet->width >= NUMBERS_WIDTH)
		return;
	if (sheet->width < BUSY_WIDTH)
		buffer_printf(text, "; busy %.0f%%", spike->busy * 100);
	buffer_printf(text, "; irq %.0f%%, machine %.0f%%", spike->irq * 100, spike->machine * 100);
}

static void put_indented(const struct sheet *sheet, const char *remarks)
{
	_cleanup_(buffer_done) struct buffer lines = { 0 };
	struct terminal narrow = *sheet->terminal;

	narrow.width = sheet->width - INDENT;
	text_put_lines(&narrow, remarks, &lines);
	buffer_u8(&lines, 0);
	if (buffer_failed(&lines)) {
		sheet->text->failed = true;
		return;
	}
	for (char *at = (char *)lines.data; *at;) {
		size_t size = strcspn(at, "\n");

		buffer_printf(sheet->text, "%*s%.*s\n", INDENT, "", (int)size, at);
		at += size + 1;
	}
}

static void spikes_table_put_row(const struct sheet *sheet, const struct spike *spike)
{
	_cleanup_(buffer_done) struct buffer remarks = { 0 };

	put_omitted_numbers(sheet, spike, &remarks);
	put_remarks(sheet, spike, &remarks);
	buffer_u8(&remarks, 0);
	if (buffer_failed(&remarks)) {
		sheet->text->failed = true;
		return;
	}
	put_numbers(sheet, spike);
	if (spikes_table_is_full(sheet))
		spikes_table_put_names(sheet, spike);
	if (!sheet->width)
		text_put_short(sheet->terminal, (const char *)remarks.data, INT_MAX, sheet->text);
	buffer_u8(sheet->text, '\n');
	if (!spikes_table_is_full(sheet))
		put_names_below(sheet, spike);
	if (sheet->width && remarks.size > 1)
		put_indented(sheet, (const char *)remarks.data + 2);
}

void spikes_table_draw(const struct spikes *spikes, const struct terminal *terminal,
		       unsigned int width, bool utc, struct buffer *text)
{
	const struct sheet sheet = { spikes, terminal, width ? MAX(width, WIDTH_MIN) : 0, utc,
				     text };

	spikes_table_put_head(&sheet);
	for (size_t i = 0; i < spikes->list.count; i++)
		spikes_table_put_row(&sheet, &spikes->list.items[i]);
}
