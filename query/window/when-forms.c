// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each function reads a part of the text at the cursor. If the text there does not have the whole
 * form, the function returns false, and its caller moves the cursor back. If the text has the right
 * form but an impossible value, text->wrong says why.
 */
#include "query/window/when-forms.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/zone-names.h"

bool when_take(struct when_text *text, const char *literal)
{
	size_t size = strlen(literal);

	if (strncmp(text->at, literal, size) != 0)
		return false;
	text->at += size;
	return true;
}

void when_take_blanks(struct when_text *text)
{
	text->at += strspn(text->at, " \t");
}

bool when_take_word(struct when_text *text, const char *word)
{
	size_t size = strlen(word);

	if (strncasecmp(text->at, word, size) != 0 || isalnum((unsigned char)text->at[size]))
		return false;
	text->at += size;
	return true;
}

static bool when_take_one_of(struct when_text *text, const char *characters)
{
	bool taken = *text->at && strchr(characters, *text->at);

	text->at += taken;
	return taken;
}

/* Reads from `least` to `most` digits; no other digit may follow. */
static bool when_take_digits(struct when_text *text, size_t least, size_t most, int *ret_value)
{
	size_t size = strspn(text->at, "0123456789");

	if (size < least || size > most)
		return false;
	*ret_value = 0;
	for (; size; size--)
		*ret_value = *ret_value * 10 + (*text->at++ - '0');
	return true;
}

bool when_take_fraction(struct when_text *text, uint32_t *ret_ns, uint64_t *ret_unit_ns)
{
	uint32_t ns = 0, unit = NSEC_PER_SEC;

	if (!isdigit((unsigned char)text->at[1]))
		return false;
	for (text->at++; isdigit((unsigned char)*text->at); text->at++) {
		unit /= 10;
		ns += unit * (*text->at - '0');
	}
	*ret_ns = ns;
	*ret_unit_ns = MAX(unit, 1u);
	return true;
}

/* Reads a name, either its first three letters or the whole name. Numbers the names from 0. */
static bool when_take_name(struct when_text *text, const char *const *names, size_t count,
			   int *ret_number)
{
	size_t size = 0;

	while (isalpha((unsigned char)text->at[size]))
		size++;
	for (size_t i = 0; size >= 3 && i < count; i++) {
		if (size > strlen(names[i]) || strncasecmp(text->at, names[i], size) != 0)
			continue;
		text->at += size;
		when_take(text, ".");
		*ret_number = i;
		return true;
	}
	return false;
}

static bool take_month_name(struct when_text *text, struct civil *civil)
{
	static const char *const months[] = { "January",   "February", "March",	   "April",
					      "May",	   "June",     "July",	   "August",
					      "September", "October",  "November", "December" };

	if (!when_take_name(text, months, ARRAY_SIZE(months), &civil->month))
		return false;
	civil->month++;
	return true;
}

static bool take_weekday_name(struct when_text *text, int *ret_weekday)
{
	static const char *const days[] = { "Sunday",	"Monday", "Tuesday", "Wednesday",
					    "Thursday", "Friday", "Saturday" };

	return when_take_name(text, days, ARRAY_SIZE(days), ret_weekday);
}

/* Takes 2026-11-18 or 2026/11/18. */
static bool take_iso_date(struct when_text *text, struct when_said *said)
{
	struct civil *civil = &said->civil;
	const char *between;

	if (!when_take_digits(text, 4, 4, &civil->year))
		return false;
	between = *text->at == '/' ? "/" : "-";
	said->date = WHEN_DATE_FULL;
	return when_take(text, between) && when_take_digits(text, 2, 2, &civil->month) &&
	       when_take(text, between) && when_take_digits(text, 2, 2, &civil->day);
}

/* Takes " 2026" or ", 2026", but not the first digits of a clock. */
static bool take_year_behind(struct when_text *text, int *ret_year)
{
	struct when_text ahead = *text;

	when_take(&ahead, ",");
	when_take_blanks(&ahead);
	if (ahead.at == text->at || !when_take_digits(&ahead, 4, 4, ret_year) ||
	    (*ahead.at == ':' && isdigit((unsigned char)ahead.at[1])))
		return false;
	*text = ahead;
	return true;
}

/* Takes "Nov 19" or "Nov 19, 2026". */
static bool take_month_first(struct when_text *text, struct when_said *said)
{
	static const char *const ends[] = { "st", "nd", "rd", "th" };

	if (!take_month_name(text, &said->civil))
		return false;
	when_take_blanks(text);
	if (!when_take_digits(text, 1, 2, &said->civil.day))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (when_take_word(text, ends[i]))
			break;
	said->date =
		take_year_behind(text, &said->civil.year) ? WHEN_DATE_FULL : WHEN_DATE_YEARLESS;
	return true;
}

