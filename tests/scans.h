/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Scans a text for incidents, and keeps the findings in a form that tests can compare. */

#include <stdlib.h>

#include "base/clock.h"
#include "incidents/logs/scanner.h"
#include "tests/check.h"

/* 2026-01-02T00:00:00Z: the end of the tests' logs, unless a test sets another */
#define SCAN_END_NS 1767312000000000000ull

struct found {
	char kind[64];
	/* " qid=5 napi_us=6596000 " */
	char fields[2048];
	/* the time in UTC with six digits, or "" */
	char time[TIME_TEXT_SIZE];
	char device[64];
	uint64_t realtime_ns, uptime_ns, stall_ns, error_ns;
	bool has_uptime, has_stall, quoted, doubtful;
	uint32_t boot;
	uint64_t line_number;
	char boot_id[33];
};

struct found_list {
	array_of(struct found) list;
	struct scan_summary summary;
};

static inline const struct catalogue *scan_catalogue(void)
{
	static struct catalogue *catalogue;
	struct error error = { 0 };

	if (!catalogue && catalogue_new(NULL, &catalogue, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return catalogue;
}

static inline void scan_keep(void *context, const struct incident *incident)
{
	struct found_list *found = context;
	struct found one = {
		.realtime_ns = incident->moment.has_time ? incident->moment.realtime_ns : 0,
		.uptime_ns = incident->moment.uptime_ns,
		.has_uptime = incident->moment.has_uptime,
		.error_ns = incident->moment.error_ns,
		.has_stall = incident->has_stall,
		.quoted = incident->fields.quoted,
		.doubtful = incident->doubtful,
		.stall_ns = incident->stall_ns,
		.boot = incident->boot,
		.line_number = incident->line_number,
	};
	size_t used = 1;

	snprintf(one.kind, sizeof(one.kind), "%s", incident->kind->name);
	snprintf(one.device, sizeof(one.device), "%s", incident->device);
	snprintf(one.boot_id, sizeof(one.boot_id), "%s", incident->boot_id);
	if (incident->moment.has_time)
		time_format(incident->moment.realtime_ns, true, 6, one.time);
	one.fields[0] = ' ';
	for (size_t i = 0; i < incident->fields.count; i++) {
		const struct field *field = &incident->fields.list[i];

		used += snprintf(one.fields + used, sizeof(one.fields) - used, "%s=%.*s ",
				 field->name, (int)field->size, field->value);
		CHECK(used < sizeof(one.fields));
	}
	CHECK_EQ(array_push(&found->list, one), 0);
}

/* Scans the text in pieces of `piece` bytes. */
static inline void scan_pieces(const char *text, size_t size, size_t piece,
			       const struct log_clock_options *clock, bool trust,
			       struct found_list *found)
{
	_cleanup_(cleanup_scanner) struct scanner *scanner = NULL;
	struct scanner_options options = {
		.catalogue = scan_catalogue(),
		.clock = *clock,
		.trust_users = trust,
		.give = scan_keep,
		.context = found,
	};

	CHECK_EQ(scanner_new(&options, &scanner), 0);
	scanner_span(scanner, text, size, text, size);
	for (size_t at = 0; at < size; at += piece)
		CHECK_EQ(scanner_feed(scanner, text + at, MIN(piece, size - at)), 0);
	CHECK_EQ(scanner_finish(scanner, &found->summary), 0);
}

static inline void scan(const char *text, struct found_list *found)
{
	struct log_clock_options clock = { .end_ns = SCAN_END_NS, .utc = true };

	scan_pieces(text, strlen(text), 1 << 20, &clock, false, found);
}

static inline void found_done(struct found_list *found)
{
	array_done(&found->list);
}
