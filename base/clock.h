/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Time is uint64_t nanoseconds everywhere; which clock they are of stands in the name. Here:
 * reading clocks, durations as people write them, and wall clock times as people read them. What
 * people *write* as times is query's matter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC 1000000000ull

uint64_t clock_ns(clockid_t clock);

/* "250ms", "5s", "2m", "12h", "7d", "1.5h", "1h30m"; a bare number is seconds. 0, or -EINVAL;
 * -ERANGE beyond 100 years. */
int duration_parse(const char *text, uint64_t *ret_ns);
/* "250 ms", "5 s", "2 min 5 s", "12 h 3 min": two units at the most, for people. */
const char *duration_format(uint64_t ns, char *text, size_t size);

#define TIME_TEXT_SIZE 64
/* RFC 3339 with so many digits of the second (0 to 9), in UTC ("Z") or in local time with its
 * offset. Truncates. */
const char *time_format(uint64_t realtime_ns, bool utc, int digits, char text[TIME_TEXT_SIZE]);
