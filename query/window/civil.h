/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Civil time: what a calendar and a clock show in some zone. Private to query/window/. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CIVIL_DAY_SECONDS 86400

struct civil {
	int year, month, day;
	int hour, minute, second;
	uint32_t fraction_ns;
	/* The time has an offset, in seconds east of UTC. Otherwise its zone is that of TZ. */
	bool zoned;
	int offset_s;
};

/* Flags for a civil time that occurs twice or never, as in struct when. */
struct civil_doubt {
	bool ambiguous;
	bool skipped;
};

/*
 * Computes the epoch second. Second 60 of a leap second becomes the next second. Returns NULL, or a
 * message that says what is impossible about the time.
 */
const char *civil_seconds(const struct civil *civil, time_t *ret_seconds,
			  struct civil_doubt *ret_doubt);
/* Sets the date to that of `seconds` in the time's zone, or to the date `days_ago` days before. */
void civil_set_date(struct civil *civil, time_t seconds, int days_ago);
/* Returns the weekday, from 0 for Sunday. */
int civil_weekday(const struct civil *civil);
