// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/stamp.h"

#include <ctype.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define FIRST_SECOND 978307200ull /* in the year 2001; no journal is older */
#define END_SECOND 7289654400ull /* 2201 */

static bool take_int(struct text_cursor *cursor, int least, int most, int *ret_value)
{
	uint64_t value;

	if (!take_number(cursor, least, most, &value))
		return false;
	*ret_value = value;
	return true;
}

/* Takes one of several three-letter names. Numbers them from 1. */
static bool stamp_take_name(struct text_cursor *cursor, const char *names, int *ret_number)
{
	if (text_cursor_left(cursor) < 3)
		return false;
	for (int i = 0; names[3 * i]; i++) {
		if (memcmp(names + 3 * i, cursor->at, 3))
			continue;
		cursor->at += 3;
		*ret_number = i + 1;
		return true;
	}
	return false;
}

static bool take_month(struct text_cursor *cursor, int *ret_month)
{
	return stamp_take_name(cursor, "JanFebMarAprMayJunJulAugSepOctNovDec", ret_month);
}

static bool take_weekday(struct text_cursor *cursor)
{
	int day;

	return stamp_take_name(cursor, "MonTueWedThuFriSatSun", &day);
}

/* Takes AM or PM, but not "PM:", which begins messages about suspending. */
static void take_half_day(struct text_cursor *cursor, struct stamp *stamp)
{
	struct text_cursor at = *cursor;
	bool pm;

	take_char(&at, ' ');
	pm = take_text(&at, "PM") || take_text(&at, "pm");
	if ((!pm && !take_text(&at, "AM") && !take_text(&at, "am")) || stamp->hour < 1 ||
	    stamp->hour > 12 || (at.at < at.end && !strchr(" ],)", *at.at)))
		return;
	stamp->hour = stamp->hour % 12 + (pm ? 12 : 0);
	*cursor = at;
}

/* Takes 07:41:09[.341][ AM]. */
static bool stamp_take_clock(struct text_cursor *cursor, struct stamp *stamp)
{
	if (!take_int(cursor, 1, 2, &stamp->hour) || !take_char(cursor, ':') ||
	    !take_int(cursor, 2, 2, &stamp->minute) || !take_char(cursor, ':') ||
	    !take_int(cursor, 2, 2, &stamp->second))
		return false;
	stamp->resolution_ns = NSEC_PER_SEC;
	stamp->comma = text_cursor_is(cursor, ',');
	if ((stamp->comma || text_cursor_is(cursor, '.')) && text_cursor_left(cursor) > 1 &&
	    isdigit((unsigned char)cursor->at[1])) {
		cursor->at++;
		take_fraction(cursor, &stamp->fraction_ns, &stamp->resolution_ns);
	} else {
		stamp->comma = false;
	}
	take_half_day(cursor, stamp);
	return stamp->hour < 24 && stamp->minute < 60 && stamp->second <= 60;
}

/* Takes "Z", or the name of a zone after a blank. */
static bool take_named_zone(struct text_cursor *cursor, struct stamp *stamp)
{
	struct text_cursor at = *cursor;
	bool blank = take_char(&at, ' ');
	enum zone_name verdict;
	size_t size = 0;

	while (size < text_cursor_left(&at) && isupper((unsigned char)at.at[size]))
		size++;
	if (!size || size > ZONE_NAME_MAX || (!blank && *at.at != 'Z') ||
	    (size < text_cursor_left(&at) &&
	     (isalnum((unsigned char)at.at[size]) || strchr("_-", at.at[size]))))
		return false;
	verdict = zone_name_find(at.at, size, &stamp->offset_s);
	if (verdict == ZONE_NAME_NONE)
		return false;
	if (verdict == ZONE_NAME_UNCLEAR)
		memcpy(stamp->unclear, at.at, size);
	stamp->zoned = verdict == ZONE_NAME_CLEAR;
	cursor->at = at.at + size;
	return true;
}

