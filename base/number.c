// SPDX-License-Identifier: GPL-2.0-only
#include "base/number.h"

#include <stdio.h>

#include "base/clock.h"

/* Returns tenths of a percent. A share below 1 is never rounded up to 100 %. */
static uint64_t number_tenths(double share)
{
	uint64_t tenths = (uint64_t)(share * 1000 + 0.5);

	return share < 1 && tenths >= 1000 ? 999 : tenths;
}

const char *share_format(double share, char text[SHARE_TEXT_SIZE])
{
	uint64_t tenths = number_tenths(share);

	if (share == 1)
		snprintf(text, SHARE_TEXT_SIZE, "100 %%");
	else if (share > 0 && tenths < 1)
		snprintf(text, SHARE_TEXT_SIZE, "<0.1 %%");
	else
		snprintf(text, SHARE_TEXT_SIZE, "%.1f %%", tenths / 10.0);
	return text;
}

const char *share_cell(double share, char text[SHARE_TEXT_SIZE])
{
	snprintf(text, SHARE_TEXT_SIZE, "%.1f", 100 * share);
	return text;
}

const char *cost_format(double share, char text[SHARE_TEXT_SIZE])
{
	if (share > 0 && share < 0.00005)
		snprintf(text, SHARE_TEXT_SIZE, "<0.01 %%");
	else
		snprintf(text, SHARE_TEXT_SIZE, "%.2f %%", 100 * share);
	return text;
}

const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

const char *age_format(uint64_t ns, char *text, size_t size)
{
	char length[48];

	if (ns < NSEC_PER_SEC)
		snprintf(text, size, "just now");
	else
		snprintf(text, size, "%s ago", duration_format(ns, length, sizeof(length)));
	return text;
}
