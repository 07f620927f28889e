// SPDX-License-Identifier: GPL-2.0-only
#include "draw/spikes-table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/number.h"
#include "draw/lines.h"
#include "draw/text.h"

/* The table mentions a difference between gauges and samples that is at least this large. */
#define DIFFERENCE_MIN 0.15

#define THREAD_WIDTH 30
#define FUNCTION_WIDTH 120
#define FUNCTION_MIN 24
#define INCIDENT_WIDTH 20
/* The column where names begin in a full row without incidents. */
#define NAMES_AT 85
/* "  100.0 %", a share behind a name. */
#define SHARE_WIDTH 9
/* A row with all numbers, and the time of day as its time. */
#define NUMBERS_WIDTH 67
/* A row without the numbers of interrupts and the machine. */
#define BUSY_WIDTH 49
#define INDENT 4
/* The smallest width that the table uses. On a narrower terminal, the lines are too long. */
#define WIDTH_MIN 20

struct sheet {
	const struct spikes_table *table;
	const struct spikes *spikes;
	const struct terminal *terminal;
	unsigned int width;
	/* At least one spike has an incident. */
	bool incidents;
	struct buffer *text;
};

/* Returns the column where names begin in a full row. */
static unsigned int names_at(const struct sheet *sheet)
{
	return NAMES_AT + (sheet->incidents ? 2 + INCIDENT_WIDTH : 0);
}

static bool spikes_table_is_full(const struct sheet *sheet)
{
	return !sheet->width || sheet->width >= names_at(sheet) + THREAD_WIDTH + SHARE_WIDTH + 2 +
							FUNCTION_MIN + SHARE_WIDTH;
}

static void spikes_table_put_head(const struct sheet *sheet)
{
	terminal_style(sheet->terminal, STYLE_BOLD, sheet->text);
	if (spikes_table_is_full(sheet)) {
		buffer_printf(sheet->text, "%-25s  %12s  %4s  %7s  %7s  %7s  %7s", "time",
			      "duration", "CPU", "busy", "kernel", "irq", "machine");
		if (sheet->incidents)
			buffer_printf(sheet->text, "  %-*s", INCIDENT_WIDTH, "incident");
		buffer_printf(sheet->text, "  %-*s  its function", THREAD_WIDTH + SHARE_WIDTH,
			      "busiest thread");
	} else {
		buffer_printf(sheet->text, "%-14s  %9s  %4s%s  %7s%s", "time", "duration", "CPU",
			      sheet->width >= BUSY_WIDTH ? "     busy" : "", "kernel",
			      sheet->width >= NUMBERS_WIDTH ? "      irq  machine" : "");
	}
	terminal_style(sheet->terminal, STYLE_PLAIN, sheet->text);
	buffer_u8(sheet->text, '\n');
}

/* Shortens "2026-11-18T03:12:07+01:00" to "11-18 03:12:07". */
static const char *spikes_table_short_time(char time[TIME_TEXT_SIZE])
{
	time[10] = ' ';
	time[19] = 0;
	return time + 5;
}

static void put_cell(const struct sheet *sheet, double share)
{
	char shown[SHARE_TEXT_SIZE];

	buffer_printf(sheet->text, "%5s %%", share_cell(share, shown));
}

static void put_numbers(const struct sheet *sheet, const struct spike *spike)
{
	bool alert = 2 * (spike->kernel + spike->irq) >= spike->busy,
	     full = spikes_table_is_full(sheet);
	char time[TIME_TEXT_SIZE], length[32];
	uint64_t tenths_ns = (spike->length_ns + 50 * NSEC_PER_MSEC) / (100 * NSEC_PER_MSEC) *
			     (100 * NSEC_PER_MSEC);

	time_format(spike->from_ns, sheet->table->utc, 0, time);
	buffer_printf(sheet->text, full ? "%-25s  %12s  %4u  " : "%-14s  %9s  %4u  ",
		      full ? time : spikes_table_short_time(time),
		      duration_format(tenths_ns, length, sizeof(length)), spike->cpu);
	if (full || sheet->width >= BUSY_WIDTH) {
		put_cell(sheet, spike->busy);
		buffer_text(sheet->text, "  ");
	}
	terminal_style(sheet->terminal, alert ? STYLE_ALERT : STYLE_PLAIN, sheet->text);
	put_cell(sheet, spike->kernel);
	terminal_style(sheet->terminal, STYLE_PLAIN, sheet->text);
	if (!full && sheet->width < NUMBERS_WIDTH)
		return;
	buffer_text(sheet->text, "  ");
	put_cell(sheet, spike->irq);
	buffer_text(sheet->text, "  ");
	put_cell(sheet, spike->machine);
}

