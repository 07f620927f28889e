/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the time of log lines, which must come in the log's order. The lines around a stamp supply
 * what it lacks. The year comes from the end of the log, and the zone from a shipper's stamp or
 * from this host. The order of lines tells two equal hours apart. The kernel's own stamp shows how
 * late a logger was: a starved host writes its log late, but the kernel's stamp is right.
 *
 * Within a boot, wall clock minus uptime is nearly constant, and a late logger only makes it
 * larger. So its minimum is the true offset, as long as it drifts no faster than a clock can be
 * slewed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "incidents/logs/log-prefix.h"

struct log_clock_options {
	/* Wall clock: no line is more than a day later (the file's last change, or now). */
	uint64_t end_ns;
	/* Stamps without a zone are in UTC instead of this host's zone. */
	bool utc;
	bool has_boot;
	/* Wall clock at uptime 0, for logs that have only the uptime. */
	uint64_t boot_ns;
};

struct log_clock {
	struct log_clock_options options;
	/* The year of stamps that lack one; 0: none was seen. */
	int year;
	int last_month;
	bool has_uptime;
	/* The uptime of the last line that has one. */
	uint64_t uptime_ns;
	bool has_offset;
	/* Wall clock minus uptime. */
	int64_t offset_ns;
	/* All lines since this uptime were late; 0: the last line was not. */
	uint64_t late_since_ns;
	bool has_wall;
	/* The wall clock of the last line. */
	uint64_t wall_ns;
	/* The uptime of that line, or 0. */
	uint64_t wall_uptime_ns;
	/* If the clock shows that time twice, the distance to the other possible moment; or 0. */
	int64_t wall_apart_s;
	bool has_minute;
	/* The last stamp of a minute plus the deltas since. */
	uint64_t minute_ns;
	/* The number of times that the uptime went back. */
	uint32_t boots;
};

struct moment {
	bool has_time;
	uint64_t realtime_ns;
	/* The time may be wrong by this much. */
	uint64_t error_ns;
	bool has_uptime;
	uint64_t uptime_ns;
};

void log_clock_init(struct log_clock *clock, const struct log_clock_options *options);
/*
 * Sets the first and the last stamp without a year in the log, which tell the year of its
 * beginning. Call it before the first log_clock_take().
 */
void log_clock_span(struct log_clock *clock, const struct stamp *first, const struct stamp *last);
/* Finds the time of the next line. Lines may be omitted, but must come in their order. */
void log_clock_take(struct log_clock *clock, const struct log_prefix *prefix,
		    struct moment *ret_moment);
/* Starts a new boot with the next line. */
void log_clock_boot(struct log_clock *clock);
