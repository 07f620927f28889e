// SPDX-License-Identifier: GPL-2.0-only
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static const struct unit {
	const char *name;
	double ns;
} units[] = {
	{ "ns", 1 },   { "us", 1e3 },	{ "ms", 1e6 },	 { "s", 1e9 },
	{ "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 },
};

int duration_parse(const char *text, uint64_t *ret_ns)
{
	double total = 0;

	if (!*text)
		return -EINVAL;
	while (*text) {
		size_t size = strspn(text, "0123456789.");
		const struct unit *unit = NULL;
		char number[32], *end;
		double value;

		if (!size || size >= sizeof(number))
			return -EINVAL;
		memcpy(number, text, size);
		number[size] = 0;
		value = strtod(number, &end);
		if (*end || number[0] == '.')
			return -EINVAL;
		text += size;
		size = strspn(text, "abcdefghijklmnopqrstuvwxyz");
		if (!size && !*text && total == 0 && value > 0)
			return -EDOM;
		if (!size && !*text && total == 0)
			break;
		for (size_t i = 0; i < ARRAY_SIZE(units) && !unit; i++)
			if (strlen(units[i].name) == size && !strncmp(units[i].name, text, size))
				unit = &units[i];
		if (!unit)
			return -EINVAL;
		total += value * unit->ns;
		text += size;
	}
	if (total > 100 * 366 * 86400e9)
		return -ERANGE;
	*ret_ns = total + 0.5;
	return 0;
}

/*
 * Rounds to the unit that duration_format() shows, before duration_format() chooses the unit: 59.96
 * s is 1 min.
 */
static uint64_t clock_rounded(uint64_t ns)
{
	uint64_t unit = NSEC_PER_SEC;

	if (ns < NSEC_PER_MSEC)
		unit = NSEC_PER_USEC;
	else if (ns < NSEC_PER_SEC)
		unit = NSEC_PER_MSEC;
	else if (ns < 60 * NSEC_PER_SEC)
		unit = NSEC_PER_SEC / 10;
	return ns > UINT64_MAX - unit ? ns : (ns + unit / 2) / unit * unit;
}

const char *duration_format(uint64_t ns, char *text, size_t size)
{
	uint64_t seconds;

	ns = clock_rounded(ns);
	seconds = ns / NSEC_PER_SEC;
	if (ns < NSEC_PER_MSEC)
		snprintf(text, size, "%llu us", (unsigned long long)(ns / 1000));
	else if (ns < NSEC_PER_SEC)
		snprintf(text, size, "%llu ms", (unsigned long long)(ns / NSEC_PER_MSEC));
	else if (seconds < 60 && ns % NSEC_PER_SEC >= NSEC_PER_SEC / 10)
		snprintf(text, size, "%.1f s", (double)(ns / (NSEC_PER_SEC / 10)) / 10);
	else if (seconds < 60)
		snprintf(text, size, "%llu s", (unsigned long long)seconds);
	else if (seconds < 3600)
		snprintf(text, size, "%llu min %llu s", (unsigned long long)seconds / 60,
			 (unsigned long long)seconds % 60);
	else if (seconds < 48 * 3600)
		snprintf(text, size, "%llu h %llu min", (unsigned long long)seconds / 3600,
			 (unsigned long long)seconds / 60 % 60);
	else
		snprintf(text, size, "%llu d %llu h", (unsigned long long)seconds / 86400,
			 (unsigned long long)seconds / 3600 % 24);
	return text;
}

const char *time_format(uint64_t realtime_ns, bool utc, int digits, char text[TIME_TEXT_SIZE])
{
	time_t seconds = realtime_ns / NSEC_PER_SEC;
	unsigned long long fraction = realtime_ns % NSEC_PER_SEC;
	struct tm tm = { 0 };
	size_t used;

	if (utc)
		gmtime_r(&seconds, &tm);
	else
		localtime_r(&seconds, &tm);
	used = strftime(text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	if (digits > 0) {
		for (int i = digits; i < 9; i++)
			fraction /= 10;
		used += snprintf(text + used, TIME_TEXT_SIZE - used, ".%0*llu", digits, fraction);
	}
	if (utc) {
		snprintf(text + used, TIME_TEXT_SIZE - used, "Z");
	} else {
		long minutes = tm.tm_gmtoff / 60;

		snprintf(text + used, TIME_TEXT_SIZE - used, "%c%02ld:%02ld",
			 minutes < 0 ? '-' : '+', labs(minutes) / 60, labs(minutes) % 60);
	}
	return text;
}
