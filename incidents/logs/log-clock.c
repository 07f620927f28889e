// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/log-clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define DAY_SECONDS 86400
/*
 * A stamp that goes back by less than this comes from another CPU; a stamp that goes back by more
 * comes from a new boot.
 */
#define BACK_NS (10 * NSEC_PER_SEC)
#define DRIFT 10000 /* uptime and wall clock drift apart by less than one part in this */
/* A larger lateness means that the clock was set. */
#define LATE_MAX_NS (120 * (int64_t)NSEC_PER_SEC)
/* If all lines are late for longer than this, the clock was set, too. */
#define LATE_FOR_NS (300 * NSEC_PER_SEC)
#define ZONE_STEP 900 /* zones are multiples of a quarter of an hour */
#define ZONE_NEAR 300 /* a larger delay of a shipper counts as another zone */

void log_clock_init(struct log_clock *clock, const struct log_clock_options *options)
{
	*clock = (struct log_clock){ .options = *options };
	log_clock_boot(clock);
	clock->boots = 0;
}

void log_clock_boot(struct log_clock *clock)
{
	clock->boots++;
	clock->has_uptime = false;
	clock->late_since_ns = 0;
	clock->has_offset = clock->options.has_boot;
	clock->offset_ns = clock->options.boot_ns;
}

static long log_clock_offset_at(const struct log_clock *clock, time_t seconds)
{
	struct tm tm;

	return !clock->options.utc && localtime_r(&seconds, &tm) ? tm.tm_gmtoff : 0;
}

/*
 * Returns the epoch second at which this host's clock shows `wall`. If the clock shows `wall`
 * twice, the uptimes decide between the two seconds. Without uptimes, the first second counts,
 * unless time would then go back. If both seconds remain possible, *ret_apart is their distance.
 */
static int64_t log_clock_local_seconds(const struct log_clock *clock,
				       const struct log_prefix *prefix, int64_t wall,
				       int64_t *ret_apart)
{
	long before = log_clock_offset_at(clock, wall - DAY_SECONDS);
	long after = log_clock_offset_at(clock, wall + DAY_SECONDS);
	int64_t first = wall - MAX(before, after), second = wall - MIN(before, after), last;
	bool fits_first = log_clock_offset_at(clock, first) == MAX(before, after);
	bool fits_second = log_clock_offset_at(clock, second) == MIN(before, after);

	if (!fits_first && !fits_second)
		return wall - before;
	if (!fits_first || !fits_second || first == second)
		return fits_first ? first : second;
	*ret_apart = second - first;
	if (!clock->has_wall)
		return first;
	last = clock->wall_ns / NSEC_PER_SEC;
	if (prefix->uptime_quality == UPTIME_PRINTK && clock->wall_uptime_ns) {
		int64_t passed = ((int64_t)prefix->uptime_ns - (int64_t)clock->wall_uptime_ns) /
				 (int64_t)NSEC_PER_SEC;

		if (llabs(first - last - passed) > llabs(second - last - passed))
			first = second;
		/* this choice is as certain as the choice for the previous line */
		*ret_apart = first == second ? 0 : clock->wall_apart_s;
		return first;
	}
	if (first + 1 >= last)
		return first;
	*ret_apart = 0;
	return second;
}

static bool log_clock_absolute(const struct stamp *stamp, int64_t *ret_seconds)
{
	if (stamp->epoch) {
		*ret_seconds = stamp->realtime_ns / NSEC_PER_SEC;
		return true;
	}
	if (*stamp->unclear || !stamp->year || !stamp_seconds(stamp, stamp->year, ret_seconds))
		return false;
	*ret_seconds -= stamp->offset_s;
	return true;
}

static int year_of(int64_t seconds)
{
	time_t time = seconds;
	struct tm tm;

	return gmtime_r(&time, &tm) ? tm.tm_year + 1900 : 1970;
}

/*
 * Returns the latest year in which the stamp is not after the limit. Not every year has a 29th of
 * February.
 */
static int latest_year(const struct stamp *stamp, int64_t limit)
{
	int64_t seconds;

	for (int year = year_of(limit) + 1; year > 1971; year--)
		if (stamp_seconds(stamp, year, &seconds) && seconds <= limit)
			return year;
	return 1971;
}

