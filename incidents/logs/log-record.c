// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/log-record.h"

#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define LOKI "[" /* name of the pair for an array of a time and a line */

static const struct {
	const char *name;
	enum log_record_field field;
} names[] = {
	{ "MESSAGE", LOG_RECORD_MESSAGE },
	{ "message", LOG_RECORD_MESSAGE },
	{ "@message", LOG_RECORD_MESSAGE },
	{ "Message", LOG_RECORD_MESSAGE },
	{ "msg", LOG_RECORD_MESSAGE },
	{ "log", LOG_RECORD_MESSAGE },
	{ "line", LOG_RECORD_MESSAGE },
	{ "short_message", LOG_RECORD_MESSAGE },
	{ "textPayload", LOG_RECORD_MESSAGE },
	{ "_raw", LOG_RECORD_MESSAGE },
	{ "SyslogMessage", LOG_RECORD_MESSAGE },
	{ "Output", LOG_RECORD_MESSAGE },
	{ "__REALTIME_TIMESTAMP", LOG_RECORD_REALTIME },
	{ "__MONOTONIC_TIMESTAMP", LOG_RECORD_MONOTONIC },
	{ "_SOURCE_MONOTONIC_TIMESTAMP", LOG_RECORD_SOURCE_MONOTONIC },
	{ "_SOURCE_BOOTTIME_TIMESTAMP", LOG_RECORD_SOURCE_MONOTONIC },
	{ "_BOOT_ID", LOG_RECORD_BOOT_ID },
	{ "_TRANSPORT", LOG_RECORD_TRANSPORT },
	{ "SYSLOG_FACILITY", LOG_RECORD_FACILITY },
	{ "PRIORITY", LOG_RECORD_PRIORITY },
	{ "pri", LOG_RECORD_PRIORITY },
	{ "SYSLOG_IDENTIFIER", LOG_RECORD_IDENTIFIER },
	{ "_KERNEL_DEVICE", LOG_RECORD_DEVICE },
	{ "timestamp", LOG_RECORD_TIME },
	{ "@timestamp", LOG_RECORD_TIME },
	{ "time", LOG_RECORD_TIME },
	{ "ts", LOG_RECORD_TIME },
	{ "date", LOG_RECORD_TIME },
	{ "_time", LOG_RECORD_TIME },
	{ "TimeGenerated", LOG_RECORD_TIME },
	{ "lastTimestamp", LOG_RECORD_TIME },
};

static enum log_record_field field_of(const char *name, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i].name) == size && !memcmp(names[i].name, name, size))
			return names[i].field;
	return LOG_RECORD_FIELDS;
}

void log_record_done(struct log_record *record)
{
	buffer_done(&record->values);
}

void log_record_clear(struct log_record *record)
{
	record->values.size = 0;
	memset(record->fields, 0, sizeof(record->fields));
	record->next = LOG_RECORD_FIELDS;
	record->lacks_time = false;
	*record->pair = 0;
}

/* Stores the value of a field. The value is the part of `values` from `at` on. */
static void log_record_keep(struct log_record *record, enum log_record_field field, size_t at)
{
	if (field == LOG_RECORD_FIELDS || record->fields[field].given ||
	    buffer_failed(&record->values))
		return;
	record->fields[field].at = at;
	record->fields[field].size = record->values.size - at;
	record->fields[field].given = true;
}

void log_record_put(struct log_record *record, const char *name, size_t name_size,
		    const char *value, size_t size)
{
	size_t at = record->values.size;

	buffer_bytes(&record->values, value, size);
	log_record_keep(record, field_of(name, name_size), at);
}

static void take_key(struct log_record *record, const struct json_token *token)
{
	if (json_is(token, "value") && *record->pair)
		record->next = field_of(record->pair, strlen(record->pair));
	else
		record->next = field_of(token->text, token->size);
	if (json_is(token, "field"))
		strcpy(record->pair, "?");
	else if (!json_is(token, "value"))
		*record->pair = 0;
}