/* Takes Z, +01:00, +0100, +01, " UTC", " +0100", or nothing. */
static void stamp_take_zone(struct text_cursor *cursor, struct stamp *stamp)
{
	struct text_cursor at = *cursor;
	int sign, hours, minutes = 0;

	if (take_named_zone(cursor, stamp))
		return;
	take_char(&at, ' ');
	sign = text_cursor_is(&at, '-') ? -1 : 1;
	if (!take_char(&at, '+') && !take_char(&at, '-'))
		return;
	if (take_int(&at, 4, 4, &hours)) {
		minutes = hours % 100;
		hours /= 100;
	} else if (!take_int(&at, 2, 2, &hours)) {
		return;
	} else if (take_char(&at, ':') && !take_int(&at, 2, 2, &minutes)) {
		return;
	}
	if (hours > 15 || minutes > 59)
		return;
	stamp->zoned = true;
	stamp->offset_s = sign * (hours * 3600 + minutes * 60);
	*cursor = at;
}

/* Takes any word that can only be the name of a zone at this place. */
static void take_other_zone(struct text_cursor *cursor, struct stamp *stamp)
{
	struct text_cursor at = *cursor;
	size_t size = 0;

	take_char(&at, ' ');
	while (size < text_cursor_left(&at) && isupper((unsigned char)at.at[size]))
		size++;
	if (size < 3 || size > 5 || (size < text_cursor_left(&at) && at.at[size] != ' '))
		return;
	memcpy(stamp->unclear, at.at, size);
	at.at += size;
	*cursor = at;
}

static bool take_iso(struct text_cursor *cursor, struct stamp *stamp)
{
	char between;

	if (!take_int(cursor, 4, 4, &stamp->year) || text_cursor_left(cursor) < 1)
		return false;
	between = *cursor->at;
	if ((between != '-' && between != '/') || !take_char(cursor, between) ||
	    !take_int(cursor, 2, 2, &stamp->month) || !take_char(cursor, between) ||
	    !take_int(cursor, 2, 2, &stamp->day))
		return false;
	if (!take_char(cursor, 'T') && !take_char(cursor, ' ') && !take_char(cursor, 't'))
		return false;
	if (!stamp_take_clock(cursor, stamp))
		return false;
	stamp_take_zone(cursor, stamp);
	return true;
}

/* Takes "Mar 12" or "Mar  2". */
static bool take_day(struct text_cursor *cursor, struct stamp *stamp)
{
	if (!take_month(cursor, &stamp->month))
		return false;
	take_blanks(cursor);
	return take_int(cursor, 1, 2, &stamp->day);
}

static bool take_year(struct text_cursor *cursor, struct stamp *stamp)
{
	struct text_cursor at = *cursor;
	int year;

	take_char(&at, ',');
	if (!take_char(&at, ' ') || !take_int(&at, 4, 4, &year) || year < 1990 || year > 2200 ||
	    (at.at < at.end && !strchr(" ]:,", *at.at)))
		return false;
	stamp->year = year;
	*cursor = at;
	return true;
}

/* Takes [Wed ]Mar 12 [2025 ]07:41:09[.435319][ UTC][ 2025]. */
static bool take_traditional(struct text_cursor *cursor, struct stamp *stamp)
{
	struct text_cursor at;
	struct stamp other;

	if (take_int(cursor, 4, 4, &stamp->year) && !take_char(cursor, ' '))
		return false;
	if (!take_day(cursor, stamp))
		return false;
	if (take_year(cursor, stamp))
		take_char(cursor, ',');
	if (!take_char(cursor, ' ') || !stamp_take_clock(cursor, stamp))
		return false;
	if (!stamp->year && take_year(cursor, stamp))
		return true;
	stamp_take_zone(cursor, stamp);
	if (stamp->year || take_year(cursor, stamp))
		return true;
	/* before a year, any word is a zone */
	at = *cursor;
	other = *stamp;
	take_other_zone(&at, &other);
	if (!stamp->zoned && !*stamp->unclear && take_year(&at, &other)) {
		*cursor = at;
		*stamp = other;
	}
	return true;
}