static int64_t limit_of(const struct log_clock *clock)
{
	return clock->options.end_ns / NSEC_PER_SEC + DAY_SECONDS;
}

void log_clock_span(struct log_clock *clock, const struct stamp *first, const struct stamp *last)
{
	clock->year = latest_year(last, limit_of(clock));
	if (first->month > last->month || (first->month == last->month && first->day > last->day))
		clock->year--;
	clock->last_month = first->month;
}

/* Returns the year of a stamp without a year. The year advances where December turns to January. */
static int running_year(struct log_clock *clock, const struct stamp *stamp)
{
	int64_t seconds;

	if (!clock->year) {
		clock->year = latest_year(stamp, limit_of(clock));
		clock->last_month = stamp->month;
	}
	if (stamp->month < clock->last_month - 6) {
		if (stamp_seconds(stamp, clock->year + 1, &seconds) && seconds <= limit_of(clock))
			clock->year++;
		clock->last_month = stamp->month;
	} else if (stamp->month > clock->last_month + 6) {
		/* this is a late line of the old year */
		return clock->year - 1;
	}
	clock->last_month = stamp->month;
	return clock->year;
}

/* Interprets the stamp in the year and the zone in which it is nearest to the shipper's time. */
static bool nearest_to_shipper(const struct log_prefix *prefix, int64_t shipped,
			       int64_t *ret_seconds)
{
	const struct stamp *stamp = &prefix->wall.stamp;
	int64_t best = INT64_MAX, offset = 0, from_zone;
	int years[3] = { year_of(shipped), year_of(shipped) - 1, year_of(shipped) + 1 };

	for (int i = 0; i < (stamp->year ? 1 : 3); i++) {
		int64_t seconds;

		if (stamp_seconds(stamp, stamp->year ? stamp->year : years[i], &seconds) &&
		    llabs(seconds - shipped) < llabs(best - shipped))
			best = seconds;
	}
	if (best == INT64_MAX)
		return false;
	if (stamp->zoned) {
		*ret_seconds = best - stamp->offset_s;
		return true;
	}
	if (llabs(best - shipped) > 15 * 3600)
		return false;
	offset = llabs(best - shipped) + ZONE_STEP / 2;
	offset = (best < shipped ? -1 : 1) * (offset / ZONE_STEP * ZONE_STEP);
	from_zone = best - offset;
	*ret_seconds = from_zone;
	return llabs(from_zone - shipped) <= ZONE_NEAR;
}

static bool wall_seconds(struct log_clock *clock, const struct log_prefix *prefix, int64_t *ret,
			 int64_t *ret_apart)
{
	const struct stamp *stamp = &prefix->wall.stamp;
	int64_t seconds, shipped;

	if (stamp->epoch || (stamp->year && (stamp->zoned || prefix->wall.quality == WALL_SHIPPER)))
		return log_clock_absolute(stamp, ret);
	if (prefix->shipper.quality && log_clock_absolute(&prefix->shipper.stamp, &shipped) &&
	    nearest_to_shipper(prefix, shipped, ret))
		return true;
	if (*stamp->unclear)
		return false;
	if (!stamp_seconds(stamp, stamp->year ? stamp->year : running_year(clock, stamp), &seconds))
		return false;
	*ret = stamp->zoned ? seconds - stamp->offset_s
			    : log_clock_local_seconds(clock, prefix, seconds, ret_apart);
	return true;
}

static bool wall_time(struct log_clock *clock, const struct log_prefix *prefix,
		      struct moment *moment)
{
	static const uint64_t lateness_ns[] = {
		[WALL_SHIPPER] = 10 * NSEC_PER_SEC, [WALL_MINUTE] = 0,
		[WALL_TRADITIONAL] = NSEC_PER_SEC,  [WALL_DATED] = NSEC_PER_SEC,
		[WALL_JOURNAL] = NSEC_PER_MSEC,
	};
	const struct wall *wall = &prefix->wall;
	int64_t seconds, apart = 0;

