/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Orders gauges by how much they changed: against their usual values, or within the window where
 * nothing usual is known. People look for news, and a counter that never moves is not news.
 */

#include "query/sums/gauge-rows.h"

/*
 * Sets the usual value and the change of each row, and sorts the rows. Both must be finished.
 * `usual` may have no rows. Rows that changed most come first; constant rows and idle time come
 * last. Among equals, rows are sorted by name.
 */
void gauge_usual_compare(struct gauge_rows *gauges, const struct gauge_rows *usual);
/* Tells whether a row is at least 1.5 times its usual value, or at most that part of it. */
bool gauge_usual_stands_out(const struct gauge_rows_row *row);
/* Tells whether a row has no news: it is constant, or idle time. */
bool gauge_usual_is_calm(const struct gauge_rows_row *row);