/*
 * Puts "kubelet 1240/1262", or "gzip, 311 threads". Shortens only the name. Returns the number of
 * columns.
 */
static unsigned int spikes_table_put_thread(const struct sheet *sheet, const struct spike *spike,
					    unsigned int width)
{
	const struct spike_leader *leader = &spike->leader;
	unsigned int size, used;
	char ids[32];

	if (!leader->comm) {
		buffer_u8(sheet->text, '-');
		return 1;
	}
	if (leader->threads > 1)
		size = snprintf(ids, sizeof(ids), ", %llu threads",
				(unsigned long long)leader->threads);
	else
		size = snprintf(ids, sizeof(ids), " %d/%d", leader->pid, leader->tid);
	used = text_put_middle(sheet->terminal, strings_at(&sheet->spikes->names, leader->comm),
			       width > size ? width - size : 1, sheet->text);
	buffer_text(sheet->text, ids);
	return used + size;
}

static void put_share(const struct sheet *sheet, double share)
{
	char shown[SHARE_TEXT_SIZE];

	buffer_printf(sheet->text, " %s", share_format(share, shown));
}

static void spikes_table_put_function(const struct sheet *sheet, const struct spike *spike,
				      unsigned int width)
{
	if (!spike->leader.function) {
		buffer_u8(sheet->text, '-');
		return;
	}
	text_put_middle(sheet->terminal, strings_at(&sheet->spikes->names, spike->leader.function),
			width, sheet->text);
	put_share(sheet, spike->leader.function_share);
}

static const char *spikes_table_incident(const struct sheet *sheet, const struct spike *spike)
{
	return sheet->incidents ? sheet->table->incidents[spike - sheet->spikes->list.items] : NULL;
}

static void spikes_table_put_names(const struct sheet *sheet, const struct spike *spike)
{
	const char *incident = spikes_table_incident(sheet, spike);
	char share[SHARE_TEXT_SIZE] = "", cell[SHARE_TEXT_SIZE];
	unsigned int used, width = FUNCTION_WIDTH;

	if (spike->leader.comm)
		snprintf(share, sizeof(share), "%s %%", share_cell(spike->leader.share, cell));
	if (sheet->width)
		width = MIN(sheet->width - (names_at(sheet) + THREAD_WIDTH + SHARE_WIDTH + 2 +
					    SHARE_WIDTH),
			    FUNCTION_WIDTH);
	if (sheet->incidents) {
		buffer_text(sheet->text, "  ");
		used = text_put_middle(sheet->terminal, incident ? incident : "-", INCIDENT_WIDTH,
				       sheet->text);
		buffer_printf(sheet->text, "%*s", (int)(INCIDENT_WIDTH - used), "");
	}
	buffer_text(sheet->text, "  ");
	used = spikes_table_put_thread(sheet, spike, THREAD_WIDTH);
	buffer_printf(sheet->text, "%*s  %7s  ",
		      used < THREAD_WIDTH ? (int)(THREAD_WIDTH - used) : 0, "", share);
	spikes_table_put_function(sheet, spike, width);
}

/* Puts the thread and the function below the row, on one line if they fit. */
static void put_names_below(const struct sheet *sheet, const struct spike *spike)
{
	const struct spike_leader *leader = &spike->leader;
	const char *function = strings_at(&sheet->spikes->names, leader->function);
	unsigned int room = sheet->width - INDENT, used;
	bool fits;

	if (!leader->comm)
		return;
	buffer_printf(sheet->text, "%*s", INDENT, "");
	used = spikes_table_put_thread(sheet, spike, room - SHARE_WIDTH) + SHARE_WIDTH;
	put_share(sheet, leader->share);
	if (leader->function) {
		fits = used + 4 + text_width(sheet->terminal, function) + SHARE_WIDTH <= room;
		buffer_printf(sheet->text, fits ? "  in " : "\n%*sin ", INDENT, "");
		spikes_table_put_function(sheet, spike, room - SHARE_WIDTH - 3);
	}
	buffer_u8(sheet->text, '\n');
}

/*
 * Puts ": kubelet in mem_cgroup_iter". Puts the two names apart if the function may belong to
 * another thread.
 */
static void put_stretch_names(const struct sheet *sheet, const struct spike_stretch *stretch,
			      struct buffer *text)
{
	const char *comm = spike_stretch_comm(sheet->spikes, stretch);
	const char *function = strings_at(&sheet->spikes->names, stretch->function);

	if (stretch->is_pair)
		buffer_printf(text, ": %s in %s", comm, function);
	else if (stretch->function)
		buffer_printf(text, ": %s", function);
	if (comm && !stretch->is_pair)
		buffer_printf(text, ", busiest %s", comm);
}

