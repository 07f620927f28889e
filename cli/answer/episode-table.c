// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/episode-table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/answer/screen.h"
#include "draw/terminal.h"

#define UNKNOWN "-"
#define FULL_WIDTH 138 /* of a row with all columns */
#define NARROW_WIDTH 66 /* of the others, but for where */

static const char *moment_text(const struct episode_table *table, const struct moment *moment,
			       char text[TIME_TEXT_SIZE])
{
	uint64_t uptime_us = moment->uptime_ns / NSEC_PER_USEC;

	if (moment->has_time)
		return time_format(moment->realtime_ns, option_given(table->invocation, "utc"), 3,
				   text);
	if (!moment->has_uptime)
		return UNKNOWN;
	snprintf(text, TIME_TEXT_SIZE, "[%llu.%06llu]", (unsigned long long)(uptime_us / 1000000),
		 (unsigned long long)(uptime_us % 1000000));
	return text;
}

static void number_text(bool known, uint64_t number, char text[24])
{
	if (known)
		snprintf(text, 24, "%llu", (unsigned long long)number);
	else
		strcpy(text, UNKNOWN);
}

/* "0000:20:03.0 eth0", or the task where nothing names a device */
/* As it may stand on a terminal: a process's name, and a mark, may be anything. */
static char episode_table_legible(char byte)
{
	return (uint8_t)byte < 0x20 || byte == 0x7f ? '?' : byte;
}

static void where_text(const struct episode *episode, char where[112])
{
	bool named = *episode->ifname && strcmp(episode->ifname, episode->device) != 0;

	snprintf(where, 112, "%s%s%s",
		 *episode->device ? episode->device
		 : *episode->comm ? episode->comm
				  : UNKNOWN,
		 named ? " " : "", named ? episode->ifname : "");
	for (; *where; where++)
		*where = episode_table_legible(*where);
}

struct cells {
	char time[TIME_TEXT_SIZE], stall[32], cpu[24], queue[24], where[112], id[24];
};

static unsigned int width_of_output(void)
{
	struct terminal terminal;

	terminal_read(&terminal, STDOUT_FILENO, TERMINAL_COLOR_NEVER);
	return screen_width(&terminal);
}

static bool is_narrow(const struct episode_table *table)
{
	return table->width && table->width < FULL_WIDTH;
}

/* How wide the column is that takes what is left. */
static int where_width(const struct episode_table *table)
{
	return table->width > NARROW_WIDTH + 12 ? (int)table->width - NARROW_WIDTH : 12;
}

static void episode_table_put_head(struct episode_table *table)
{
	const char *first = table->by_line ? "line" : "id";
	const char *last = table->with_text ? "covered  line" : "covered";

	table->width = width_of_output();
	if (is_narrow(table))
		buffer_printf(&table->out, "%5s  %-14s  %-20s  %-*s  %6s %4s %s\n", first, "time",
			      "kind", where_width(table), "where", "stall", "cpu", last);
	else
		buffer_printf(&table->out,
			      "%8s  %-29s  %-6s  %-20s  %-19s  %9s %5s %5s %7s %7s  %s\n", first,
			      "time", "weight", "kind", "where", "stall", "cpu", "queue", "lines",
			      "resets", last);
}

/* "2025-03-12T07:41:09.123Z" as "03-12 07:41:09"; an uptime as it is. */
static const char *episode_table_short_time(char time[TIME_TEXT_SIZE])
{
	if (strlen(time) < 19 || time[10] != 'T')
		return time;
	time[10] = ' ';
	time[19] = 0;
	return time + 5;
}

/* What does not fit is left out from a blank on: the device is more than its interface. */
static void fit_where(char *where, int width)
{
	if ((int)strlen(where) <= width)
		return;
	for (int i = width; i > 0; i--)
		if (where[i] == ' ') {
			where[i] = 0;
			return;
		}
}

static void put_narrow(struct episode_table *table, const struct episode *episode,
		       struct cells *cells, const char *time, enum covered covered)
{
	int width = where_width(table);

	fit_where(cells->where, width);
	buffer_printf(&table->out, "%5s  %-14s  %-20s  %-*.*s  %6s %4s %s", cells->id,
		      time == cells->time ? episode_table_short_time(cells->time) : time,
		      episode->kind->name, width, width, cells->where, cells->stall, cells->cpu,
		      covered_name(covered));
}

static void episode_table_put_row(struct episode_table *table, const struct episode *episode,
				  enum covered covered)
{
	uint64_t number = table->by_line ? episode->line_number : episode->id;
	struct cells cells = { .stall = UNKNOWN };
	const char *time;

	if (!table->rows++)
		episode_table_put_head(table);
	if (episode->stall_ns)
		duration_format(episode->stall_ns, cells.stall, sizeof(cells.stall));
	where_text(episode, cells.where);
	number_text(number != 0, number, cells.id);
	number_text(episode->has_cpu, episode->cpu, cells.cpu);
	number_text(episode->has_queue, episode->queue, cells.queue);
	time = moment_text(table, &episode->first, cells.time);
	if (is_narrow(table)) {
		put_narrow(table, episode, &cells, time, covered);
		return;
	}
	buffer_printf(&table->out, "%8s  %-29s  %-6s  %-20s  %-19s  %9s %5s %5s %7llu %7llu  %s",
		      cells.id, time, severity_name(episode->kind->severity), episode->kind->name,
		      cells.where, cells.stall, cells.cpu, cells.queue,
		      (unsigned long long)episode->incidents, (unsigned long long)episode->resets,
		      covered_name(covered));
}

void episode_table_row(struct episode_table *table, const struct episode *episode,
		       enum covered covered)
{
	episode_table_put_row(table, episode, covered);
	buffer_u8(&table->out, '\n');
}

static void episode_table_put_line(struct buffer *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buffer_u8(out, episode_table_legible(text[i]));
}

void episode_table_incident(struct episode_table *table, const struct incident *incident,
			    enum covered covered)
{
	struct episodes alone = { 0 };

	table->with_text = true;
	if (episodes_add(&alone, incident, NULL) < 0) {
		table->out.failed = true;
		return;
	}
	episode_table_put_row(table, &alone.list.items[0], covered);
	buffer_printf(&table->out, "%*s", 9 - (int)strlen(covered_name(covered)), "");
	episode_table_put_line(&table->out, incident->line, incident->line_size);
	buffer_u8(&table->out, '\n');
	episodes_done(&alone);
}

int episode_table_end(struct episode_table *table)
{
	bool failed = buffer_failed(&table->out);

	if (table->out.size)
		fwrite(table->out.data, 1, table->out.size, stdout);
	buffer_done(&table->out);
	return failed ? -ENOMEM : 0;
}
