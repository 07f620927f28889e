// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/incident-json.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

#define LINE_SHOWN_MAX 4096

static void incident_json_put_time(struct buffer *out, uint64_t realtime_ns)
{
	char text[TIME_TEXT_SIZE];

	json_string(out, time_format(realtime_ns, true, 6, text));
}

/*
 * Puts the value of a key. Digits become a number without leading zeros, unless a double cannot
 * represent the number.
 */
static void incident_json_put_value(struct buffer *out, const struct field *field)
{
	const char *digits = field->value + (field->size && *field->value == '-');
	size_t size = field->size - (digits - field->value);
	bool point = memchr(digits, '.', size) != NULL;

	if (!field->number || size > 15) {
		json_text(out, field->value, field->size);
		return;
	}
	while (size > 1 && *digits == '0' && !(point && digits[1] == '.')) {
		digits++;
		size--;
	}
	buffer_bytes(out, "-", *field->value == '-');
	buffer_bytes(out, digits, size);
}

static void incident_json_put_fields(struct buffer *out, const struct fields *fields)
{
	json_open(out, '{');
	for (size_t i = 0; i < fields->count; i++) {
		json_key(out, fields->list[i].name);
		incident_json_put_value(out, &fields->list[i]);
	}
	json_close(out, '}');
}

static void put_stall_start(struct buffer *out, const struct incident *incident)
{
	const struct moment *moment = &incident->moment;
	uint64_t stall_ns = incident->stall_ns;

	if (incident->has_stall && moment->has_time && stall_ns <= moment->realtime_ns) {
		incident_json_put_time(out, moment->realtime_ns - stall_ns);
	} else if (incident->has_stall && moment->has_uptime && stall_ns <= moment->uptime_ns) {
		uint64_t start_us = (moment->uptime_ns - stall_ns) / NSEC_PER_USEC;
		char text[48];

		snprintf(text, sizeof(text), "[%llu.%06llu]",
			 (unsigned long long)(start_us / 1000000),
			 (unsigned long long)(start_us % 1000000));
		json_string(out, text);
	} else {
		json_null(out);
	}
}

static void incident_json_put_moment(struct buffer *out, const struct moment *moment)
{
	json_key(out, "time");
	if (moment->has_time)
		incident_json_put_time(out, moment->realtime_ns);
	else
		json_null(out);
	json_key(out, "time_error_s");
	if (moment->has_time)
		json_nano(out, moment->error_ns);
	else
		json_null(out);
	json_key(out, "uptime");
	if (moment->has_uptime)
		json_nano(out, moment->uptime_ns);
	else
		json_null(out);
}

const char *covered_name(enum covered covered)
{
	static const char *const names[] = { "no", "partly", "yes" };

	return names[covered];
}

void incident_json(const struct incident *incident, const char *source, enum covered covered,
		   struct buffer *out)
{
	size_t line_size = incident->line_size;

	json_open(out, '{');
	json_key(out, "id");
	if (incident->id)
		json_u64(out, incident->id);
	else
		json_null(out);
	json_key(out, "kind");
	json_string(out, incident->kind->name);
	json_key(out, "severity");
	json_string(out, severity_name(incident->kind->severity));
	incident_json_put_moment(out, &incident->moment);
	json_key(out, "boot_id");
	if (*incident->boot_id)
		json_string(out, incident->boot_id);
	else
		json_null(out);
	json_key(out, "stall_start");
	put_stall_start(out, incident);
	json_key(out, "fields");
	incident_json_put_fields(out, &incident->fields);
	if (incident->fields.quoted) {
		json_key(out, "quoted");
		json_bool(out, true);
	}
	if (incident->doubtful) {
		json_key(out, "doubtful");
		json_bool(out, true);
	}
	json_key(out, "line");
	json_text(out, incident->line, line_size < LINE_SHOWN_MAX ? line_size : LINE_SHOWN_MAX);
	json_key(out, "source");
	json_string(out, source);
	json_key(out, "covered");
	if (covered == COVERED_PARTLY)
		json_string(out, "partial");
	else
		json_bool(out, covered == COVERED_WHOLLY);
	json_close(out, '}');
	buffer_u8(out, '\n');
}
