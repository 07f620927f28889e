// SPDX-License-Identifier: GPL-2.0-only
#include "cli/episode-table.h"

#include <stdio.h>

#include "base/clock.h"

#define UNKNOWN "-"

static const char *moment_text(
	const struct episode_table *table, const struct moment *moment, char text[TIME_TEXT_SIZE])
{
	uint64_t uptime_us = moment->uptime_ns / NSEC_PER_USEC;

	if (moment->has_time)
		return time_format(
			moment->realtime_ns, option_given(table->invocation, "utc"), 3, text);
	if (!moment->has_uptime)
		return UNKNOWN;
	snprintf(text, TIME_TEXT_SIZE, "[%llu.%06llu]", (unsigned long long)(uptime_us / 1000000),
		(unsigned long long)(uptime_us % 1000000));
	return text;
}

static const char *number_text(bool known, uint64_t number, char text[24])
{
	if (!known)
		return UNKNOWN;
	snprintf(text, 24, "%llu", (unsigned long long)number);
	return text;
}

/* "0000:20:03.0 eth0", or the task where nothing names a device */
static void where_text(const struct episode *episode, char where[112])
{
	bool named = *episode->ifname && strcmp(episode->ifname, episode->device) != 0;

	snprintf(where, 112, "%s%s%s",
		*episode->device ? episode->device
		: *episode->comm ? episode->comm
				 : UNKNOWN,
		named ? " " : "", named ? episode->ifname : "");
}

static void put_head(struct episode_table *table)
{
	buffer_printf(&table->out, "%8s  %-29s  %-6s  %-20s  %-19s  %9s %5s %5s %7s %7s  %s\n",
		table->by_line ? "line" : "id", "time", "weight", "kind", "where", "stall", "cpu",
		"queue", "lines", "resets", table->with_text ? "covered  line" : "covered");
}

static void put_row(
	struct episode_table *table, const struct episode *episode, enum covered covered)
{
	char time[TIME_TEXT_SIZE], stall[32] = UNKNOWN, cpu[24], queue[24], where[112], id[24];
	uint64_t number = table->by_line ? episode->line_number : episode->id;

	if (!table->rows++)
		put_head(table);
	if (episode->stall_ns)
		duration_format(episode->stall_ns, stall, sizeof(stall));
	where_text(episode, where);
	buffer_printf(&table->out, "%8s  %-29s  %-6s  %-20s  %-19s  %9s %5s %5s %7llu %7llu  %s",
		number_text(number != 0, number, id), moment_text(table, &episode->first, time),
		severity_name(episode->kind->severity), episode->kind->name, where, stall,
		number_text(episode->has_cpu, episode->cpu, cpu),
		number_text(episode->has_queue, episode->queue, queue),
		(unsigned long long)episode->incidents, (unsigned long long)episode->resets,
		covered_name(covered));
}

void episode_table_row(
	struct episode_table *table, const struct episode *episode, enum covered covered)
{
	put_row(table, episode, covered);
	buffer_u8(&table->out, '\n');
}

/* A line of the log as it may stand on a terminal. */
static void put_line(struct buffer *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buffer_u8(out, (uint8_t)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i]);
}

void episode_table_incident(
	struct episode_table *table, const struct incident *incident, enum covered covered)
{
	struct episodes alone = { 0 };

	table->with_text = true;
	if (episodes_add(&alone, incident, NULL) < 0) {
		table->out.failed = true;
		return;
	}
	put_row(table, &alone.list.items[0], covered);
	buffer_printf(&table->out, "%*s", 9 - (int)strlen(covered_name(covered)), "");
	put_line(&table->out, incident->line, incident->line_size);
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
