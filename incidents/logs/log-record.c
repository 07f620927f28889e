// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/log-record.h"

#include <ctype.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define LOKI "[" /* as the name of a pair: it is an array of a time and a line */

static const struct {
	const char *name;
	enum record_field field;
} names[] = {
	{ "MESSAGE", RECORD_MESSAGE },
	{ "message", RECORD_MESSAGE },
	{ "@message", RECORD_MESSAGE },
	{ "Message", RECORD_MESSAGE },
	{ "msg", RECORD_MESSAGE },
	{ "log", RECORD_MESSAGE },
	{ "line", RECORD_MESSAGE },
	{ "short_message", RECORD_MESSAGE },
	{ "textPayload", RECORD_MESSAGE },
	{ "_raw", RECORD_MESSAGE },
	{ "SyslogMessage", RECORD_MESSAGE },
	{ "Output", RECORD_MESSAGE },
	{ "__REALTIME_TIMESTAMP", RECORD_REALTIME },
	{ "__MONOTONIC_TIMESTAMP", RECORD_MONOTONIC },
	{ "_SOURCE_MONOTONIC_TIMESTAMP", RECORD_SOURCE_MONOTONIC },
	{ "_SOURCE_BOOTTIME_TIMESTAMP", RECORD_SOURCE_MONOTONIC },
	{ "_BOOT_ID", RECORD_BOOT_ID },
	{ "_TRANSPORT", RECORD_TRANSPORT },
	{ "SYSLOG_FACILITY", RECORD_FACILITY },
	{ "PRIORITY", RECORD_PRIORITY },
	{ "pri", RECORD_PRIORITY },
	{ "SYSLOG_IDENTIFIER", RECORD_IDENTIFIER },
	{ "_KERNEL_DEVICE", RECORD_DEVICE },
	{ "timestamp", RECORD_TIME },
	{ "@timestamp", RECORD_TIME },
	{ "time", RECORD_TIME },
	{ "ts", RECORD_TIME },
	{ "date", RECORD_TIME },
	{ "_time", RECORD_TIME },
	{ "TimeGenerated", RECORD_TIME },
	{ "lastTimestamp", RECORD_TIME },
};

static enum record_field field_of(const char *name, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i].name) == size && !memcmp(names[i].name, name, size))
			return names[i].field;
	return RECORD_FIELDS;
}

void record_done(struct record *record)
{
	buffer_done(&record->values);
}

void record_clear(struct record *record)
{
	record->values.size = 0;
	memset(record->fields, 0, sizeof(record->fields));
	record->next = RECORD_FIELDS;
	record->waits = false;
	*record->pair = 0;
}

/* The value is what stands in `values` from `at` on. */
static void keep(struct record *record, enum record_field field, size_t at)
{
	if (field == RECORD_FIELDS || record->fields[field].given || buffer_failed(&record->values))
		return;
	record->fields[field].at = at;
	record->fields[field].size = record->values.size - at;
	record->fields[field].given = true;
}

void record_put(
	struct record *record, const char *name, size_t name_size, const char *value, size_t size)
{
	size_t at = record->values.size;

	buffer_bytes(&record->values, value, size);
	keep(record, field_of(name, name_size), at);
}

static void take_key(struct record *record, const struct json_token *token)
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

static bool in_array(const struct record *record)
{
	return record->reader.depth && record->reader.arrays >> (record->reader.depth - 1) & 1;
}

/* How many more brackets than its entry's are around a message: of its several values, or of its {"field": ..., "value": ...}. */
static unsigned int within(const struct record *record)
{
	return (in_array(record) && strcmp(record->pair, LOKI) != 0) ||
	       (!in_array(record) && *record->pair);
}

static void take_value(struct record *record, const struct json_token *token)
{
	bool null = token->type == JSON_OTHER && json_is(token, "null");
	size_t at = record->values.size;

	if (!strcmp(record->pair, "?")) {
		size_t size = MIN(token->size, sizeof(record->pair) - 1);

		memcpy(record->pair, token->text, size);
		record->pair[size] = 0;
		return;
	}
	if (null || record->next == RECORD_FIELDS)
		return;
	if (token->type == JSON_STRING)
		json_unescape(token, &record->values);
	else
		buffer_bytes(&record->values, token->text, token->size);
	if (record->next == RECORD_MESSAGE && !record_has(record, RECORD_MESSAGE))
		record->message_depth = record->reader.depth - within(record);
	keep(record, record->next, at);
	record->next = RECORD_FIELDS;
}

