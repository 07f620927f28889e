/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* An incident as one line of JSON, as commands print it. */

#include "incidents/scanner.h"

/*
 * {"id", "kind", "severity", "time", "time_error_s", "uptime", "boot_id", "stall_start", "fields", "line", "source", "covered"} and a newline.
 * What is not known is null. stall_start is a time like "time" is, or where only the uptime is known that, in brackets.
 */
void incident_json(const struct incident *incident, uint64_t id, const char *source, bool covered,
	struct buffer *out);
