/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The time of log lines, of one log after the other's order. What a stamp leaves out comes from the
 * lines around it: the year from where the log ends, the zone from the stamp of a shipper or from
 * this host, the second of two equal hours from the order of the lines, and how late a logger was
 * from the kernel's own stamp: a starved host writes its log late, but says when.
 *
 * Numbers: a wall clock minus the uptime is nearly constant within a boot, and a logger that is
 * late only ever makes it larger. So the least of them is how it is, as long as it drifts no faster
 * than a clock can be slewed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "incidents/logs/log-prefix.h"

struct log_clock_options {
	/* wall clock: no line is later than a day after it (when the file was last changed, or now)
	 */
	uint64_t end_ns;
	/* what says no zone is in UTC, and not in this host's */
	bool utc;
	bool has_boot;
	/* wall clock where the uptime was 0, for logs that say the uptime alone */
	uint64_t boot_ns;
};

struct log_clock {
	struct log_clock_options options;
	/* of the lines that say none; 0: none was seen */
	int year;
	int last_month;
	bool has_uptime;
	/* of the last line that said it */
	uint64_t uptime_ns;
	bool has_offset;
	/* wall clock minus uptime */
	int64_t offset_ns;
	/* uptime since which all lines were late; 0: they are not */
	uint64_t late_since_ns;
	bool has_wall;
	/* of the last line */
	uint64_t wall_ns;
	/* its uptime, or 0 */
	uint64_t wall_uptime_ns;
	/* how far the other moment is that its clock shows, where it may be that one; or 0 */
	int64_t wall_apart_s;
	bool has_minute;
	/* where the sum of the deltas stands */
	uint64_t minute_ns;
	/* how often the uptime went back */
	uint32_t boots;
};

struct moment {
	bool has_time;
	uint64_t realtime_ns;
	/* it may be off by so much */
	uint64_t error_ns;
	bool has_uptime;
	uint64_t uptime_ns;
};

void log_clock_init(struct log_clock *clock, const struct log_clock_options *options);
/* Before the first line: the first and the last stamp of the log that say no year, to know in which
 * year it begins. */
void log_clock_span(struct log_clock *clock, const struct stamp *first, const struct stamp *last);
/* The next line. Not every line must be given, but those that are, in their order. */
void log_clock_take(struct log_clock *clock, const struct log_prefix *prefix,
		    struct moment *ret_moment);
/* A boot begins with the next line. */
void log_clock_boot(struct log_clock *clock);
