/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The parts of a time with a clock: date, clock, zone. Private to query/window/. */

#include "query/window/civil.h"

/* A cursor in a text. */
struct when_text {
	const char *at;
	/* The text is longer than the time, so a word that is not a zone may follow. */
	bool within;
	/*
	 * The reason why the text is impossible although it has the right form; "" if it is
	 * possible.
	 */
	char wrong[96];
};

enum when_date {
	WHEN_DATE_NONE,
	WHEN_DATE_FULL,
	/* A month and a day without a year. */
	WHEN_DATE_YEARLESS,
	WHEN_DATE_DAYS_AGO,
	WHEN_DATE_WEEKDAY,
};

/* The parts of a time that the text contains, before the date is complete. */
struct when_said {
	enum when_date date;
	int days_ago;
	/* The weekday, from 0 for Sunday. */
	int weekday;
	bool has_clock;
	uint64_t unit_ns;
	struct civil civil;
};

bool when_take(struct when_text *text, const char *literal);
void when_take_blanks(struct when_text *text);
/* Takes a word, in upper or lower case, that no letter or digit follows. */
bool when_take_word(struct when_text *text, const char *word);
/* Takes a fraction: ".25" or ",25". Drops digits beyond the ninth. */
bool when_take_fraction(struct when_text *text, uint32_t *ret_ns, uint64_t *ret_unit_ns);
/*
 * Takes a clock with its date and zone, if these are present. Returns false without a clock, or
 * with text->wrong set.
 */
bool when_take_said(struct when_text *text, struct when_said *ret_said);
