// SPDX-License-Identifier: GPL-2.0-only
#include "base/size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define SIZE_MAX_BYTES 1e18

static const char units[] = "kMGTP";

/*
 * Returns the factor of a unit such as "", "B", "k", "kB" or "KiB", in upper or lower case; 0 for
 * any other text.
 */
static double unit_factor(const char *text)
{
	double factor = 1, step = 1000;
	size_t power = 0;

	for (size_t i = 0; *text && units[i]; i++)
		if (strncasecmp(&units[i], text, 1) == 0)
			power = i + 1;
	if (power)
		text++;
	if (power && (*text == 'i' || *text == 'I')) {
		step = 1024;
		text++;
	}
	if (strcasecmp(text, "") != 0 && strcasecmp(text, "B") != 0)
		return 0;
	while (power--)
		factor *= step;
	return factor;
}

int size_parse(const char *text, uint64_t *ret_bytes)
{
	size_t digits = strspn(text, "0123456789.");
	double value, factor = unit_factor(text + digits);
	char number[32], *end;

	if (!digits || digits >= sizeof(number) || *text == '.' || factor == 0)
		return -EINVAL;
	memcpy(number, text, digits);
	number[digits] = 0;
	value = strtod(number, &end) * factor;
	if (*end)
		return -EINVAL;
	if (!text[digits] && value > 0)
		return -EDOM;
	if (value > SIZE_MAX_BYTES)
		return -ERANGE;
	*ret_bytes = value + 0.5;
	return 0;
}

const char *size_format(uint64_t bytes, char *text, size_t size)
{
	double value = bytes;
	size_t power = 0;

	while (value >= 999.95 && power + 1 < ARRAY_SIZE(units)) {
		value /= 1000;
		power++;
	}
	if (power)
		snprintf(text, size, "%.1f %cB", value, units[power - 1]);
	else
		snprintf(text, size, "%llu B", (unsigned long long)bytes);
	return text;
}
