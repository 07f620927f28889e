/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Abbreviations of time zones. Many of them stand for several zones: CST is -06:00, +08:00 or
 * -05:00.
 */

#include <stddef.h>

enum zone_name {
	/* The text is not an abbreviation in use. */
	ZONE_NAME_NONE,
	/* The abbreviation stands for one offset everywhere. */
	ZONE_NAME_CLEAR,
	/* The abbreviation stands for several offsets, or is too rare to rely on. */
	ZONE_NAME_UNCLEAR,
};

/* The length of the longest abbreviation. */
#define ZONE_NAME_MAX 5

/*
 * Looks up an abbreviation in capital letters. Sets *ret_offset_s, in seconds east of UTC, if the
 * abbreviation is clear.
 */
enum zone_name zone_name_find(const char *text, size_t size, int *ret_offset_s);
