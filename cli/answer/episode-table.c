// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/episode-table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "cli/answer/screen.h"
#include "cli/options/print.h"

#define UNKNOWN "-"
#define WHERE_MIN 12
#define KIND_MIN 12

enum { FIRST, TIME, WEIGHT, KIND, WHERE, STALL, CPU, QUEUE, LINES, RESETS, COVERED, COLUMNS };

static const struct columns_column episode_columns[] = {
	[FIRST] = { "id", .right = true },
	[TIME] = { "time", .yield = COLUMNS_SHORTENS, .turn = 1 },
	[WEIGHT] = { "severity", .yield = COLUMNS_LEAVES, .turn = 5, .styled = true },
	[KIND] = { "kind", .yield = COLUMNS_SHRINKS, .turn = 7, .least = KIND_MIN, .styled = true },
	[WHERE] = { "where", .yield = COLUMNS_SHRINKS, .turn = 6, .least = WHERE_MIN },
	[STALL] = { "stall", .right = true },
	[CPU] = { "cpu", .right = true, .yield = COLUMNS_LEAVES, .turn = 8 },
	[QUEUE] = { "queue", .right = true, .yield = COLUMNS_LEAVES, .turn = 4 },
	[LINES] = { "lines", .right = true, .yield = COLUMNS_LEAVES, .turn = 3 },
	[RESETS] = { "resets", .right = true, .yield = COLUMNS_LEAVES, .turn = 2 },
	[COVERED] = { "covered", .yield = COLUMNS_LEAVES, .turn = 9 },
};

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

static const char *number_text(bool known, uint64_t number, char text[32])
{
	if (!known)
		return UNKNOWN;
	snprintf(text, 32, "%llu", (unsigned long long)number);
	return text;
}

/* Puts "0000:20:03.0 eth0", or the task if no device is known. */
static void where_text(const struct episode *episode, char where[112])
{
	bool named = *episode->ifname && strcmp(episode->ifname, episode->device) != 0;

	snprintf(where, 112, "%s%s%s",
		 *episode->device ? episode->device
		 : *episode->comm ? episode->comm
				  : UNKNOWN,
		 named ? " " : "", named ? episode->ifname : "");
	foreign_clean(where);
}

/*
 * Returns the style of a severity. The kind has this colour, too, because a narrow table lacks the
 * column of severities.
 */
static enum terminal_style severity_style(enum severity severity)
{
	return severity >= SEVERITY_ERR	   ? STYLE_ALERT
	       : severity == SEVERITY_WARN ? STYLE_WARNING
					   : STYLE_PLAIN;
}

static void episode_table_init(struct episode_table *table)
{
	memcpy(table->list, episode_columns, sizeof(episode_columns));
	if (table->by_line)
		table->list[FIRST].title = "line";
	table->columns.list = table->list;
	table->columns.count = COLUMNS;
	table->columns.remark_title = table->with_text ? "line" : NULL;
}

static void episode_table_add(struct episode_table *table, const struct episode *episode,
			      enum covered covered, const char *remark)
{
	uint64_t number = table->by_line ? episode->line_number : episode->id;
	char time[TIME_TEXT_SIZE], brief[TIME_TEXT_SIZE], where[112], text[32];
	struct columns *columns = &table->columns;
	const char *shown = moment_text(table, &episode->first, time);

	if (!columns->rows)
		episode_table_init(table);
	columns_add(columns, "%s", number_text(number != 0, number, text));
	columns_add_brief(columns, shown, screen_short_time(shown, false, brief));
	columns_add(columns, "%s", severity_name(episode->kind->severity));
	columns_add(columns, "%s%s", episode->kind->name,
		    episode->quoted	? " (quoted)"
		    : episode->doubtful ? " (doubtful)"
					: "");
	where_text(episode, where);
	columns_add(columns, "%s", where);
	columns_add(columns, "%s",
		    episode->stall_ns ? duration_format(episode->stall_ns, text, sizeof(text))
				      : UNKNOWN);
	columns_add(columns, "%s", number_text(episode->has_cpu, episode->cpu, text));
	columns_add(columns, "%s", number_text(episode->has_queue, episode->queue, text));
	columns_add(columns, "%llu", (unsigned long long)episode->incidents);
	columns_add(columns, "%llu", (unsigned long long)episode->resets);
	columns_add(columns, "%s", covered_name(covered));
	columns_end_row(columns, remark);
	columns_style_row(columns, severity_style(episode->kind->severity));
}

void episode_table_row(struct episode_table *table, const struct episode *episode,
		       enum covered covered)
{
	episode_table_add(table, episode, covered, NULL);
}

void episode_table_incident(struct episode_table *table, const struct incident *incident,
			    enum covered covered)
{
	_cleanup_free_ char *line = strndup(incident->line, incident->line_size);
	struct episodes alone = { 0 };

	table->with_text = true;
	if (!line || episodes_add(&alone, incident, NULL) < 0)
		table->columns.texts.failed = true;
	else
		episode_table_add(table, &alone.list.items[0], covered, line);
	episodes_done(&alone);
}

size_t episode_table_rows(const struct episode_table *table)
{
	return table->columns.rows;
}

int episode_table_end(struct episode_table *table)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct terminal terminal;

	screen_read_lines(table->invocation, &terminal);
	buffer_bytes(&out, table->head.data, table->head.size);
	out.failed |= table->head.failed;
	buffer_done(&table->head);
	columns_put(&table->columns, &terminal, &out);
	columns_done(&table->columns);
	if (buffer_failed(&out))
		return -ENOMEM;
	print_text(stdout, &out, terminal.color);
	/* write the table before the messages about it */
	fflush(stdout);
	return 0;
}
