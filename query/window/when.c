// SPDX-License-Identifier: GPL-2.0-only
/*
 * A form is taken as a whole or not at all: each parser below reads from a cursor and says false as
 * soon as the text is not its form, and when_parse() tries them one after the other. A text that
 * has the shape of a form, but numbers that no calendar has, ends the trying, so that the person
 * hears of the number and not of the forms alone.
 */
#include "query/window/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define DAY_SECONDS 86400
#define FIRST_SECOND 31536000ll /* 1971-01-01T00:00:00Z */
#define END_SECOND 7289654400ll /* 2201-01-01T00:00:00Z */

struct moment {
	/* the cursor */
	const char *at;
	/* what is impossible about a text of the right shape */
	const char *wrong;
	uint64_t now_ns;
	bool utc;
	struct when when;
};

/* Civil time: as a calendar and a clock on the wall show it, in a zone that is not said. */
struct civil {
	int year, month, day;
	int hour, minute, second;
	uint32_t fraction_ns;
};

static bool when_take(struct moment *moment, const char *literal)
{
	size_t size = strlen(literal);

	if (strncmp(moment->at, literal, size) != 0)
		return false;
	moment->at += size;
	return true;
}

static void when_take_blanks(struct moment *moment)
{
	moment->at += strspn(moment->at, " \t");
}

/* Exactly so many digits, no more behind them. */
static bool when_take_digits(struct moment *moment, int count, int *ret_value)
{
	int value = 0;

	for (int i = 0; i < count; i++) {
		if (!isdigit((unsigned char)moment->at[i]))
			return false;
		value = value * 10 + (moment->at[i] - '0');
	}
	if (isdigit((unsigned char)moment->at[count]))
		return false;
	moment->at += count;
	*ret_value = value;
	return true;
}

/* ".25", or ",25" as some logs have it. Digits beyond the ninth are cut off: a moment is never
 * moved forward. */
static bool when_take_fraction(struct moment *moment, uint32_t *ret_ns)
{
	uint32_t ns = 0, unit = NSEC_PER_SEC / 10;

	if (!isdigit((unsigned char)moment->at[1]))
		return false;
	for (moment->at++; isdigit((unsigned char)*moment->at); moment->at++) {
		ns += unit * (*moment->at - '0');
		unit /= 10;
	}
	*ret_ns = ns;
	return true;
}

static bool when_take_date(struct moment *moment, struct civil *civil)
{
	return when_take_digits(moment, 4, &civil->year) && when_take(moment, "-") &&
	       when_take_digits(moment, 2, &civil->month) && when_take(moment, "-") &&
	       when_take_digits(moment, 2, &civil->day);
}

static bool when_take_clock(struct moment *moment, struct civil *civil)
{
	if (!when_take_digits(moment, 2, &civil->hour) || !when_take(moment, ":") ||
	    !when_take_digits(moment, 2, &civil->minute))
		return false;
	if (!when_take(moment, ":"))
		return true;
	if (!when_take_digits(moment, 2, &civil->second))
		return false;
	if (*moment->at == '.' || *moment->at == ',')
		return when_take_fraction(moment, &civil->fraction_ns);
	return true;
}