/* Takes "19 Nov 2026", "19-Nov-2026", "19 Nov" or "19/Nov/2026". */
static bool take_day_first(struct when_text *text, struct when_said *said)
{
	struct when_text ahead;

	if (!when_take_digits(text, 1, 2, &said->civil.day) || !when_take_one_of(text, " -/") ||
	    !take_month_name(text, &said->civil))
		return false;
	ahead = *text;
	if (when_take_one_of(&ahead, "-/") && when_take_digits(&ahead, 4, 4, &said->civil.year)) {
		*text = ahead;
		said->date = WHEN_DATE_FULL;
	} else {
		said->date = take_year_behind(text, &said->civil.year) ? WHEN_DATE_FULL
								       : WHEN_DATE_YEARLESS;
	}
	return true;
}

/* Takes "2026 Nov 19". */
static bool take_year_first(struct when_text *text, struct when_said *said)
{
	if (!when_take_digits(text, 4, 4, &said->civil.year) || !when_take(text, " ") ||
	    !take_month_name(text, &said->civil))
		return false;
	when_take_blanks(text);
	said->date = WHEN_DATE_FULL;
	return when_take_digits(text, 1, 2, &said->civil.day);
}

static bool take_day_word(struct when_text *text, struct when_said *said)
{
	said->date = WHEN_DATE_DAYS_AGO;
	said->days_ago = when_take_word(text, "yesterday");
	return said->days_ago || when_take_word(text, "today");
}

static bool take_date(struct when_text *text, struct when_said *said)
{
	static bool (*const forms[])(struct when_text *, struct when_said *) = {
		take_iso_date, take_month_first, take_day_first, take_year_first, take_day_word,
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct when_text ahead = *text;
		struct when_said here = *said;

		if (!forms[i](&ahead, &here))
			continue;
		*text = ahead;
		*said = here;
		return true;
	}
	return false;
}

/*
 * Takes a date, a weekday, or a weekday with a date. Does not check whether the date is on that
 * weekday.
 */
static void take_dates(struct when_text *text, struct when_said *said)
{
	struct when_text ahead = *text;
	int weekday;

	if (take_date(text, said) || !take_weekday_name(&ahead, &weekday))
		return;
	said->date = WHEN_DATE_WEEKDAY;
	said->weekday = weekday;
	*text = ahead;
	when_take(&ahead, ",");
	when_take_blanks(&ahead);
	if (take_date(&ahead, said))
		*text = ahead;
}

/* Takes AM or PM, and adapts the hour. */
static bool take_half_of_day(struct when_text *text, struct civil *civil)
{
	struct when_text ahead = *text;
	bool pm;

	when_take_blanks(&ahead);
	pm = when_take_word(&ahead, "PM") || when_take_word(&ahead, "P.M.");
	if ((!pm && !when_take_word(&ahead, "AM") && !when_take_word(&ahead, "A.M.")) ||
	    (text->within && *ahead.at == ':'))
		return false;
	if (civil->hour < 1 || civil->hour > 12)
		snprintf(ahead.wrong, sizeof(ahead.wrong), "no clock shows that time");
	civil->hour = civil->hour % 12 + (pm ? 12 : 0);
	*text = ahead;
	return true;
}

/* Takes 3:12, 03:12:07.25, 3:12 PM or 3pm. */
static bool when_take_clock(struct when_text *text, struct when_said *said)
{
	struct civil *civil = &said->civil;

	said->unit_ns = 60 * NSEC_PER_SEC;
	if (!when_take_digits(text, 1, 2, &civil->hour))
		return false;
	if (!when_take(text, ":"))
		return take_half_of_day(text, civil);
	if (!when_take_digits(text, 2, 2, &civil->minute))
		return false;
	if (when_take(text, ":")) {
		said->unit_ns = NSEC_PER_SEC;
		if (!when_take_digits(text, 2, 2, &civil->second))
			return false;
		if ((*text->at == '.' || *text->at == ',') &&
		    !when_take_fraction(text, &civil->fraction_ns, &said->unit_ns) && !text->within)
			return false;
	}
	take_half_of_day(text, civil);
	return true;
}