/* Takes [Thu, ]12 Mar 2025 07:41:09[.341][ +0000], as in mail (RFC 2822). */
static bool take_mail(struct text_cursor *cursor, struct stamp *stamp)
{
	if (take_weekday(cursor)) {
		take_char(cursor, ',');
		take_blanks(cursor);
	}
	if (!take_int(cursor, 1, 2, &stamp->day) || !take_char(cursor, ' ') ||
	    !take_month(cursor, &stamp->month) || !take_year(cursor, stamp))
		return false;
	take_char(cursor, ',');
	if (!take_char(cursor, ' ') || !stamp_take_clock(cursor, stamp))
		return false;
	stamp_take_zone(cursor, stamp);
	return true;
}

static bool take_weekday_first(struct text_cursor *cursor, struct stamp *stamp)
{
	struct text_cursor at;

	if (!take_weekday(cursor) || !take_char(cursor, ' '))
		return false;
	at = *cursor;
	if (!take_iso(&at, stamp)) {
		*stamp = (struct stamp){ 0 };
		return take_traditional(cursor, stamp);
	}
	*cursor = at;
	if (!stamp->zoned && !*stamp->unclear)
		take_other_zone(cursor, stamp);
	return true;
}

/* Takes a month of another locale. Only the beginning of its short name must match. */
static bool take_foreign_month(struct text_cursor *cursor, int *ret_month)
{
	static const struct {
		const char *name;
		int month;
	} months[] = { { "jan", 1 },  { "ene", 1 },	    { "gen", 1 },  { "feb", 2 },
		       { "fev", 2 },  { "f\xc3\xa9v", 2 },  { "mar", 3 },  { "m\xc3\xa4r", 3 },
		       { "mrt", 3 },  { "apr", 4 },	    { "avr", 4 },  { "abr", 4 },
		       { "mai", 5 },  { "may", 5 },	    { "mag", 5 },  { "mei", 5 },
		       { "jun", 6 },  { "juin", 6 },	    { "giu", 6 },  { "jul", 7 },
		       { "juil", 7 }, { "lug", 7 },	    { "aug", 8 },  { "ao\xc3\xbb", 8 },
		       { "ago", 8 },  { "sep", 9 },	    { "set", 9 },  { "oct", 10 },
		       { "okt", 10 }, { "ott", 10 },	    { "out", 10 }, { "nov", 11 },
		       { "dec", 12 }, { "d\303\251c", 12 }, { "dez", 12 }, { "dic", 12 } };

	for (size_t i = 0; i < sizeof(months) / sizeof(months[0]); i++) {
		size_t size = strlen(months[i].name);

		if (text_cursor_left(cursor) <= size ||
		    strncasecmp(cursor->at, months[i].name, size) != 0)
			continue;
		*ret_month = months[i].month;
		while (cursor->at < cursor->end && *cursor->at != ' ')
			cursor->at++;
		return true;
	}
	return false;
}

/* Takes "mer. mars 12 07:41:09 2025", which dmesg writes in another locale. */
static bool take_foreign(struct text_cursor *cursor, struct stamp *stamp)
{
	size_t size = 0;

	while (size < text_cursor_left(cursor) && cursor->at[size] != ' ')
		size++;
	if (size < 2 || size > 12)
		return false;
	cursor->at += size;
	take_blanks(cursor);
	if (!take_foreign_month(cursor, &stamp->month))
		return false;
	take_blanks(cursor);
	return take_int(cursor, 1, 2, &stamp->day) && take_char(cursor, ' ') &&
	       stamp_take_clock(cursor, stamp) && take_year(cursor, stamp);
}

/* Takes 12/Mar/2025:07:41:09 +0000, which web servers write. */
static bool take_web(struct text_cursor *cursor, struct stamp *stamp)
{
	if (!take_int(cursor, 2, 2, &stamp->day) || !take_char(cursor, '/') ||
	    !take_month(cursor, &stamp->month) || !take_char(cursor, '/') ||
	    !take_int(cursor, 4, 4, &stamp->year) || !take_char(cursor, ':') ||
	    !stamp_take_clock(cursor, stamp))
		return false;
	stamp_take_zone(cursor, stamp);
	return true;
}

