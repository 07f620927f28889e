/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A log entry that consists of named fields: from journald (json, json-pretty, export), CloudWatch,
 * Loki, container runtimes, dmesg --json and anything that pairs a message with a time. JSON
 * arrives in pieces of any number of lines. Nested objects form one entry, which ends when the
 * object with the message closes.
 */

#include "base/bytes.h"
#include "base/json.h"
#include "incidents/logs/log-prefix.h"
#include "incidents/patterns/text-cursor.h"

enum log_record_field {
	LOG_RECORD_MESSAGE,
	LOG_RECORD_REALTIME,
	LOG_RECORD_MONOTONIC,
	LOG_RECORD_SOURCE_MONOTONIC,
	LOG_RECORD_BOOT_ID,
	LOG_RECORD_TRANSPORT,
	LOG_RECORD_FACILITY,
	LOG_RECORD_PRIORITY,
	LOG_RECORD_IDENTIFIER,
	LOG_RECORD_DEVICE,
	/* A shipper's time in any form. */
	LOG_RECORD_TIME,
	LOG_RECORD_FIELDS,
};

struct log_record {
	/* The values of all fields. */
	struct buffer values;
	struct {
		size_t at, size;
		bool given;
	} fields[LOG_RECORD_FIELDS];
	/* Keeps its depth from one piece to the next. */
	struct json_reader reader;
	/* The depth of the object that contains the message, or of one around it. */
	unsigned int message_depth;
	/*
	 * The object with the message is closed and contained no time; the object around it may
	 * contain one.
	 */
	bool lacks_time;
	/* The field to which the next value belongs. */
	enum log_record_field next;
	/* The name in {"field": "@message", "value": ...}. */
	char pair[32];
};

void log_record_done(struct log_record *record);
/* Drops the entry. */
void log_record_clear(struct log_record *record);
/* Stores the value of a field. Ignores unknown names, and all values of a name after the first. */
void log_record_put(struct log_record *record, const char *name, size_t name_size,
		    const char *value, size_t size);
static inline bool log_record_has(const struct log_record *record, enum log_record_field field)
{
	return record->fields[field].given;
}

/*
 * Reads a piece of JSON. Calls give() at the end of each entry with a message, then drops the
 * entry. Returns 0, or -EBADMSG if the text is not JSON; the record is then empty.
 * log_record_json_open() tells whether the entry continues.
 */
int log_record_json(struct log_record *record, const char *text, size_t size,
		    void (*give)(void *context, struct log_record *record), void *context);
static inline bool log_record_json_open(const struct log_record *record)
{
	return record->reader.depth > 0;
}

/*
 * Returns the message without blanks at its end; it may have several lines. Valid until the record
 * changes.
 */
struct text_cursor log_record_message(const struct log_record *record);
/* Returns whether the message is the kernel's, by what the entry says of itself. */
bool log_record_is_kernel(const struct log_record *record);
/*
 * Fills `prefix` from the fields, then from the line of the message itself. `prefix` points into
 * both.
 */
void log_record_read_prefix(const struct log_record *record, struct text_cursor line,
			    struct log_prefix *prefix);
