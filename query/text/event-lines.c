// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "query/read/event-cursor.h"
#include "tape/tape-events.h"

static const struct tape_fact *field_at(const struct event_cursor_row *row, uint32_t i)
{
	return &row->tape->fields.items[row->event->fields.first + i];
}

static const char *key_at(const struct event_cursor_row *row, uint32_t i)
{
	return tape_string(row->tape, field_at(row, i)->key);
}

static const char *event_lines_value_at(const struct event_cursor_row *row, uint32_t i)
{
	return tape_string(row->tape, field_at(row, i)->value);
}

static uint64_t event_lines_number_of(const struct event_cursor_row *row, const char *key)
{
	const char *value = tape_event_field(row->tape, row->event, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

static bool event_lines_is_own(const char *key)
{
	return strcmp(key, TAPE_EVENT_COUNT) == 0 || strcmp(key, TAPE_EVENT_SINCE) == 0;
}

static const char *counted_key(const struct event_cursor_row *row, uint32_t i)
{
	return strcmp(key_at(row, i), TAPE_EVENT_OTHERS) == 0 ? "others" : key_at(row, i);
}

static const struct tape_thread *thread_of(const struct event_cursor_row *row)
{
	const struct tape_thread *thread = &row->tape->threads.items[row->event->thread];

	return thread->pid || thread->tid || thread->comm ? thread : NULL;
}

static void event_lines_put_known(struct buffer *text, const char *key, const char *value)
{
	json_key(text, key);
	if (*value)
		json_string(text, value);
	else
		json_null(text);
}

static void event_lines_put_thread(const struct event_cursor_row *row, struct buffer *text)
{
	const struct tape_thread *thread = thread_of(row);
	char number[FILTER_COMM_SIZE];

	if (!thread)
		return;
	json_key(text, "cpu");
	json_u64(text, row->event->cpu);
	json_key(text, "pid");
	json_i64(text, thread->pid);
	json_key(text, "tid");
	json_i64(text, thread->tid);
	json_key(text, "comm");
	json_string(text, filter_shown_comm(row->tape, thread, number));
	event_lines_put_known(text, "cgroup", tape_string(row->tape, thread->cgroup));
}

static void event_lines_put_count(const struct event_cursor_row *row, struct buffer *text)
{
	char since[TIME_TEXT_SIZE];
	uint64_t since_ns = event_lines_number_of(row, TAPE_EVENT_SINCE);

	json_key(text, "count");
	json_u64(text, event_lines_number_of(row, TAPE_EVENT_COUNT));
	json_key(text, "since");
	json_string(text, time_format(row->realtime_ns - MIN(since_ns, row->realtime_ns), true, 6,
				      since));
	json_key(text, "passed_over");
	json_bool(text, event_cursor_is_overflow(row->tape, row->event));
	json_key(text, "of");
	json_open(text, '{');
	for (uint32_t i = 0; i < row->event->fields.count; i++)
		if (!event_lines_is_own(key_at(row, i))) {
			json_key(text, counted_key(row, i));
			json_u64(text, strtoull(event_lines_value_at(row, i), NULL, 10));
		}
	json_close(text, '}');
}

void event_cursor_put_json(const struct event_cursor_row *row, struct buffer *text)
{
	char time[TIME_TEXT_SIZE];

	json_open(text, '{');
	json_key(text, "time");
	json_string(text, time_format(row->realtime_ns, true, 6, time));
	json_key(text, "event");
	json_string(text, tape_string(row->tape, row->event->name));
	event_lines_put_thread(row, text);
	if (event_cursor_is_count(row->tape, row->event)) {
		event_lines_put_count(row, text);
	} else {
		json_key(text, "fields");
		json_open(text, '{');
		for (uint32_t i = 0; i < row->event->fields.count; i++) {
			json_key(text, key_at(row, i));
			json_string(text, event_lines_value_at(row, i));
		}
		json_close(text, '}');
	}
	json_close(text, '}');
	buffer_u8(text, '\n');
}

/* Puts a word, as a JSON string if it could be misread within a line. */
static void event_lines_put_word(struct buffer *text, const char *word)
{
	bool plain = *word;

	for (const char *at = word; plain && *at; at++)
		plain = *at > ' ' && *at < 0x7f && *at != '"' && *at != '=' && *at != '\\';
	if (plain) {
		buffer_text(text, word);
		return;
	}
	json_quote(text, word);
}

static void event_lines_put_counted(const struct event_cursor_row *row, struct buffer *text)
{
	char length[32];
	const char *before = ": ";

	bool overflow = event_cursor_is_overflow(row->tape, row->event);

	buffer_printf(text, "  %llu%s in %s%s",
		      (unsigned long long)event_lines_number_of(row, TAPE_EVENT_COUNT),
		      overflow ? " more" : "",
		      duration_format(event_lines_number_of(row, TAPE_EVENT_SINCE), length,
				      sizeof(length)),
		      overflow ? ", too many to keep" : "");
	for (uint32_t i = 0; i < row->event->fields.count; i++) {
		if (event_lines_is_own(key_at(row, i)))
			continue;
		buffer_printf(text, "%s%s ", before, event_lines_value_at(row, i));
		event_lines_put_word(text, strcmp(key_at(row, i), TAPE_EVENT_OTHERS) == 0
						   ? "others"
						   : key_at(row, i));
		before = ", ";
	}
}

void event_cursor_put_line(const struct event_cursor_row *row, bool utc, struct buffer *text)
{
	const struct tape_thread *thread = thread_of(row);
	char time[TIME_TEXT_SIZE], number[FILTER_COMM_SIZE];

	buffer_printf(text, "%s  ", time_format(row->realtime_ns, utc, 6, time));
	if (thread) {
		event_lines_put_word(text, filter_shown_comm(row->tape, thread, number));
		buffer_printf(text, " %d  CPU %u  ", thread->pid, row->event->cpu);
	} else {
		buffer_text(text, "-  ");
	}
	event_lines_put_word(text, tape_string(row->tape, row->event->name));
	if (event_cursor_is_count(row->tape, row->event))
		event_lines_put_counted(row, text);
	for (uint32_t i = 0;
	     !event_cursor_is_count(row->tape, row->event) && i < row->event->fields.count; i++) {
		buffer_text(text, i ? " " : "  ");
		event_lines_put_word(text, key_at(row, i));
		buffer_u8(text, '=');
		event_lines_put_word(text, event_lines_value_at(row, i));
	}
	buffer_u8(text, '\n');
}

void event_cursor_put_totals_json(const struct event_cursor_totals *totals, struct buffer *text)
{
	json_open(text, '{');
	json_key(text, "events");
	json_open(text, '{');
	json_key(text, "shown");
	json_u64(text, totals->count);
	json_key(text, "lost");
	json_u64(text, totals->lost);
	json_key(text, "passed_over");
	json_u64(text, totals->only_counted);
	json_key(text, "of");
	json_open(text, '{');
	for (uint32_t i = 0; i < totals->overflows.count; i++) {
		const struct event_cursor_overflow *overflow = &totals->overflows.items[i];

		if (!overflow->count)
			continue;
		json_key(text, strings_at(&totals->overflow_names, i));
		json_open(text, '{');
		json_key(text, "count");
		json_u64(text, overflow->count);
		json_time(text, "from", overflow->from_ns);
		json_time(text, "to", overflow->to_ns);
		json_close(text, '}');
	}
	json_close(text, '}');
	json_close(text, '}');
	json_close(text, '}');
	buffer_u8(text, '\n');
}

void event_cursor_describe_overflow(const struct event_cursor_totals *totals, uint32_t number,
				    bool utc, struct buffer *text)
{
	const struct event_cursor_overflow *overflow = &totals->overflows.items[number];
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	buffer_printf(text, "%llu of ", (unsigned long long)overflow->count);
	event_lines_put_word(text, strings_at(&totals->overflow_names, number));
	buffer_printf(text, ", %s to %s", time_format(overflow->from_ns, utc, 3, from),
		      time_format(overflow->to_ns, utc, 3, to));
}