static bool in_array(const struct log_record *record)
{
	return record->reader.depth && record->reader.arrays >> (record->reader.depth - 1) & 1;
}

/*
 * Returns the number of brackets around the message within its entry. The number is 1 for a message
 * that is one of several values, or that comes as {"field": ..., "value": ...}.
 */
static unsigned int brackets_around_message(const struct log_record *record)
{
	return (in_array(record) && strcmp(record->pair, LOKI) != 0) ||
	       (!in_array(record) && *record->pair);
}

static void log_record_take_value(struct log_record *record, const struct json_token *token)
{
	bool null = token->type == JSON_OTHER && json_is(token, "null");
	size_t at = record->values.size;

	if (!strcmp(record->pair, "?")) {
		size_t size = MIN(token->size, sizeof(record->pair) - 1);

		memcpy(record->pair, token->text, size);
		record->pair[size] = 0;
		return;
	}
	if (null || record->next == LOG_RECORD_FIELDS)
		return;
	if (token->type == JSON_STRING)
		json_unescape(token, &record->values);
	else
		buffer_bytes(&record->values, token->text, token->size);
	if (record->next == LOG_RECORD_MESSAGE && !log_record_has(record, LOG_RECORD_MESSAGE))
		record->message_depth = record->reader.depth - brackets_around_message(record);
	log_record_keep(record, record->next, at);
	record->next = LOG_RECORD_FIELDS;
}

static bool all_digits(const struct json_token *token)
{
	struct text_cursor cursor = { token->text, token->text + token->size };
	uint64_t value;

	return take_number(&cursor, 1, 19, &value) && cursor.at == cursor.end;
}

static uint8_t byte_of(const struct json_token *token)
{
	struct text_cursor cursor = { token->text, token->text + token->size };
	uint64_t value;

	return take_number(&cursor, 1, 3, &value) ? value : 0;
}

/*
 * Takes a value in an array: a byte of a journal's binary message, or one of a field's several
 * values. If no name precedes the value, it may be one of Loki's ["1741765269341207000", "line"].
 */
static void take_element(struct log_record *record, const struct json_token *token)
{
	if (record->next == LOG_RECORD_MESSAGE && token->type == JSON_OTHER &&
	    !(log_record_has(record, LOG_RECORD_MESSAGE) &&
	      record->fields[LOG_RECORD_MESSAGE].at + record->fields[LOG_RECORD_MESSAGE].size !=
		      record->values.size)) {
		if (!log_record_has(record, LOG_RECORD_MESSAGE)) {
			log_record_keep(record, LOG_RECORD_MESSAGE, record->values.size);
			record->message_depth = record->reader.depth - 1;
		}
		buffer_u8(&record->values, byte_of(token));
		record->fields[LOG_RECORD_MESSAGE].size++;
	} else if (record->next != LOG_RECORD_FIELDS) {
		log_record_take_value(record, token);
	} else if (token->type == JSON_STRING && token->size == 19 && all_digits(token)) {
		log_record_clear(record);
		record->next = LOG_RECORD_TIME;
		log_record_take_value(record, token);
		record->next = LOG_RECORD_MESSAGE;
		strcpy(record->pair, LOKI);
	}
}

static bool has_time(const struct log_record *record)
{
	return log_record_has(record, LOG_RECORD_TIME) ||
	       log_record_has(record, LOG_RECORD_REALTIME) ||
	       log_record_has(record, LOG_RECORD_SOURCE_MONOTONIC);
}