/* Puts the stretch of the spike that was almost entirely in the kernel. */
static void spikes_table_put_stretch(const struct sheet *sheet, const struct spike *spike,
				     struct buffer *text)
{
	const struct spike_stretch *stretch = &spike->stretch;
	char time[TIME_TEXT_SIZE], length[32], shown[SHARE_TEXT_SIZE];
	uint64_t ns = (stretch->length_ns + 50 * NSEC_PER_MSEC) / (100 * NSEC_PER_MSEC) *
		      (100 * NSEC_PER_MSEC);

	if (!stretch->length_ns)
		return;
	time_format(stretch->from_ns, sheet->table->utc, 0, time);
	buffer_printf(text, "; %s in the kernel for %s from %.8s on",
		      share_format(stretch->kernel, shown),
		      duration_format(ns, length, sizeof(length)), time + 11);
	put_stretch_names(sheet, stretch, text);
}

/*
 * Puts the function that had most of the CPU's time, over all threads. Used if the function of the
 * busiest thread is unknown.
 */
static void put_hottest(const struct sheet *sheet, const struct spike *spike, struct buffer *text)
{
	char shown[SHARE_TEXT_SIZE];

	if (spike->function && !spike->leader.function)
		buffer_printf(text, "; of all threads %s in %s",
			      share_format(spike->function_share, shown),
			      strings_at(&sheet->spikes->names, spike->function));
}

/* Puts remarks, such as why the row's samples may be too few. */
static void put_remarks(const struct sheet *sheet, const struct spike *spike, struct buffer *text)
{
	const char *incident = spikes_table_incident(sheet, spike);
	double difference = spike->gauges - spike->busy;
	char shown[SHARE_TEXT_SIZE], part[32];

	spikes_table_put_stretch(sheet, spike, text);
	if (incident && !spikes_table_is_full(sheet))
		buffer_printf(text, "; incident %s", incident);
	put_hottest(sheet, spike, text);
	if (spike->leader.part_ns)
		buffer_printf(text, "; thread and function are those of %s of it",
			      duration_format(spike->leader.part_ns, part, sizeof(part)));
	if (spike->unseen >= 0.01)
		buffer_printf(text,
			      spike->gauges < 0 ? "; sampling timer late for %s of it"
						: "; no samples for %s of it, by the host's gauges",
			      share_format(spike->unseen, shown));
	if (spike->gauges >= 0 && (difference > DIFFERENCE_MIN || difference < -DIFFERENCE_MIN))
		buffer_printf(text, "; the host's gauges say %s busy",
			      share_format(spike->gauges, shown));
	if (spike->crowded > 0)
		buffer_printf(text, "; most other CPUs were busy too for %s of it",
			      share_format(spike->crowded, shown));
}

/* Puts the numbers that did not fit into the row. */
static void put_omitted_numbers(const struct sheet *sheet, const struct spike *spike,
				struct buffer *text)
{
	char irq[SHARE_TEXT_SIZE], machine[SHARE_TEXT_SIZE];

	if (spikes_table_is_full(sheet) || sheet->width >= NUMBERS_WIDTH)
		return;
	if (sheet->width < BUSY_WIDTH)
		buffer_printf(text, "; busy %s", share_format(spike->busy, irq));
	buffer_printf(text, "; irq %s, machine %s", share_format(spike->irq, irq),
		      share_format(spike->machine, machine));
}

/* Puts remarks, which may have names that contain newlines. */
static void put_indented(const struct sheet *sheet, const char *remarks)
{
	_cleanup_(buffer_done) struct buffer line = { 0 };

	foreign_put(&line, remarks, strlen(remarks));
	buffer_printf(sheet->text, "%*s", INDENT, "");
	lines_put(sheet->terminal, (struct lines_shape){ INDENT, INDENT, false },
		  buffer_shown(&line), sheet->text);
	sheet->text->failed |= line.failed;
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
	if (spike->reason)
		put_indented(sheet, strings_at(&sheet->spikes->names, spike->reason));
}

static bool has_incidents(const struct spikes_table *table)
{
	for (size_t i = 0; table->incidents && i < table->spikes->list.count; i++)
		if (table->incidents[i])
			return true;
	return false;
}

void spikes_table_draw(const struct spikes_table *table, const struct terminal *terminal,
		       struct buffer *text)
{
	const struct sheet sheet = { .table = table,
				     .spikes = table->spikes,
				     .terminal = terminal,
				     .width = terminal->wrap ? MAX(terminal->wrap, WIDTH_MIN) : 0,
				     .incidents = has_incidents(table),
				     .text = text };

	spikes_table_put_head(&sheet);
	for (size_t i = 0; i < table->spikes->list.count; i++)
		spikes_table_put_row(&sheet, &table->spikes->list.items[i]);
}