static bool all_digits(const struct json_token *token)
{
	struct taker taker = { token->text, token->text + token->size };
	uint64_t value;

	return take_number(&taker, 1, 19, &value) && taker.at == taker.end;
}

static uint8_t byte_of(const struct json_token *token)
{
	struct taker taker = { token->text, token->text + token->size };
	uint64_t value;

	return take_number(&taker, 1, 3, &value) ? value : 0;
}

/*
 * A value in an array: a byte of a journal's message that is not text, or one of a field's several values, or, where no name waits
 * for it, one of Loki's ["1741765269341207000", "line"].
 */
static void take_element(struct record *record, const struct json_token *token)
{
	if (record->next == RECORD_MESSAGE && token->type == JSON_OTHER &&
		!(record_has(record, RECORD_MESSAGE) &&
			record->fields[RECORD_MESSAGE].at + record->fields[RECORD_MESSAGE].size !=
				record->values.size)) {
		if (!record_has(record, RECORD_MESSAGE)) {
			keep(record, RECORD_MESSAGE, record->values.size);
			record->message_depth = record->reader.depth - 1;
		}
		buffer_u8(&record->values, byte_of(token));
		record->fields[RECORD_MESSAGE].size++;
	} else if (record->next != RECORD_FIELDS) {
		take_value(record, token);
	} else if (token->type == JSON_STRING && token->size == 19 && all_digits(token)) {
		record_clear(record);
		record->next = RECORD_TIME;
		take_value(record, token);
		record->next = RECORD_MESSAGE;
		strcpy(record->pair, LOKI);
	}
}

static bool has_time(const struct record *record)
{
	return record_has(record, RECORD_TIME) || record_has(record, RECORD_REALTIME) ||
	       record_has(record, RECORD_SOURCE_MONOTONIC);
}

static void take_token(struct record *record, const struct json_token *token,
	void (*give)(void *context, struct record *record), void *context)
{
	switch (token->type) {
	case JSON_KEY:
		take_key(record, token);
		break;
	case JSON_STRING:
	case JSON_OTHER:
		if (record->waits && record->next == RECORD_MESSAGE) {
			give(context, record);
			record_clear(record);
			record->next = RECORD_MESSAGE;
		}
		if (in_array(record))
			take_element(record, token);
		else
			take_value(record, token);
		break;
	case JSON_OPEN:
		if (*token->text == '{')
			record->next = RECORD_FIELDS;
		break;
	case JSON_CLOSE:
		if (*token->text == ']')
			record->next = RECORD_FIELDS;
		if (!record_has(record, RECORD_MESSAGE) ||
			record->reader.depth >= record->message_depth)
			break;
		if (record->reader.depth && !in_array(record) && !has_time(record)) {
			/* the object around may say when */
			record->message_depth = record->reader.depth;
			record->waits = true;
			break;
		}
		give(context, record);
		record_clear(record);
	}
}

int record_json(struct record *record, const char *text, size_t size,
	void (*give)(void *context, struct record *record), void *context)
{
	struct json_token token;
	int r;

	record->reader.at = text;
	record->reader.end = text + size;
	if (!record->reader.depth)
		record_clear(record);
	while ((r = json_next(&record->reader, &token)) == 1)
		take_token(record, &token, give, context);
	if (r < 0) {
		/* what was cut off has its message perhaps */
		if (record_has(record, RECORD_MESSAGE))
			give(context, record);
		record_clear(record);
		record->reader = (struct json_reader){ 0 };
	}
	return r;
}

static const char *value_of(const struct record *record, enum record_field field, size_t *ret_size)
{
	*ret_size = record->fields[field].size;
	return record->fields[field].given
		       ? (const char *)record->values.data + record->fields[field].at
		       : NULL;
}

static bool number_of(const struct record *record, enum record_field field, uint64_t *ret_number)
{
	size_t size;
	const char *value = value_of(record, field, &size);
	struct taker taker = { value, value + size };

	return value && take_number(&taker, 1, 16, ret_number) && taker.at == taker.end;
}

static bool is_value(const struct record *record, enum record_field field, const char *text)
{
	size_t size;
	const char *value = value_of(record, field, &size);

	return value && size == strlen(text) && !memcmp(value, text, size);
}

