/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the time of log lines, which must come in the log's order. Other lines supply the parts
 * that a stamp lacks. The year follows from the time at which the log ends. The zone comes from a
 * shipper's stamp or from this host. If an hour occurs twice, the order of lines tells which of the
 * two is meant. The kernel's own stamp shows how late a logger was: a starved host writes its log
 * late, but the kernel's stamp is right.
 *
 * Within a boot, wall clock minus uptime is nearly constant, and a late logger only makes the
 * difference larger. So the minimum of the difference is the true offset, if the offset drifts no
 * faster than a clock can be slewed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "incidents/logs/log-prefix.h"

struct log_clock_options {
	/*
	 * A time on the wall clock, such as the file's last change, or now. No line is more than a
	 * day later.
	 */
	uint64_t end_ns;
	/* Stamps without a zone are in UTC instead of this host's zone. */
	bool utc;
	bool has_boot;
	/* The wall clock at uptime 0, for logs that contain only the uptime. */
	uint64_t boot_ns;
};

struct log_clock {
	struct log_clock_options options;
	/* The year that the last stamp without a year got; 0: no such stamp came. */
	int year;
	int last_month;
	bool has_uptime;
	/* The uptime of the last line with an uptime. */
	uint64_t uptime_ns;
	bool has_offset;
	/* Wall clock minus uptime of a line that was not late. */
	int64_t offset_ns;
	/* All lines since this uptime were late; 0: the last line was not late. */
	uint64_t late_since_ns;
	bool has_wall;
	/* The wall clock time of the last line. */
	uint64_t wall_ns;
	/* The uptime of this last line, or 0. */
	uint64_t wall_uptime_ns;
	/*
	 * If the clock shows wall_ns twice, the distance to the other possible moment; otherwise 0.
	 */
	int64_t wall_apart_s;
	bool has_minute;
	/* The last stamp with minutes only, plus the deltas of the lines since. */
	uint64_t minute_ns;
	/* The number of times that the uptime went back. */
	uint32_t boots;
};

struct moment {
	bool has_time;
	uint64_t realtime_ns;
	/* Error of realtime_ns. */
	uint64_t error_ns;
	bool has_uptime;
	uint64_t uptime_ns;
	/*
	 * The stamp names a zone that is not clear, such as "PST", so the time is unknown; or "".
	 */
	char unclear[ZONE_NAME_MAX + 1];
};

void log_clock_init(struct log_clock *clock, const struct log_clock_options *options);
/*
 * Sets the first and the last stamp without a year in the log. These stamps determine the year in
 * which the log begins. Call it before the first log_clock_take().
 */
void log_clock_span(struct log_clock *clock, const struct stamp *first, const struct stamp *last);
/* Finds the time of the next line. The caller may omit lines, but must keep their order. */
void log_clock_take(struct log_clock *clock, const struct log_prefix *prefix,
		    struct moment *ret_moment);
/* Notes that a new boot starts with the next line. */
void log_clock_boot(struct log_clock *clock);