static bool take_epoch(struct text_cursor *cursor, struct stamp *stamp)
{
	const char *start = cursor->at;
	uint32_t fraction;
	uint64_t unit;

	while (cursor->at < cursor->end && isdigit((unsigned char)*cursor->at))
		cursor->at++;
	if (cursor->at - start < 9)
		return false;
	if (cursor->at - start <= 10 && take_char(cursor, '.')) {
		if (!take_fraction(cursor, &fraction, &unit))
			return false;
	} else if (cursor->at - start < 13) {
		return false;
	}
	if (cursor->at < cursor->end && !strchr(" \t,;|", *cursor->at))
		return false;
	return stamp_from_number(start, cursor->at - start, stamp);
}

bool stamp_take(struct text_cursor *cursor, struct stamp *ret_stamp)
{
	static bool (*const forms[])(struct text_cursor *, struct stamp *) = {
		take_iso,   take_traditional, take_weekday_first, take_mail,
		take_epoch, take_foreign,     take_web,
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct text_cursor at = *cursor;
		struct stamp stamp = { 0 };
		int64_t seconds;

		if (!forms[i](&at, &stamp))
			continue;
		/* without a year, check the day against a leap year, which has all days */
		if (!stamp.epoch &&
		    !stamp_seconds(&stamp, stamp.year ? stamp.year : 2024, &seconds))
			continue;
		*cursor = at;
		*ret_stamp = stamp;
		return true;
	}
	return false;
}

bool stamp_take_minute(struct text_cursor *cursor, struct stamp *ret_stamp)
{
	struct text_cursor at = *cursor;
	struct stamp stamp = { .resolution_ns = 60 * NSEC_PER_SEC };

	if (!take_day(&at, &stamp) || !take_char(&at, ' ') || !take_int(&at, 2, 2, &stamp.hour) ||
	    !take_char(&at, ':') || !take_int(&at, 2, 2, &stamp.minute) || stamp.hour > 23 ||
	    stamp.minute > 59 || stamp.day < 1 || stamp.day > 31)
		return false;
	*cursor = at;
	*ret_stamp = stamp;
	return true;
}

bool stamp_from_number(const char *text, size_t size, struct stamp *ret_stamp)
{
	struct text_cursor at = { text, text + size };
	struct stamp stamp = { .epoch = true };
	uint64_t value, unit = NSEC_PER_SEC;
	uint32_t fraction = 0;

	if (!take_number(&at, 9, 19, &value))
		return false;
	while (value / (NSEC_PER_SEC / unit) >= END_SECOND && unit > 1)
		unit /= 1000;
	stamp.resolution_ns = unit;
	if (take_char(&at, '.') && !take_fraction(&at, &fraction, &stamp.resolution_ns))
		return false;
	if (at.at != at.end || (fraction && unit != NSEC_PER_SEC) ||
	    value / (NSEC_PER_SEC / unit) >= END_SECOND ||
	    value / (NSEC_PER_SEC / unit) < FIRST_SECOND)
		return false;
	stamp.realtime_ns = value * unit + fraction;
	*ret_stamp = stamp;
	return true;
}

bool stamp_seconds(const struct stamp *stamp, int year, int64_t *ret_seconds)
{
	struct tm tm = {
		.tm_year = year - 1900,
		.tm_mon = stamp->month - 1,
		.tm_mday = stamp->day,
		.tm_hour = stamp->hour,
		.tm_min = stamp->minute,
		.tm_sec = stamp->second,
	};
	int64_t seconds;

	if (year < 1971 || year > 2200 || stamp->month < 1 || stamp->month > 12 || stamp->day < 1)
		return false;
	seconds = timegm(&tm);
	/* timegm() turns the 30th of February into a day in March */
	if (stamp->second < 60 && (tm.tm_mday != stamp->day || tm.tm_mon != stamp->month - 1))
		return false;
	*ret_seconds = seconds;
	return true;
}

bool stamp_find_yearless(const char *text, size_t size, bool last, struct stamp *ret_stamp)
{
	bool found = false;

	while (size && (last || !found)) {
		const char *newline = memchr(text, '\n', size);
		struct text_cursor cursor = { text, newline ? newline : text + size };
		struct stamp stamp;

		size -= MIN(size, (size_t)(cursor.end - text) + 1);
		text = cursor.end + 1;
		take_char(&cursor, '<');
		if (stamp_take(&cursor, &stamp) && !stamp.year && !stamp.epoch) {
			*ret_stamp = stamp;
			found = true;
		}
	}
	return found;
}
