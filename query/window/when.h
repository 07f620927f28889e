/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Parses moments as people write and paste them. The caller supplies "now"; the time zone is that
 * of the C library (TZ).
 *
 *   2026-11-18T03:12:07.25+01:00   2026-11-18T03:12:07Z     RFC 3339, any offset
 *   2026-11-18 03:12[:07[.25]]     3:12[:07[.25]]           local time, or UTC if `utc` is set
 *   03:12:07Z   12:24:49 UTC   3:12 PM   3pm                a zone or a half of the day behind it
 *   Nov 19, 2026 12:24:49 PM UTC   Thu Nov 19 12:24:49 UTC 2026   Nov 19 12:24
 *   Thu, 19 Nov 2026 12:24:49 +0000   19/Nov/2026:12:24:49 +0000  RFC 2822, web servers
 *   yesterday   yesterday 23:00   03:12 yesterday   today 07:00   Monday 07:00
 *   now   now-10m   now+1h   -20m   10m ago
 *   @1762918327.25                                          seconds since the epoch
 *   [12345.678901]                                          uptime, as in the kernel log
 *
 * Each may follow "around" or "at". A time without a date, or without a year, is its latest
 * occurrence that is not in the future. An uptime does not name its boot. An abbreviation of a zone
 * that does not name one offset everywhere (base/zone-names.h) is an error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct when {
	uint64_t realtime_ns;
	/* the text is an uptime: only uptime_ns is set */
	bool is_uptime;
	uint64_t uptime_ns;
	/*
	 * the local time occurred twice because the clock was set back; the result is the first one
	 */
	bool ambiguous;
	/*
	 * the local time did not occur because the clock was set forward; the result assumes that
	 * the clock was not set
	 */
	bool skipped;
	/* a time of day without a date */
	bool is_time_of_day;
	/* the smallest unit that the text contains: a minute, a second, or a fraction of one */
	uint64_t unit_ns;
	/* where in the text when_find() found the time */
	size_t begin, size;
};

/*
 * Returns 0, or -EINVAL with a message that shows some forms. Years before 1971 and after 2200 are
 * errors.
 */
int when_parse(const char *text, uint64_t now_ns, bool utc, struct when *ret_when,
	       struct error *error);
/*
 * Finds the first time of day in a text, such as a line of a log, with the date and the zone beside
 * it. Finds the kernel's stamp instead if the stamp begins the text, or if the text has no time of
 * day. Returns 1 if it finds a time, 0 if not, or -EINVAL with a message. -EINVAL: the zone or the
 * order of the date's numbers is not clear, or a number is impossible.
 */
int when_find(const char *text, uint64_t now_ns, bool utc, struct when *ret_when,
	      struct error *error);
