// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "import/import-clock.h"
#include "import/importer.h"

/* The largest error of each source; docs/IMPORT.md gives the reasons. */
#define FILE_ERROR_NS (1 * NSEC_PER_MSEC)
#define END_NAME_ERROR_NS (1 * NSEC_PER_SEC)
#define BEGIN_NAME_ERROR_NS (3 * NSEC_PER_SEC)
#define MTIME_ERROR_NS (5 * NSEC_PER_SEC)

#define CENTURY_BEGIN_NS (946684800 * NSEC_PER_SEC)
#define CENTURY_END_NS (4102444800 * NSEC_PER_SEC)

const char *import_clock_text(enum import_clock_source source)
{
	switch (source) {
	case IMPORT_CLOCK_GIVEN:
		return "as given";
	case IMPORT_CLOCK_FILE:
		return "by the file's clock data";
	case IMPORT_CLOCK_NEIGHBOUR:
		return "by a file of the same boot";
	case IMPORT_CLOCK_END_NAME:
		return "by the end in its name";
	case IMPORT_CLOCK_BEGIN_NAME:
		return "by the begin in its name";
	case IMPORT_CLOCK_MTIME:
		return "by the time of its last change";
	}
	return "";
}

static size_t import_clock_digits(const char *text)
{
	return strspn(text, "0123456789");
}

static int import_clock_number(const char *text, size_t size)
{
	int value = 0;

	for (size_t i = 0; i < size; i++)
		value = value * 10 + (text[i] - '0');
	return value;
}

/* Converts fourteen digits of date and time, as local time or UTC. */
static bool date_of(const char digit[14], bool utc, uint64_t *ret_ns)
{
	struct tm tm = {
		.tm_year = import_clock_number(digit, 4) - 1900,
		.tm_mon = import_clock_number(digit + 4, 2) - 1,
		.tm_mday = import_clock_number(digit + 6, 2),
		.tm_hour = import_clock_number(digit + 8, 2),
		.tm_min = import_clock_number(digit + 10, 2),
		.tm_sec = import_clock_number(digit + 12, 2),
		.tm_isdst = -1,
	};
	time_t seconds;

	if (tm.tm_year < 100 || tm.tm_year > 200 || tm.tm_mon > 11 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	seconds = utc ? timegm(&tm) : mktime(&tm);
	if (seconds <= 0)
		return false;
	*ret_ns = seconds * NSEC_PER_SEC;
	return true;
}

/*
 * Takes a date at the beginning of a text, with or without marks between its parts:
 * 20251118T031207, 2025-11-18_03:12:07. Returns the date's size; 0: the text does not begin with a
 * date.
 */
static size_t import_clock_take_date(const char *text, char digit[14])
{
	static const int marks[] = { 4, 6, 8, 10, 12 };
	size_t at = 0, mark = 0;

	for (int i = 0; i < 14; i++) {
		if (mark < 5 && i == marks[mark]) {
			mark++;
			if (text[at] && strchr("-_:.T", text[at]))
				at++;
		}
		if (!isdigit((unsigned char)text[at]))
			return 0;
		digit[i] = text[at++];
	}
	return at;
}

/* perf.data.2025111803120725: the time at which perf closed the file, in hundredths of a second. */
static bool end_name(const char *name, uint64_t *ret_ns)
{
	const char *stamp = strrchr(name, '.');

	while (stamp && stamp > name && import_clock_digits(stamp + 1) != 16) {
		const char *before = stamp - 1;

		while (before > name && *before != '.')
			before--;
		stamp = before > name ? before : NULL;
	}
	if (!stamp || import_clock_digits(stamp + 1) != 16 || !date_of(stamp + 1, false, ret_ns))
		return false;
	*ret_ns += import_clock_number(stamp + 15, 2) * (NSEC_PER_SEC / 100);
	return true;
}

static bool epoch_name(const char *at, size_t size, uint64_t *ret_ns)
{
	uint64_t value = strtoull(at, NULL, 10);

	if (size == 10)
		value *= NSEC_PER_SEC;
	else if (size == 13)
		value *= NSEC_PER_MSEC;
	else
		return false;
	*ret_ns = value;
	return value > CENTURY_BEGIN_NS && value < CENTURY_END_NS;
}

int import_name_time(const char *path, uint64_t *ret_realtime_ns, uint64_t *ret_error_ns,
		     bool *ret_ends)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char digit[14];

	*ret_ends = true;
	*ret_error_ns = END_NAME_ERROR_NS;
	if (end_name(name, ret_realtime_ns))
		return 1;
	*ret_ends = false;
	*ret_error_ns = BEGIN_NAME_ERROR_NS;
	for (const char *at = name; *at; at++) {
		size_t size;

		if (!isdigit((unsigned char)*at) || (at > name && isdigit((unsigned char)at[-1])))
			continue;
		size = import_clock_take_date(at, digit);
		if (size && !isdigit((unsigned char)at[size]) &&
		    date_of(digit, at[size] == 'Z', ret_realtime_ns))
			return 1;
		if (epoch_name(at, import_clock_digits(at), ret_realtime_ns))
			return 1;
	}
	return 0;
}

