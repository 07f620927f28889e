/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A log entry that comes as fields with names: of journald (json, json-pretty, export), CloudWatch, Loki, container runtimes, dmesg --json and
 * whatever puts a message beside a time. JSON is taken in pieces, a line at a time or more, and objects within others count as one entry with
 * them, until the one that has the message is closed.
 */

#include "base/bytes.h"
#include "base/json.h"
#include "incidents/logs/log-prefix.h"
#include "incidents/patterns/text-cursor.h"

enum record_field {
	RECORD_MESSAGE,
	RECORD_REALTIME,
	RECORD_MONOTONIC,
	RECORD_SOURCE_MONOTONIC,
	RECORD_BOOT_ID,
	RECORD_TRANSPORT,
	RECORD_FACILITY,
	RECORD_PRIORITY,
	RECORD_IDENTIFIER,
	RECORD_DEVICE,
	RECORD_TIME, /* of a shipper, in any form */
	RECORD_FIELDS,
};

struct record {
	struct buffer values; /* all of them, one behind the other */
	struct {
		size_t at, size;
		bool given;
	} fields[RECORD_FIELDS];
	struct json_reader reader; /* how deep the pieces of JSON are in it */
	unsigned int
		message_depth; /* of the object that the message is a member of, or of one around it */
	bool waits; /* that object was closed, and had no time */
	enum record_field next; /* whose value comes next */
	char pair[32]; /* of {"field": "@message", "value": ...}: the name */
};

void record_done(struct record *record);
/* Forgets the entry. */
void record_clear(struct record *record);
/* A name that nothing is known of is not kept. The first value of a name counts. */
void record_put(
	struct record *record, const char *name, size_t name_size, const char *value, size_t size);
static inline bool record_has(const struct record *record, enum record_field field)
{
	return record->fields[field].given;
}

/*
 * Takes a piece of JSON. Calls give() at the end of each entry that has a message, and forgets it. 0; -EBADMSG when it is no JSON, and
 * then the record is as new. record_json_open() tells whether more belongs to it.
 */
int record_json(struct record *record, const char *text, size_t size,
	void (*give)(void *context, struct record *record), void *context);
static inline bool record_json_open(const struct record *record)
{
	return record->reader.depth > 0;
}

/* The message, without blanks at its end; of several lines where it has them. */
struct taker record_message(const struct record *record);
/* What the fields say about a line of the message, and then what is around it within the line itself. The heading borrows from both. */
void record_heading(const struct record *record, struct taker line, struct heading *heading);
