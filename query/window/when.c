// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each form below has its own parser. A parser reads from a cursor and returns false when the text
 * does not have its form; when_parse() tries one parser after the other. If a text has the form but
 * an impossible number, when_parse() stops, and the message names that number.
 */
#include "query/window/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "query/window/when-forms.h"

#define FIRST_SECOND 31536000ll /* 1971-01-01T00:00:00Z */
#define END_SECOND 7289654400ll /* 2201-01-01T00:00:00Z */
/* The largest number of years between two dates of February 29. */
#define LEAP_YEARS_MAX 8

struct moment {
	struct when_text text;
	uint64_t now_ns;
	bool utc;
	struct when when;
};

static bool moment_fail(struct moment *moment, const char *wrong)
{
	snprintf(moment->text.wrong, sizeof(moment->text.wrong), "%s", wrong);
	return false;
}

static bool set_moment(struct moment *moment, time_t seconds, uint32_t fraction_ns)
{
	if (seconds < FIRST_SECOND || seconds >= END_SECOND)
		return moment_fail(moment, "the year must be from 1971 to 2200");
	moment->when.realtime_ns = seconds * NSEC_PER_SEC + fraction_ns;
	return true;
}

static bool set_civil(struct moment *moment, const struct civil *civil)
{
	struct civil_doubt doubt;
	time_t seconds;
	const char *wrong = civil_seconds(civil, &seconds, &doubt);

	if (wrong)
		return moment_fail(moment, wrong);
	moment->when.ambiguous = doubt.ambiguous;
	moment->when.skipped = doubt.skipped;
	return set_moment(moment, seconds, civil->fraction_ns);
}

static bool is_past(const struct moment *moment)
{
	return moment->when.realtime_ns <= moment->now_ns;
}

/*
 * Sets the date to `days_ago` days ago, or `step` days earlier if that moment would be in the
 * future.
 */
static bool set_latest_day(struct moment *moment, struct civil *civil, int days_ago, int step)
{
	time_t now = moment->now_ns / NSEC_PER_SEC;

	civil_set_date(civil, now, days_ago);
	if (!set_civil(moment, civil))
		return false;
	if (is_past(moment))
		return true;
	civil_set_date(civil, now, days_ago + step);
	return set_civil(moment, civil);
}

static bool set_latest_weekday(struct moment *moment, struct civil *civil, int weekday)
{
	civil_set_date(civil, moment->now_ns / NSEC_PER_SEC, 0);
	return set_latest_day(moment, civil, (civil_weekday(civil) - weekday + 7) % 7, 7);
}

/* Not every year has a February 29. */
static bool set_latest_year(struct moment *moment, struct civil *civil)
{
	struct civil today = *civil;

	civil_set_date(&today, moment->now_ns / NSEC_PER_SEC, 0);
	for (int years = 0; years <= LEAP_YEARS_MAX; years++) {
		civil->year = today.year - years;
		*moment->text.wrong = 0;
		if (set_civil(moment, civil) && is_past(moment))
			return true;
		if (*moment->text.wrong && !(civil->month == 2 && civil->day == 29))
			return false;
	}
	return false;
}

static bool set_said(struct moment *moment, struct when_said *said)
{
	struct civil *civil = &said->civil;

	if (moment->utc && !civil->zoned)
		civil->zoned = true;
	moment->when.is_time_of_day = said->date == WHEN_DATE_NONE;
	moment->when.unit_ns = said->unit_ns;
	switch (said->date) {
	case WHEN_DATE_FULL:
		return set_civil(moment, civil);
	case WHEN_DATE_YEARLESS:
		return set_latest_year(moment, civil);
	case WHEN_DATE_DAYS_AGO:
		civil_set_date(civil, moment->now_ns / NSEC_PER_SEC, said->days_ago);
		return set_civil(moment, civil);
	case WHEN_DATE_WEEKDAY:
		return set_latest_weekday(moment, civil, said->weekday);
	default:
		return set_latest_day(moment, civil, 0, 1);
	}
}

/* 2026-11-18T03:12:07.25+01:00, 3:12, yesterday 23:00, Nov 19, 2026 12:24:49 PM UTC */
static bool parse_said(struct moment *moment)
{
	struct when_said said;

	return when_take_said(&moment->text, &said) && !*moment->text.at && set_said(moment, &said);
}