static void set_clock(struct import_file *file, enum import_clock_source source,
		      uint64_t realtime_ns, uint64_t clock_ns, uint64_t error_ns)
{
	file->clock = (struct import_clock){
		.source = source,
		.offset_ns = (int64_t)(realtime_ns - clock_ns),
		.error_ns = error_ns,
	};
}

/* Clock data that puts the samples into another century is damaged. */
static bool import_clock_plausible(const struct import_file *file)
{
	uint64_t last_ns = file->last_ns - file->perf.clock_ns + file->perf.realtime_ns;

	return file->perf.has_clock && last_ns > CENTURY_BEGIN_NS && last_ns < CENTURY_END_NS;
}

int import_clock_find(struct import_file *file, const struct import_options *options)
{
	uint64_t realtime_ns, error_ns;
	struct stat about;
	bool ends;

	if (options->has_offset) {
		set_clock(file, IMPORT_CLOCK_GIVEN, options->offset_ns, 0, 0);
	} else if (options->end_ns) {
		set_clock(file, IMPORT_CLOCK_GIVEN, options->end_ns, file->last_ns, 0);
	} else if (import_clock_plausible(file)) {
		set_clock(file, IMPORT_CLOCK_FILE, file->perf.realtime_ns, file->perf.clock_ns,
			  FILE_ERROR_NS);
	} else if (import_name_time(file->path, &realtime_ns, &error_ns, &ends)) {
		set_clock(file, ends ? IMPORT_CLOCK_END_NAME : IMPORT_CLOCK_BEGIN_NAME, realtime_ns,
			  ends ? file->last_ns : file->first_ns, error_ns);
	} else {
		if (stat(file->path, &about) < 0)
			return -errno;
		realtime_ns = about.st_mtim.tv_sec * NSEC_PER_SEC + about.st_mtim.tv_nsec;
		set_clock(file, IMPORT_CLOCK_MTIME, realtime_ns, file->last_ns, MTIME_ERROR_NS);
	}
	return 0;
}

static uint64_t import_clock_apart(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)(a - b) : (uint64_t)(b - a);
}

void import_clock_align(struct import_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct import_clock *clock = &files[i].clock;

		for (size_t j = 0; j < count; j++) {
			const struct import_clock *other = &files[j].clock;

			if (strcmp(files[i].perf.host, files[j].perf.host) != 0 ||
			    files[i].event->clock != files[j].event->clock ||
			    other->source == IMPORT_CLOCK_NEIGHBOUR ||
			    import_clock_apart(clock->offset_ns, other->offset_ns) >
				    clock->error_ns + other->error_ns)
				continue;
			/*
			 * use the most precise clock; of equally precise clocks, use the first one,
			 * so that all files use the same
			 */
			if (other->error_ns < clock->error_ns ||
			    (other->error_ns == clock->error_ns && j < i && clock->error_ns)) {
				*clock = *other;
				clock->source = IMPORT_CLOCK_NEIGHBOUR;
				break;
			}
		}
	}
}
