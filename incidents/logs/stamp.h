/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The stamps of wall clocks at the left edge of log lines, in all the forms that loggers write. A
 * stamp is what was written: which year or zone was meant where none is said, is log-clock's
 * matter.
 */

#include <stdbool.h>
#include <stdint.h>

#include "incidents/patterns/text-cursor.h"

struct stamp {
	/* 0: not said */
	int year;
	int month, day, hour, minute, second;
	uint32_t fraction_ns;
	/* offset_s east of UTC was said */
	bool zoned;
	int offset_s;
	/* realtime_ns says it all */
	bool epoch;
	uint64_t realtime_ns;
	uint64_t resolution_ns;
	/* between second and fraction: so writes dmesg */
	bool comma;
};

/*
 *   2025-03-12T07:41:09,339996+00:00   2025-03-12 07:41:09[.341][Z| UTC]   2025/03/12 07:41:09
 *   Mar 12 07:41:09[.435319] [2025]    Mar 12 2025 07:41:09                2025 Mar 12 07:41:09
 *   Wed Mar 12 07:41:09 [UTC] 2025     Wed 2025-03-12 07:41:09 UTC
 *   Mi Mär 12 07:41:09 2025 (and other languages of Western Europe)
 *   1741765269.341207                  1741765269341 (a thousandth or a millionth of a second)
 */
bool stamp_take(struct text_cursor *cursor, struct stamp *ret_stamp);
/* "Mar12 07:41", "Nov 9 20:09": what dmesg --human writes where a minute begins. */
bool stamp_take_minute(struct text_cursor *cursor, struct stamp *ret_stamp);
/* A number of seconds, thousandths, millionths or billionths of the epoch, by its size. False when
 * it is none of the years 2001 to 2200. */
bool stamp_from_number(const char *text, size_t size, struct stamp *ret_stamp);
/* The second as if the stamp were UTC, in the year given. False when no calendar has it. */
bool stamp_seconds(const struct stamp *stamp, int year, int64_t *ret_seconds);
