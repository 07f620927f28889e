/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Orders gauges by how much they changed: against their usual values, or within the window if no
 * usual value is known. People look for news, and a counter that never moves is not news.
 */

#include "query/sums/gauge-rows.h"

/*
 * Sets the usual value and the change of each row, and sorts the rows. Call gauge_rows_finish() for
 * both arguments before. `usual` may have no rows. Rows that changed most come first; constant rows
 * and idle time come last. Among equals, rows are sorted by name.
 */
void gauge_usual_compare(struct gauge_rows *gauges, const struct gauge_rows *usual);
/*
 * Returns whether a row is at least 1.5 times its usual value, or its usual value at least 1.5
 * times the row. Small differences do not count.
 */
bool gauge_usual_stands_out(const struct gauge_rows_row *row);
/* Returns whether a row has no news: the row is constant, or shows idle time. */
bool gauge_usual_is_calm(const struct gauge_rows_row *row);