static void take_token(struct log_record *record, const struct json_token *token,
		       void (*give)(void *context, struct log_record *record), void *context)
{
	switch (token->type) {
	case JSON_KEY:
		take_key(record, token);
		break;
	case JSON_STRING:
	case JSON_OTHER:
		if (record->lacks_time && record->next == LOG_RECORD_MESSAGE) {
			give(context, record);
			log_record_clear(record);
			record->next = LOG_RECORD_MESSAGE;
		}
		if (in_array(record))
			take_element(record, token);
		else
			log_record_take_value(record, token);
		break;
	case JSON_OPEN:
		if (*token->text == '{')
			record->next = LOG_RECORD_FIELDS;
		break;
	case JSON_CLOSE:
		if (*token->text == ']')
			record->next = LOG_RECORD_FIELDS;
		if (!log_record_has(record, LOG_RECORD_MESSAGE) ||
		    record->reader.depth >= record->message_depth)
			break;
		if (record->reader.depth && !in_array(record) && !has_time(record)) {
			/* the object around this one may contain the time */
			record->message_depth = record->reader.depth;
			record->lacks_time = true;
			break;
		}
		give(context, record);
		log_record_clear(record);
	}
}

int log_record_json(struct log_record *record, const char *text, size_t size,
		    void (*give)(void *context, struct log_record *record), void *context)
{
	struct json_token token;
	int r;

	record->reader.at = text;
	record->reader.end = text + size;
	if (!record->reader.depth)
		log_record_clear(record);
	while ((r = json_next(&record->reader, &token)) == 1)
		take_token(record, &token, give, context);
	if (r < 0) {
		/* a truncated entry may already contain its message */
		if (log_record_has(record, LOG_RECORD_MESSAGE))
			give(context, record);
		log_record_clear(record);
		record->reader = (struct json_reader){ 0 };
	}
	return r;
}

static const char *value_of(const struct log_record *record, enum log_record_field field,
			    size_t *ret_size)
{
	*ret_size = record->fields[field].size;
	return record->fields[field].given
		       ? (const char *)record->values.data + record->fields[field].at
		       : NULL;
}

static bool log_record_number_of(const struct log_record *record, enum log_record_field field,
				 uint64_t *ret_number)
{
	size_t size;
	const char *value = value_of(record, field, &size);
	struct text_cursor cursor;

	if (!value)
		return false;
	cursor = (struct text_cursor){ value, value + size };
	return take_number(&cursor, 1, 16, ret_number) && cursor.at == cursor.end;
}

static bool is_value(const struct log_record *record, enum log_record_field field, const char *text)
{
	size_t size;
	const char *value = value_of(record, field, &size);

	return value && size == strlen(text) && !memcmp(value, text, size);
}

static void log_record_set_text(const struct log_record *record, enum log_record_field field,
				char *text, size_t room)
{
	size_t size;
	const char *value = value_of(record, field, &size);

	if (value && size < room) {
		memcpy(text, value, size);
		text[size] = 0;
	}
}

/*
 * Sets the journal's times. Subtracts the time until journald received the line, so that the result
 * is the time when the kernel wrote the line.
 */
static void set_journal_times(const struct log_record *record, struct log_prefix *prefix)
{
	struct stamp stamp = { .epoch = true, .resolution_ns = NSEC_PER_USEC };
	uint64_t realtime, monotonic, source;
	bool has_monotonic = log_record_number_of(record, LOG_RECORD_MONOTONIC, &monotonic);
	bool has_source = log_record_number_of(record, LOG_RECORD_SOURCE_MONOTONIC, &source);
	enum wall_quality quality = WALL_DATED;

	if (has_source || has_monotonic) {
		prefix->uptime_quality = has_source ? UPTIME_PRINTK : UPTIME_RECEIVED;
		prefix->uptime_ns = (has_source ? source : monotonic) * NSEC_PER_USEC;
	}
	if (!log_record_number_of(record, LOG_RECORD_REALTIME, &realtime) ||
	    realtime > UINT64_MAX / 2000)
		return;
	if (has_source && has_monotonic && monotonic >= source && monotonic - source < realtime) {
		realtime -= monotonic - source;
		quality = WALL_JOURNAL;
	}
	stamp.realtime_ns = realtime * NSEC_PER_USEC;
	log_prefix_offer_wall(prefix, &stamp, quality);
}