/* Takes "+01:00", "+0100" or "+01". */
static bool take_offset(struct when_text *text, struct civil *civil)
{
	int sign = *text->at == '-' ? -1 : 1, hours, minutes = 0;

	if (!when_take_one_of(text, "+-"))
		return false;
	if (when_take_digits(text, 4, 4, &hours)) {
		minutes = hours % 100;
		hours /= 100;
	} else if (!when_take_digits(text, 2, 2, &hours)) {
		return false;
	} else if (when_take(text, ":") && !when_take_digits(text, 2, 2, &minutes)) {
		return false;
	}
	if (hours > 23 || minutes > 59)
		snprintf(text->wrong, sizeof(text->wrong), "no zone has that offset");
	civil->zoned = true;
	civil->offset_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

static bool is_date_name(struct when_text text)
{
	struct civil civil;
	int weekday;

	return take_month_name(&text, &civil) || take_weekday_name(&text, &weekday);
}

/*
 * Takes the name of a zone. Within a longer text, it accepts only capital letters that are a zone
 * in use.
 */
static bool take_zone_name(struct when_text *text, struct civil *civil)
{
	char name[ZONE_NAME_MAX + 1] = "";
	struct when_text ahead = *text;
	enum zone_name verdict;
	size_t size = 0;

	while (isalpha((unsigned char)text->at[size]))
		size++;
	if (!size || size > ZONE_NAME_MAX || isdigit((unsigned char)text->at[size]) ||
	    text->at[size] == '_' || is_date_name(*text))
		return false;
	for (size_t i = 0; i < size; i++)
		name[i] = text->within ? text->at[i] : toupper((unsigned char)text->at[i]);
	verdict = zone_name_find(name, size, &civil->offset_s);
	if (verdict == ZONE_NAME_NONE &&
	    (text->within || !strcmp(name, "TODAY") || !strcmp(name, "ON") || !strcmp(name, "AGO")))
		return false;
	text->at += size;
	civil->zoned = true;
	if (verdict == ZONE_NAME_CLEAR) {
		/* "GMT+0100" */
		ahead = *text;
		if ((!strcmp(name, "GMT") || !strcmp(name, "UTC")) && take_offset(&ahead, civil))
			*text = ahead;
		return true;
	}
	snprintf(text->wrong, sizeof(text->wrong),
		 verdict == ZONE_NAME_UNCLEAR
			 ? "%s names several time zones; write UTC, or an offset such as +01:00"
			 : "%s is not a known time zone; write UTC, or an offset such as +01:00",
		 name);
	return true;
}

static void take_zone(struct when_text *text, struct civil *civil)
{
	struct when_text ahead = *text;
	struct civil zoned = *civil;

	when_take_blanks(&ahead);
	if (!take_offset(&ahead, &zoned)) {
		ahead = *text;
		when_take_blanks(&ahead);
		if (!take_zone_name(&ahead, &zoned))
			return;
	}
	*text = ahead;
	*civil = zoned;
}

/* Takes the text between a date and a clock. */
static bool take_between(struct when_text *text)
{
	const char *start = text->at;

	if (when_take_one_of(text, "Tt:") && isdigit((unsigned char)*text->at))
		return true;
	text->at = start;
	when_take(text, ",");
	when_take_blanks(text);
	if (when_take_word(text, "at") || when_take(text, "@"))
		when_take_blanks(text);
	return text->at > start;
}

/* Takes a date behind the clock: "03:12 yesterday", "3:12 PM on Nov 19". */
static void take_date_behind(struct when_text *text, struct when_said *said)
{
	struct when_text ahead = *text;

	when_take(&ahead, ",");
	when_take_blanks(&ahead);
	if (when_take_word(&ahead, "on"))
		when_take_blanks(&ahead);
	if (ahead.at == text->at)
		return;
	take_dates(&ahead, said);
	if (said->date)
		*text = ahead;
}

/* Takes the year in "Thu Nov 19 12:24:49 UTC 2026", and a zone behind it. */
static void take_late_year(struct when_text *text, struct when_said *said)
{
	if (said->date != WHEN_DATE_YEARLESS || !take_year_behind(text, &said->civil.year))
		return;
	said->date = WHEN_DATE_FULL;
	if (!said->civil.zoned)
		take_zone(text, &said->civil);
}

/* Skips a "(UTC)" that repeats the zone. */
static void take_comment(struct when_text *text)
{
	const char *open = text->at + strspn(text->at, " \t"), *close = strchr(open, ')');

	if (*open == '(' && close)
		text->at = close + 1;
}

bool when_take_said(struct when_text *text, struct when_said *ret_said)
{
	struct when_said said = { .date = WHEN_DATE_NONE };
	struct when_text ahead;

	take_dates(text, &said);
	ahead = *text;
	said.has_clock = (!said.date || take_between(&ahead)) && when_take_clock(&ahead, &said);
	if (said.has_clock) {
		*text = ahead;
		take_zone(text, &said.civil);
		if (!said.date)
			take_date_behind(text, &said);
		take_late_year(text, &said);
		if (said.civil.zoned)
			take_comment(text);
	}
	*ret_said = said;
	return !*text->wrong && (said.has_clock || said.date == WHEN_DATE_DAYS_AGO);
}
