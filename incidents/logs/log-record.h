/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A log entry that comes as fields with names: of journald (json, json-pretty, export), CloudWatch,
 * Loki, container runtimes, dmesg --json and whatever puts a message beside a time. JSON is taken
 * in pieces, a line at a time or more, and objects within others count as one entry with them,
 * until the one that has the message is closed.
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
	/* of a shipper, in any form */
	LOG_RECORD_TIME,
	LOG_RECORD_FIELDS,
};

struct log_record {
	/* all of them, one behind the other */
	struct buffer values;
	struct {
		size_t at, size;
		bool given;
	} fields[LOG_RECORD_FIELDS];
	/* how deep the pieces of JSON are in it */
	struct json_reader reader;
	/* of the object that the message is a member of, or of one around it */
	unsigned int message_depth;
	/* that object was closed, and had no time */
	bool lacks_time;
	/* whose value comes next */
	enum log_record_field next;
	/* of {"field": "@message", "value": ...}: the name */
	char pair[32];
};

void log_record_done(struct log_record *record);
/* Forgets the entry. */
void log_record_clear(struct log_record *record);
/* A name that nothing is known of is not kept. The first value of a name counts. */
void log_record_put(struct log_record *record, const char *name, size_t name_size,
		    const char *value, size_t size);
static inline bool log_record_has(const struct log_record *record, enum log_record_field field)
{
	return record->fields[field].given;
}

/*
 * Takes a piece of JSON. Calls give() at the end of each entry that has a message, and forgets it.
 * 0; -EBADMSG when it is no JSON, and then the record is as new. log_record_json_open() tells
 * whether more belongs to it.
 */
int log_record_json(struct log_record *record, const char *text, size_t size,
		    void (*give)(void *context, struct log_record *record), void *context);
static inline bool log_record_json_open(const struct log_record *record)
{
	return record->reader.depth > 0;
}

/* The message, without blanks at its end; of several lines where it has them. */
struct text_cursor log_record_message(const struct log_record *record);
/* What the fields say about a line of the message, and then what is around it within the line
 * itself. The prefix borrows from both. */
void log_record_read_prefix(const struct log_record *record, struct text_cursor line,
			    struct log_prefix *prefix);