/*
 * Sets a time in any form: a stamp, a number since the epoch, or a small number, which is the
 * uptime in dmesg --json.
 */
static void set_time(const struct log_record *record, struct log_prefix *prefix)
{
	size_t size;
	const char *value = value_of(record, LOG_RECORD_TIME, &size);
	struct text_cursor cursor;
	struct stamp stamp;
	uint64_t seconds, unit;
	uint32_t fraction;

	if (!value)
		return;
	cursor = (struct text_cursor){ value, value + size };
	if (stamp_from_number(value, size, &stamp) || (stamp_take(&cursor, &stamp) && stamp.year)) {
		log_prefix_offer_wall(prefix, &stamp, WALL_SHIPPER);
	} else if (log_record_has(record, LOG_RECORD_PRIORITY) &&
		   take_number(&cursor, 1, 9, &seconds) && take_char(&cursor, '.') &&
		   take_fraction(&cursor, &fraction, &unit)) {
		prefix->uptime_quality = UPTIME_PRINTK;
		prefix->uptime_ns = seconds * NSEC_PER_SEC + fraction;
	}
}

static void log_record_set_writer(const struct log_record *record, struct log_prefix *prefix)
{
	size_t size;
	const char *identifier = value_of(record, LOG_RECORD_IDENTIFIER, &size);
	bool kernel = is_value(record, LOG_RECORD_IDENTIFIER, "kernel");
	uint64_t number;

	if (log_record_number_of(record, LOG_RECORD_FACILITY, &number))
		prefix->facility = MIN(number, 1000ull);
	if (log_record_number_of(record, LOG_RECORD_PRIORITY, &number))
		prefix->level = number & 7;
	if (identifier) {
		prefix->writer = identifier;
		prefix->writer_size = size;
	} else if (is_value(record, LOG_RECORD_TRANSPORT, "kernel")) {
		prefix->writer = "kernel";
		prefix->writer_size = 6;
		kernel = true;
	}
	/* journald itself sets the transport, so users cannot forge it */
	prefix->forged = kernel && ((log_record_has(record, LOG_RECORD_TRANSPORT) &&
				     !is_value(record, LOG_RECORD_TRANSPORT, "kernel")) ||
				    prefix->facility > 0);
}

struct text_cursor log_record_message(const struct log_record *record)
{
	size_t size;
	const char *message = value_of(record, LOG_RECORD_MESSAGE, &size);

	while (size && isspace((unsigned char)message[size - 1]))
		size--;
	return message ? (struct text_cursor){ message, message + size }
		       : (struct text_cursor){ "", "" };
}

bool log_record_is_kernel(const struct log_record *record)
{
	if (is_value(record, LOG_RECORD_TRANSPORT, "kernel") ||
	    is_value(record, LOG_RECORD_IDENTIFIER, "kernel"))
		return true;
	/* dmesg --json names no writer */
	return log_record_has(record, LOG_RECORD_PRIORITY) &&
	       !log_record_has(record, LOG_RECORD_TRANSPORT) &&
	       !log_record_has(record, LOG_RECORD_IDENTIFIER);
}

void log_record_read_prefix(const struct log_record *record, struct text_cursor line,
			    struct log_prefix *prefix)
{
	char device[sizeof(prefix->device) + 5] = "";

	set_journal_times(record, prefix);
	set_time(record, prefix);
	log_record_set_writer(record, prefix);
	log_record_set_text(record, LOG_RECORD_BOOT_ID, prefix->boot_id, sizeof(prefix->boot_id));
	log_record_set_text(record, LOG_RECORD_DEVICE, device, sizeof(device));
	if (!strncmp(device, "+pci:", 5))
		strcpy(prefix->device, device + 5);
	log_prefix_read(prefix, line.at, text_cursor_left(&line));
}
