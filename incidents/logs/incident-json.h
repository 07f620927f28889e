/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* An incident as one line of JSON, as commands print it. */

#include "incidents/logs/scanner.h"

/* Whether there are samples of what it tells of, from where the stall began. */
enum covered {
	COVERED_NOT,
	COVERED_PARTLY,
	COVERED_WHOLLY,
};

const char *covered_name(enum covered covered);

/*
 * {"id", "kind", "severity", "time", "time_error_s", "uptime", "boot_id", "stall_start", "fields",
 * "line", "source", "covered"} and a newline. What is not known is null. stall_start is a time like
 * "time" is, or where only the uptime is known that, in brackets.
 */
void incident_json(const struct incident *incident, const char *source, enum covered covered,
		   struct buffer *out);
