/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Time is uint64_t nanoseconds everywhere; names of variables show which clock the time belongs to.
 * This file reads clocks, parses and formats durations, and formats wall clock times.
 * query/window/when.h parses times.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC 1000000000ull

uint64_t clock_ns(clockid_t clock);

/*
 * Parses "250ms", "5s", "2m", "12h", "7d", "1.5h", "1h30m" and "0". Returns 0, -EDOM if a number
 * other than 0 has no unit, -ERANGE beyond 100 years, or -EINVAL.
 */
int duration_parse(const char *text, uint64_t *ret_ns);
/* Formats "250 ms", "5 s", "2 min 5 s", "12 h 3 min": at most two units. Returns `text`. */
const char *duration_format(uint64_t ns, char *text, size_t size);

#define TIME_TEXT_SIZE 64
/*
 * Formats RFC 3339 with 0 to 9 digits after the second, in UTC ("Z") or in local time with its
 * offset. Truncates further digits. Returns `text`.
 */
const char *time_format(uint64_t realtime_ns, bool utc, int digits, char text[TIME_TEXT_SIZE]);
