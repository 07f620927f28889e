// SPDX-License-Identifier: GPL-2.0-only
#include "query/window/civil.h"

#include "base/cleanup.h"

static struct tm civil_tm(const struct civil *civil)
{
	return (struct tm){
		.tm_year = civil->year - 1900,
		.tm_mon = civil->month - 1,
		.tm_mday = civil->day,
		.tm_hour = civil->hour,
		.tm_min = civil->minute,
		.tm_sec = civil->second,
	};
}

static long civil_offset_at(time_t seconds)
{
	struct tm tm;

	return localtime_r(&seconds, &tm) ? tm.tm_gmtoff : 0;
}

/*
 * Computes the epoch second at which the local clock shows `wall`. For a time that occurs twice or
 * never, mktime() is not defined. Only two offsets are possible: that of the day before and that of
 * the day after, because no zone changes twice within two days. An offset is a solution if it is in
 * force at the resulting moment.
 */
static time_t civil_local_seconds(time_t wall, struct civil_doubt *doubt)
{
	long before = civil_offset_at(wall - CIVIL_DAY_SECONDS),
	     after = civil_offset_at(wall + CIVIL_DAY_SECONDS);
	bool fits_before = civil_offset_at(wall - before) == before;
	bool fits_after = civil_offset_at(wall - after) == after;

	doubt->ambiguous = before != after && fits_before && fits_after;
	doubt->skipped = !fits_before && !fits_after;
	if (doubt->ambiguous)
		return MIN(wall - before, wall - after);
	return fits_after && !fits_before ? wall - after : wall - before;
}

/*
 * timegm() turns February 30 into a day of March instead of failing, so a changed day reveals an
 * impossible date.
 */
const char *civil_seconds(const struct civil *civil, time_t *ret_seconds,
			  struct civil_doubt *ret_doubt)
{
	struct civil midnight = { .year = civil->year, .month = civil->month, .day = civil->day };
	struct tm day = civil_tm(&midnight), tm = civil_tm(civil);

	*ret_doubt = (struct civil_doubt){ .ambiguous = false };
	timegm(&day);
	if (day.tm_mday != civil->day || day.tm_mon != civil->month - 1)
		return "the calendar has no such day";
	if (civil->hour > 23 || civil->minute > 59 || civil->second > 60)
		return "no clock shows that time";
	*ret_seconds = timegm(&tm);
	if (civil->zoned)
		*ret_seconds -= civil->offset_s;
	else
		*ret_seconds = civil_local_seconds(*ret_seconds, ret_doubt);
	return NULL;
}

void civil_set_date(struct civil *civil, time_t seconds, int days_ago)
{
	struct tm tm = { 0 };

	seconds += civil->zoned ? civil->offset_s : civil_offset_at(seconds);
	seconds -= (time_t)days_ago * CIVIL_DAY_SECONDS;
	gmtime_r(&seconds, &tm);
	civil->year = tm.tm_year + 1900;
	civil->month = tm.tm_mon + 1;
	civil->day = tm.tm_mday;
}

int civil_weekday(const struct civil *civil)
{
	struct tm tm = civil_tm(civil);

	timegm(&tm);
	return tm.tm_wday;
}