static void set_text(const struct record *record, enum record_field field, char *text, size_t room)
{
	size_t size;
	const char *value = value_of(record, field, &size);

	if (value && size < room) {
		memcpy(text, value, size);
		text[size] = 0;
	}
}

/* Of the journal: when the kernel said it, by how long journald took to take it. */
static void set_journal_times(const struct record *record, struct heading *heading)
{
	struct stamp stamp = { .epoch = true, .resolution_ns = NSEC_PER_USEC };
	uint64_t realtime, monotonic, source;
	bool has_monotonic = number_of(record, RECORD_MONOTONIC, &monotonic);
	bool has_source = number_of(record, RECORD_SOURCE_MONOTONIC, &source);
	enum wall_quality quality = WALL_DATED;

	if (has_source || has_monotonic) {
		heading->uptime_quality = has_source ? UPTIME_PRINTK : UPTIME_RECEIVED;
		heading->uptime_ns = (has_source ? source : monotonic) * NSEC_PER_USEC;
	}
	if (!number_of(record, RECORD_REALTIME, &realtime) || realtime > UINT64_MAX / 2000)
		return;
	if (has_source && has_monotonic && monotonic >= source && monotonic - source < realtime) {
		realtime -= monotonic - source;
		quality = WALL_JOURNAL;
	}
	stamp.realtime_ns = realtime * NSEC_PER_USEC;
	heading_offer_wall(heading, &stamp, quality);
}

/* A time in any form: a stamp, a number since the epoch, or of dmesg --json a small one, which is the uptime. */
static void set_time(const struct record *record, struct heading *heading)
{
	size_t size;
	const char *value = value_of(record, RECORD_TIME, &size);
	struct taker taker = { value, value + size };
	struct stamp stamp;
	uint64_t seconds, unit;
	uint32_t fraction;

	if (!value)
		return;
	if (stamp_from_number(value, size, &stamp) || (stamp_take(&taker, &stamp) && stamp.year)) {
		heading_offer_wall(heading, &stamp, WALL_SHIPPER);
	} else if (record_has(record, RECORD_PRIORITY) && take_number(&taker, 1, 9, &seconds) &&
		   take_char(&taker, '.') && take_fraction(&taker, &fraction, &unit)) {
		heading->uptime_quality = UPTIME_PRINTK;
		heading->uptime_ns = seconds * NSEC_PER_SEC + fraction;
	}
}

static void set_writer(const struct record *record, struct heading *heading)
{
	size_t size;
	const char *identifier = value_of(record, RECORD_IDENTIFIER, &size);
	bool kernel = is_value(record, RECORD_IDENTIFIER, "kernel");
	uint64_t number;

	if (number_of(record, RECORD_FACILITY, &number))
		heading->facility = MIN(number, 1000ull);
	if (number_of(record, RECORD_PRIORITY, &number))
		heading->level = number & 7;
	if (identifier) {
		heading->writer = identifier;
		heading->writer_size = size;
	} else if (is_value(record, RECORD_TRANSPORT, "kernel")) {
		heading->writer = "kernel";
		heading->writer_size = 6;
		kernel = true;
	}
	/* only journald itself says how an entry came to it */
	heading->forged = kernel && ((record_has(record, RECORD_TRANSPORT) &&
					     !is_value(record, RECORD_TRANSPORT, "kernel")) ||
					    heading->facility > 0);
}

struct taker record_message(const struct record *record)
{
	size_t size;
	const char *message = value_of(record, RECORD_MESSAGE, &size);

	while (size && isspace((unsigned char)message[size - 1]))
		size--;
	return message ? (struct taker){ message, message + size } : (struct taker){ "", "" };
}

void record_heading(const struct record *record, struct taker line, struct heading *heading)
{
	char device[sizeof(heading->device) + 5] = "";

	set_journal_times(record, heading);
	set_time(record, heading);
	set_writer(record, heading);
	set_text(record, RECORD_BOOT_ID, heading->boot_id, sizeof(heading->boot_id));
	set_text(record, RECORD_DEVICE, device, sizeof(device));
	if (!strncmp(device, "+pci:", 5))
		strcpy(heading->device, device + 5);
	heading_read(heading, line.at, taker_left(&line));
}
