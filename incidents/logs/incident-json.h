/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Writes an incident as one line of JSON, as commands print it. */

#include "incidents/logs/scanner.h"

/* Whether samples cover the time from the start of the stall to the line. */
enum covered {
	COVERED_NOT,
	COVERED_PARTLY,
	COVERED_WHOLLY,
};

const char *covered_name(enum covered covered);

/*
 * Appends {"id", "kind", "severity", "time", "time_error_s", "uptime", "boot_id", "stall_start",
 * "fields", "line", "source", "covered"} and a newline. Unknown values are null. stall_start is a
 * wall clock time; if only the uptime is known, it is the uptime in brackets.
 */
void incident_json(const struct incident *incident, const char *source, enum covered covered,
		   struct buffer *out);
