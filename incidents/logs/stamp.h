/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Wall clock stamps at the left edge of log lines, in all the forms that loggers write. A stamp
 * contains what the logger wrote; log-clock finds the year and the zone that the stamp lacks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/zone-names.h"
#include "incidents/patterns/text-cursor.h"

struct stamp {
	/* 0: unknown. */
	int year;
	int month, day, hour, minute, second;
	uint32_t fraction_ns;
	/* The stamp states its zone; offset_s is east of UTC. */
	bool zoned;
	int offset_s;
	/* The stamp names a zone that is not clear, such as "PST"; or "". */
	char unclear[ZONE_NAME_MAX + 1];
	/* realtime_ns contains the whole stamp. */
	bool epoch;
	uint64_t realtime_ns;
	uint64_t resolution_ns;
	/* A comma separates second and fraction, as dmesg writes it. */
	bool comma;
};

/*
 * Takes a stamp at the cursor. Returns false without one. The forms:
 *
 *   2025-03-12T07:41:09,339996+00:00   2025-03-12 07:41:09[.341][Z| UTC]   2025/03/12 07:41:09
 *   Mar 12 07:41:09[.435319] [2025]    Mar 12[,] 2025 07:41:09             2025 Mar 12 07:41:09
 *   Wed Mar 12 07:41:09 [UTC] 2025     Wed 2025-03-12 07:41:09 UTC         Mar 12, 2025 7:41:09 AM
 *   Wed, 12 Mar 2025 07:41:09 +0000    12 Mar 2025 07:41:09.341
 *   Mi Mär 12 07:41:09 2025 (and other languages of Western Europe)
 *   12/Mar/2025:07:41:09 +0000         1741765269.341207
 *   1741765269341 (or microseconds, nanoseconds)
 *
 * AM or PM may follow the clock, and an offset or the name of a zone (base/zone-names.h).
 */
bool stamp_take(struct text_cursor *cursor, struct stamp *ret_stamp);
/* Takes "Mar12 07:41" or "Nov 9 20:09", which dmesg --human writes where a minute begins. */
bool stamp_take_minute(struct text_cursor *cursor, struct stamp *ret_stamp);
/*
 * Converts seconds, milliseconds, microseconds or nanoseconds since the epoch. The size of the
 * number tells the unit. Returns false outside of the years 2001 to 2200.
 */
bool stamp_from_number(const char *text, size_t size, struct stamp *ret_stamp);
/*
 * Returns in *ret_seconds the stamp's second in `year`, as if it were UTC. Returns false if that
 * day or time does not exist.
 */
bool stamp_seconds(const struct stamp *stamp, int year, int64_t *ret_seconds);
/* Finds the first or the last stamp without a year that begins a line. */
bool stamp_find_yearless(const char *text, size_t size, bool last, struct stamp *ret_stamp);