static bool set_offset(struct moment *moment, const char *text, size_t size, bool ahead)
{
	char duration[64];
	uint64_t ns;

	if (size >= sizeof(duration))
		return false;
	memcpy(duration, text, size);
	duration[size] = 0;
	if (duration_parse(duration, &ns) < 0)
		return false;
	ns = ahead ? moment->now_ns + ns : moment->now_ns - MIN(ns, moment->now_ns);
	return set_moment(moment, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

/* now, now-10m, now - 10m, now+1h, and the same without the word */
static bool parse_now(struct moment *moment)
{
	bool now = when_take(&moment->text, "now"), ahead;

	when_take_blanks(&moment->text);
	if (!*moment->text.at)
		return now && set_offset(moment, "0s", 2, false);
	ahead = *moment->text.at == '+';
	if (!when_take(&moment->text, "-") && !when_take(&moment->text, "+"))
		return false;
	when_take_blanks(&moment->text);
	return set_offset(moment, moment->text.at, strlen(moment->text.at), ahead);
}

/* 10m ago */
static bool parse_ago(struct moment *moment)
{
	size_t size = strcspn(moment->text.at, " \t");
	const char *duration = moment->text.at;

	moment->text.at += size;
	when_take_blanks(&moment->text);
	return !strcmp(moment->text.at, "ago") && set_offset(moment, duration, size, false);
}

/* Takes digits, and a fraction of a second behind them. */
static bool take_seconds(struct when_text *text, int64_t *ret_seconds, uint32_t *ret_fraction_ns,
			 uint64_t *ret_unit_ns)
{
	*ret_seconds = 0;
	*ret_fraction_ns = 0;
	*ret_unit_ns = NSEC_PER_SEC;
	if (!isdigit((unsigned char)*text->at))
		return false;
	for (; isdigit((unsigned char)*text->at); text->at++)
		*ret_seconds = MIN(*ret_seconds * 10 + (*text->at - '0'), (int64_t)END_SECOND);
	return *text->at != '.' || when_take_fraction(text, ret_fraction_ns, ret_unit_ns);
}

/* @1762918327.25 */
static bool parse_epoch(struct moment *moment)
{
	uint32_t fraction_ns;
	int64_t seconds;

	return when_take(&moment->text, "@") &&
	       take_seconds(&moment->text, &seconds, &fraction_ns, &moment->when.unit_ns) &&
	       !*moment->text.at && set_moment(moment, seconds, fraction_ns);
}

/* [12345.678901], also with the kernel's padding blanks */
static bool parse_uptime(struct moment *moment)
{
	uint32_t fraction_ns;
	int64_t seconds;

	if (!when_take(&moment->text, "["))
		return false;
	when_take_blanks(&moment->text);
	if (!take_seconds(&moment->text, &seconds, &fraction_ns, &moment->when.unit_ns) ||
	    !when_take(&moment->text, "]") || *moment->text.at)
		return false;
	if (seconds >= END_SECOND)
		return moment_fail(moment, "no machine runs for that long");
	moment->when.is_uptime = true;
	moment->when.uptime_ns = seconds * NSEC_PER_SEC + fraction_ns;
	return true;
}

static const char some_forms[] = "03:12:07, 'yesterday 23:00', now-10m";

static int when_refuse(const char *text, const char *wrong, struct error *error)
{
	char shown[61];
	size_t size = strnlen(text, sizeof(shown) - 1);

	/*
	 * the message must stay one readable line, without control bytes and without a truncated
	 * character at the end
	 */
	while (text[size] && size && (text[size] & 0xc0) == 0x80)
		size--;
	memcpy(shown, text, size);
	shown[size] = 0;
	foreign_clean(shown);
	if (*wrong)
		return error_set(error, -EINVAL, "cannot read \"%s\": %s", shown, wrong);
	return error_set(error, -EINVAL,
			 "cannot read \"%s\". Like %s; all forms: man perftape-time", shown,
			 some_forms);
}

/* Skips words before the time, such as in "around 3:12". */
static const char *skip_around(const char *text)
{
	static const char *const words[] = { "around", "about", "at" };
	struct when_text ahead = { .at = text };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (when_take_word(&ahead, words[i]) && (*ahead.at == ' ' || *ahead.at == '\t'))
			return ahead.at + strspn(ahead.at, " \t");
	return text;
}

int when_parse(const char *text, uint64_t now_ns, bool utc, struct when *ret_when,
	       struct error *error)
{
	static bool (*const forms[])(struct moment *) = {
		parse_said, parse_now, parse_ago, parse_epoch, parse_uptime,
	};
	char trimmed[128];
	size_t size;

	text += strspn(text, " \t");
	size = strlen(text);
	while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
		size--;
	if (size >= sizeof(trimmed))
		return when_refuse(text, "", error);
	memcpy(trimmed, text, size);
	trimmed[size] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct moment moment = { .text = { .at = skip_around(trimmed) },
					 .now_ns = now_ns,
					 .utc = utc };

		if (forms[i](&moment)) {
			*ret_when = moment.when;
			return 0;
		}
		if (*moment.text.wrong)
			return when_refuse(trimmed, moment.text.wrong, error);
	}
	return when_refuse(trimmed, "", error);
}

/*
 * Returns true if a time may begin here: this character does not continue a number, a name or an
 * address.
 */
static bool may_begin(const char *text, const char *at)
{
	unsigned char before = at > text ? at[-1] : ' ';

	return isalnum((unsigned char)*at) && !isalnum(before) && before < 0x80 &&
	       !strchr("_.:+/", before) && (before != '-' || !isdigit((unsigned char)*at));
}

static bool may_end(const char *at)
{
	if (isalnum((unsigned char)*at) || *at == '_' || *at == ':')
		return *at == ':' && !isalnum((unsigned char)at[1]);
	return !(*at == '.' || *at == '-' || *at == '/') || !isalnum((unsigned char)at[1]);
}

/*
 * Takes a kernel stamp in brackets, "[ 6700.5]". People type fewer digits of a stamp than the
 * kernel prints. A number without a fraction is more likely a process.
 */
static bool find_stamp(const char *text, const char *at, struct when *ret_when)
{
	struct moment moment = { .text = { .at = at } };
	const char *end = *at == '[' ? strchr(at, ']') : NULL;
	char stamp[32];

	if (!end || end - at >= (ptrdiff_t)sizeof(stamp) - 1 || !memchr(at, '.', end - at))
		return false;
	memcpy(stamp, at, end + 1 - at);
	stamp[end + 1 - at] = 0;
	moment.text.at = stamp;
	if (!parse_uptime(&moment))
		return false;
	moment.when.begin = at - text;
	moment.when.size = end + 1 - at;
	*ret_when = moment.when;
	return true;
}

/*
 * Returns the start of a date of numbers alone, such as 11/19/2026 or 19.11.2026, directly before a
 * clock; or NULL. The order of day and month in such a date is unknown.
 */
static const char *numeric_date(const char *text, const char *at)
{
	const char *end = at, *start;
	int parts[3], size = 0;
	char between;

	while (end > text && strchr(" \t,", end[-1]))
		end--;
	for (start = end; start > text && (isdigit((unsigned char)start[-1]) || start[-1] == '/' ||
					   start[-1] == '.');)
		start--;
	if (end == at || end - start > 10 ||
	    sscanf(start, "%4d%c%4d%*c%4d%n", &parts[0], &between, &parts[1], &parts[2], &size) !=
		    4 ||
	    start + size != end)
		return NULL;
	return between == '/' || parts[0] >= 1970 || parts[2] >= 1970 ? start : NULL;
}

/*
 * Finds the first kernel stamp in the text. A time of day counts more than a stamp within the text,
 * so when_find() calls this function only if it found no time of day.
 */
static int find_stamp_anywhere(const char *text, struct when *ret_when)
{
	for (const char *at = strchr(text, '['); at; at = strchr(at + 1, '['))
		if (find_stamp(text, at, ret_when))
			return 1;
	return 0;
}

int when_find(const char *text, uint64_t now_ns, bool utc, struct when *ret_when,
	      struct error *error)
{
	if (find_stamp(text, text + strspn(text, " \t"), ret_when))
		return 1;
	for (const char *at = text; *at; at++) {
		struct moment moment = { .text = { .at = at, .within = true },
					 .now_ns = now_ns,
					 .utc = utc };
		struct when_said said;

		if (!may_begin(text, at))
			continue;
		if (!when_take_said(&moment.text, &said)) {
			if (*moment.text.wrong && said.has_clock)
				return when_refuse(at, moment.text.wrong, error);
			continue;
		}
		if (said.has_clock && may_end(moment.text.at) && set_said(&moment, &said)) {
			const char *date = said.date ? NULL : numeric_date(text, at);

			if (date)
				return when_refuse(date, "write the date as 2026-11-18", error);
			moment.when.begin = at - text;
			moment.when.size = moment.text.at - at;
			*ret_when = moment.when;
			return 1;
		}
	}
	return find_stamp_anywhere(text, ret_when);
}