	if (!wall->quality || !wall_seconds(clock, prefix, &seconds, &apart) || seconds < 0)
		return false;
	clock->wall_apart_s = apart;
	moment->has_time = true;
	moment->realtime_ns = wall->stamp.epoch ? wall->stamp.realtime_ns
						: seconds * NSEC_PER_SEC + wall->stamp.fraction_ns;
	moment->error_ns =
		wall->stamp.resolution_ns + lateness_ns[wall->quality] + apart * NSEC_PER_SEC;
	return true;
}

/*
 * If a logger wrote a line late, moves the line's time back to the kernel's stamp. Lines that were
 * not late set the offset.
 */
static void log_clock_correct(struct log_clock *clock, const struct log_prefix *prefix,
			      struct moment *moment, uint64_t passed_ns)
{
	int64_t resolution = prefix->wall.stamp.resolution_ns;
	int64_t offset = moment->realtime_ns - moment->uptime_ns;

	if (!clock->has_offset || clock->options.has_boot) {
		clock->has_offset = true;
		clock->options.has_boot = false;
		clock->offset_ns = offset;
	}
	clock->offset_ns = MIN(offset, clock->offset_ns + (int64_t)(passed_ns / DRIFT));
	if (offset <= clock->offset_ns + resolution) {
		clock->late_since_ns = 0;
		return;
	}
	if (!clock->late_since_ns)
		clock->late_since_ns = moment->uptime_ns;
	if (offset > clock->offset_ns + resolution + LATE_MAX_NS ||
	    (moment->uptime_ns > clock->late_since_ns + LATE_FOR_NS)) {
		clock->offset_ns = offset;
		clock->late_since_ns = 0;
		return;
	}
	moment->realtime_ns = moment->uptime_ns + clock->offset_ns + resolution / 2;
	moment->error_ns = resolution;
}

static void add_delta(struct log_clock *clock, const struct log_prefix *prefix,
		      struct moment *moment)
{
	if (prefix->wall.quality == WALL_MINUTE && moment->has_time) {
		clock->has_minute = true;
		clock->minute_ns = moment->realtime_ns;
	} else if (prefix->has_delta && clock->has_minute) {
		clock->minute_ns += prefix->delta_ns;
		if (moment->has_time)
			return;
		moment->has_time = true;
		moment->realtime_ns = clock->minute_ns;
		moment->error_ns = 60 * NSEC_PER_SEC;
	}
}

void log_clock_take(struct log_clock *clock, const struct log_prefix *prefix,
		    struct moment *ret_moment)
{
	struct moment moment = { .has_uptime = prefix->uptime_quality != UPTIME_NONE,
				 .uptime_ns = prefix->uptime_ns };
	uint64_t passed_ns = 0;
	bool printk = prefix->uptime_quality == UPTIME_PRINTK, logger;

	if (printk && clock->has_uptime && moment.uptime_ns + BACK_NS < clock->uptime_ns)
		log_clock_boot(clock);
	if (printk) {
		if (clock->has_uptime && moment.uptime_ns > clock->uptime_ns)
			passed_ns = moment.uptime_ns - clock->uptime_ns;
		clock->has_uptime = true;
		clock->uptime_ns = moment.uptime_ns;
	}
	wall_time(clock, prefix, &moment);
	add_delta(clock, prefix, &moment);
	if (moment.has_time && prefix->wall.quality > WALL_MINUTE) {
		clock->has_wall = true;
		clock->wall_ns = moment.realtime_ns;
		clock->wall_uptime_ns = printk ? moment.uptime_ns : 0;
	}
	logger = prefix->wall.quality == WALL_TRADITIONAL || prefix->wall.quality == WALL_DATED;
	if (printk && moment.has_time && logger) {
		log_clock_correct(clock, prefix, &moment, passed_ns);
	} else if (printk && !moment.has_time && clock->has_offset &&
		   (int64_t)moment.uptime_ns + clock->offset_ns > 0) {
		moment.has_time = true;
		moment.realtime_ns = moment.uptime_ns + clock->offset_ns;
		moment.error_ns = NSEC_PER_SEC;
	}
	if (!moment.has_time)
		memcpy(moment.unclear, prefix->wall.stamp.unclear, sizeof(moment.unclear));
	*ret_moment = moment;
}