/* "Z", "+01:00", "+0100" or "+01", with a blank before it or not: seconds east of UTC. */
static bool take_offset(struct moment *moment, int *ret_seconds)
{
	int sign, hours, minutes = 0;

	when_take_blanks(moment);
	if (when_take(moment, "Z") || when_take(moment, "z")) {
		*ret_seconds = 0;
		return true;
	}
	sign = *moment->at == '-' ? -1 : 1;
	if (!when_take(moment, "+") && !when_take(moment, "-"))
		return false;
	if (when_take_digits(moment, 4, &hours)) {
		minutes = hours % 100;
		hours /= 100;
	} else if (!when_take_digits(moment, 2, &hours)) {
		return false;
	} else if (when_take(moment, ":") && !when_take_digits(moment, 2, &minutes)) {
		return false;
	}
	if (hours > 23 || minutes > 59)
		moment->wrong = "no zone has that offset";
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

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

/*
 * The second of the epoch if the civil time were UTC. Second 60, which a leap second has, becomes
 * the next second. timegm() moves the 30th of February into March instead of refusing it; so that
 * the day moved is how it is known.
 */
static bool civil_seconds(struct moment *moment, const struct civil *civil, time_t *ret_seconds)
{
	struct civil midnight = { .year = civil->year, .month = civil->month, .day = civil->day };
	struct tm day = civil_tm(&midnight), tm = civil_tm(civil);

	timegm(&day);
	if (day.tm_mday != civil->day || day.tm_mon != civil->month - 1)
		moment->wrong = "the calendar has no such day";
	else if (civil->hour > 23 || civil->minute > 59 || civil->second > 60)
		moment->wrong = "no clock shows that";
	*ret_seconds = timegm(&tm);
	return !moment->wrong;
}

static bool set_moment(struct moment *moment, time_t seconds, uint32_t fraction_ns)
{
	if (seconds < FIRST_SECOND || seconds >= END_SECOND) {
		moment->wrong = "only the years 1971 to 2200 are taken";
		return false;
	}
	moment->when.realtime_ns = seconds * NSEC_PER_SEC + fraction_ns;
	return true;
}

static long when_offset_at(time_t seconds)
{
	struct tm tm;

	return localtime_r(&seconds, &tm) ? tm.tm_gmtoff : 0;
}

/*
 * The second of the epoch at which the local clock shows `wall`. mktime() leaves open what it does
 * with times that were there twice or never, so: the offsets of the day before and the day after
 * are the only two that can hold, since no zone changes twice in two days. Each that gives a moment
 * at which it holds is an answer.
 */
static time_t when_local_seconds(time_t wall, struct when *when)
{
	long before = when_offset_at(wall - DAY_SECONDS),
	     after = when_offset_at(wall + DAY_SECONDS);
	bool fits_before = when_offset_at(wall - before) == before;
	bool fits_after = when_offset_at(wall - after) == after;

	when->ambiguous = before != after && fits_before && fits_after;
	when->skipped = !fits_before && !fits_after;
	if (when->ambiguous)
		return MIN(wall - before, wall - after);
	return fits_after && !fits_before ? wall - after : wall - before;
}

static bool set_civil(struct moment *moment, const struct civil *civil)
{
	time_t seconds;

	if (!civil_seconds(moment, civil, &seconds))
		return false;
	if (!moment->utc)
		seconds = when_local_seconds(seconds, &moment->when);
	return set_moment(moment, seconds, civil->fraction_ns);
}

/* The date of today, or of so many days before it. */
static void civil_today(const struct moment *moment, int days_ago, struct civil *civil)
{
	time_t seconds = moment->now_ns / NSEC_PER_SEC;
	struct tm tm = { 0 };

	if (!moment->utc)
		seconds += when_offset_at(seconds);
	seconds -= (time_t)days_ago * DAY_SECONDS;
	gmtime_r(&seconds, &tm);
	civil->year = tm.tm_year + 1900;
	civil->month = tm.tm_mon + 1;
	civil->day = tm.tm_mday;
}

/* 2026-11-18T03:12:07.25+01:00, or with a blank for the T, or without the offset */
static bool parse_dated(struct moment *moment)
{
	struct civil civil = { 0 };
	time_t seconds;
	int offset;

	if (!when_take_date(moment, &civil) ||
	    !(when_take(moment, "T") || when_take(moment, "t") || when_take(moment, " ")))
		return false;
	when_take_blanks(moment);
	if (!when_take_clock(moment, &civil))
		return false;
	if (!*moment->at)
		return set_civil(moment, &civil);
	if (!take_offset(moment, &offset) || *moment->at)
		return false;
	return civil_seconds(moment, &civil, &seconds) &&
	       set_moment(moment, seconds - offset, civil.fraction_ns);
}

/* 03:12[:07[.25]]: of today when that is not in the future, else of yesterday */
static bool parse_clock(struct moment *moment)
{
	struct civil civil = { 0 };

	if (!when_take_clock(moment, &civil) || *moment->at)
		return false;
	civil_today(moment, 0, &civil);
	if (!set_civil(moment, &civil))
		return false;
	if (moment->when.realtime_ns <= moment->now_ns)
		return true;
	civil_today(moment, 1, &civil);
	return set_civil(moment, &civil);
}

/* yesterday 23:00; the word alone is when that day began */
static bool parse_day_word(struct moment *moment)
{
	struct civil civil = { 0 };
	int days_ago = when_take(moment, "yesterday") ? 1 : 0;

	if (!days_ago && !when_take(moment, "today"))
		return false;
	if (*moment->at && *moment->at != ' ')
		return false;
	when_take_blanks(moment);
	if (*moment->at && (!when_take_clock(moment, &civil) || *moment->at))
		return false;
	civil_today(moment, days_ago, &civil);
	return set_civil(moment, &civil);
}

static bool set_ago(struct moment *moment, const char *text, size_t size)
{
	char duration[64];
	uint64_t ns;

	if (size >= sizeof(duration))
		return false;
	memcpy(duration, text, size);
	duration[size] = 0;
	if (duration_parse(duration, &ns) < 0)
		return false;
	ns = MIN(ns, moment->now_ns);
	ns = moment->now_ns - ns;
	return set_moment(moment, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

/* now, now-10m, now - 10m */
static bool parse_now(struct moment *moment)
{
	if (!when_take(moment, "now"))
		return false;
	when_take_blanks(moment);
	if (!*moment->at)
		return set_ago(moment, "0s", 2);
	if (!when_take(moment, "-"))
		return false;
	when_take_blanks(moment);
	return set_ago(moment, moment->at, strlen(moment->at));
}

/* 10m ago */
static bool parse_ago(struct moment *moment)
{
	size_t size = strcspn(moment->at, " \t");
	const char *duration = moment->at;

	moment->at += size;
	when_take_blanks(moment);
	return !strcmp(moment->at, "ago") && set_ago(moment, duration, size);
}

/* @1762918327.25 */
static bool parse_epoch(struct moment *moment)
{
	time_t seconds = 0;
	uint32_t fraction_ns = 0;

	if (!when_take(moment, "@") || !isdigit((unsigned char)*moment->at))
		return false;
	for (; isdigit((unsigned char)*moment->at); moment->at++)
		seconds = MIN(seconds * 10 + (*moment->at - '0'), END_SECOND);
	if (*moment->at == '.' && !when_take_fraction(moment, &fraction_ns))
		return false;
	return !*moment->at && set_moment(moment, seconds, fraction_ns);
}

/* [12345.678901], with the blanks that the kernel fills up with */
static bool parse_uptime(struct moment *moment)
{
	uint64_t seconds = 0;
	uint32_t fraction_ns = 0;

	if (!when_take(moment, "["))
		return false;
	when_take_blanks(moment);
	if (!isdigit((unsigned char)*moment->at))
		return false;
	for (; isdigit((unsigned char)*moment->at); moment->at++)
		seconds = MIN(seconds * 10 + (*moment->at - '0'), (uint64_t)END_SECOND);
	if (*moment->at == '.' && !when_take_fraction(moment, &fraction_ns))
		return false;
	if (!when_take(moment, "]") || *moment->at)
		return false;
	if (seconds >= END_SECOND) {
		moment->wrong = "no machine runs that long";
		return false;
	}
	moment->when.is_uptime = true;
	moment->when.uptime_ns = seconds * NSEC_PER_SEC + fraction_ns;
	return true;
}

static int when_refuse(const char *text, const char *wrong, struct error *error)
{
	char shown[61];
	size_t size = strnlen(text, sizeof(shown) - 1);

	/* the sentence stays one line of readable text: no control bytes, no half of a character at
	 * the cut */
	while (text[size] && size && (text[size] & 0xc0) == 0x80)
		size--;
	for (size_t i = 0; i < size; i++)
		shown[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
	shown[size] = 0;
	return error_set(
		error, -EINVAL,
		"\"%s\" is no time%s%s; use 2026-11-18T03:12:07+01:00, \"2026-11-18 03:12[:07]\", 03:12[:07], now, now-10m, \"10m ago\", \"yesterday 23:00\", @1762918327.25 or [12345.678901]",
		shown, wrong ? ": " : "", wrong ? wrong : "");
}

int when_parse(const char *text, uint64_t now_ns, bool utc, struct when *ret_when,
	       struct error *error)
{
	static bool (*const forms[])(struct moment *) = {
		parse_dated, parse_clock, parse_day_word, parse_now,
		parse_ago,   parse_epoch, parse_uptime,
	};
	char trimmed[128];
	size_t size;

	text += strspn(text, " \t");
	size = strlen(text);
	while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
		size--;
	if (size >= sizeof(trimmed))
		return when_refuse(text, NULL, error);
	memcpy(trimmed, text, size);
	trimmed[size] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct moment moment = { .at = trimmed, .now_ns = now_ns, .utc = utc };

		if (forms[i](&moment)) {
			*ret_when = moment.when;
			return 0;
		}
		if (moment.wrong)
			return when_refuse(trimmed, moment.wrong, error);
	}
	return when_refuse(trimmed, NULL, error);
}
