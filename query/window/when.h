/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Moments as people write them. Pure: now is given, the zone is the C library's (TZ).
 *
 *   2026-11-18T03:12:07.25+01:00   2026-11-18T03:12:07Z     RFC 3339, any offset
 *   2026-11-18 03:12[:07[.25]]     03:12[:07[.25]]          local time (UTC with utc); the second
 * form is the latest such moment that is not in the future now   now-10m   10m ago   yesterday
 * 23:00   yesterday   today 07:00
 *   @1762918327.25                                          seconds of the epoch
 *   [12345.678901]                                          the kernel log's stamp: uptime, of a
 * boot that is not said here
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct when {
	uint64_t realtime_ns;
	/* then that is all that is known of it */
	bool is_uptime;
	uint64_t uptime_ns;
	/* a local time that was there twice, the clock being set back: this is the first */
	bool ambiguous;
	/* a local time that was not there, the clock being set forward: this is as if it had not
	 * been */
	bool skipped;
};

/* 0, or -EINVAL with a text that shows the forms; nothing in a year before 1971 or after 2200 is
 * taken. */
int when_parse(const char *text, uint64_t now_ns, bool utc, struct when *ret_when,
	       struct error *error);
