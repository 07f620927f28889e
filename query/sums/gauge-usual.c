// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/gauge-usual.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define STANDS_OUT 1.5
/* A smaller ratio does not count as a change: means are rounded, and ticks are not even. */
#define LEAST_CHANGE 1.01
/* Readings of less time than this say nothing about what is usual. */
#define LEAST_S 10.0

/*
 * Returns the amount that change_between() adds to both values, for each unit. Without this amount,
 * a rise from 0.01 % to 0.1 % would come before one from 10 % to 60 %.
 */
static double gauge_usual_floor(const struct gauge_rows_row *row)
{
	static const double floors[] = { [SERIES_LEVEL] = 1,
					 [SERIES_SECONDS] = 60,
					 [SERIES_PER_SECOND] = 10,
					 [SERIES_COUNT] = 1,
					 [SERIES_PER_CENT] = 2 };

	return floors[row->unit];
}

static double change_between(const struct gauge_rows_row *row, double a, double b)
{
	double least = gauge_usual_floor(row);

	return fabs(log((a + least) / (b + least)));
}

static double gauge_usual_now(const struct gauge_rows_row *row)
{
	return row->unit == SERIES_COUNT ? row->times : row->mean;
}

/*
 * Returns the usual value. For a count, this is the usual number of events in the time of the row.
 */
static double gauge_usual_value_of(const struct gauge_rows_row *row,
				   const struct gauge_rows_row *usual)
{
	if (!usual || usual->weight_s < LEAST_S)
		return NAN;
	if (row->unit == SERIES_COUNT)
		return usual->times / usual->weight_s * row->weight_s;
	return usual->mean;
}

static bool is_idle(const char *name)
{
	size_t size = strlen(name);

	return size >= strlen("/idle") && strcmp(name + size - strlen("/idle"), "/idle") == 0;
}

bool gauge_usual_is_calm(const struct gauge_rows_row *row)
{
	return is_idle(row->name) || row->change < log(LEAST_CHANGE);
}

bool gauge_usual_stands_out(const struct gauge_rows_row *row)
{
	return !isnan(row->usual) && !is_idle(row->name) && row->change >= log(STANDS_OUT);
}

static int compare_names(const void *a, const void *b)
{
	return strverscmp(((const struct gauge_rows_row *)a)->name,
			  ((const struct gauge_rows_row *)b)->name);
}

static int compare_changes(const void *a, const void *b)
{
	const struct gauge_rows_row *left = a, *right = b;
	bool calm = gauge_usual_is_calm(left);

	if (calm != gauge_usual_is_calm(right))
		return calm ? 1 : -1;
	if (!calm && left->change != right->change)
		return left->change < right->change ? 1 : -1;
	return compare_names(a, b);
}

void gauge_usual_compare(struct gauge_rows *gauges, const struct gauge_rows *usual)
{
	for (size_t i = 0; i < gauges->rows.count; i++) {
		struct gauge_rows_row *row = &gauges->rows.items[i];
		const struct gauge_rows_row *other =
			usual->rows.count ? bsearch(row, usual->rows.items, usual->rows.count,
						    sizeof(*row), compare_names)
					  : NULL;
		double now = gauge_usual_now(row);

		row->usual = gauge_usual_value_of(row, other);
		if (isnan(now))
			row->change = 0;
		else if (!isnan(row->usual))
			row->change = change_between(row, now, row->usual);
		else if (row->unit == SERIES_COUNT)
			row->change = change_between(row, now, 0);
		else
			row->change = change_between(row, row->most, row->least);
	}
	if (gauges->rows.count)
		qsort(gauges->rows.items, gauges->rows.count, sizeof(*gauges->rows.items),
		      compare_changes);
}
