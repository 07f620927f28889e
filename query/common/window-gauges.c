// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/common/common-internal.h"
#include "query/read/series.h"
#include "tape/clocks.h"
#include "tape/tape.h"

/* A reading this long before a window or after it says nothing about it. */
#define NEAR_NS (150 * NSEC_PER_SEC)

static bool gauges_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/*
 * The figures of all CPUs count as one: the CPU of an incident varies. Samples show busy and idle
 * time better.
 */
const char *common_window_gauges_name(const char *gauge, char name[128])
{
	static const char *const seen[] = { "/idle_ms", "/iowait_ms", "/user_ms",   "/system_ms",
					    "/nice_ms", "/irq_ms",    "/softirq_ms" };
	const char *rest, *number;

	if (gauges_begins(gauge, "cpu") && isdigit((unsigned char)gauge[3])) {
		rest = strchr(gauge, '/');
		for (size_t i = 0; rest && i < ARRAY_SIZE(seen); i++)
			if (strcmp(rest, seen[i]) == 0)
				return NULL;
		if (!rest)
			return NULL;
		snprintf(name, 128, "cpu*%s", rest);
		return name;
	}
	if (!gauges_begins(gauge, "thread/"))
		return gauge;
	number = gauge + strcspn(gauge, "0123456789");
	rest = number + strspn(number, "0123456789");
	snprintf(name, 128, "%.*s%s%s", (int)(number - gauge), gauge, *number ? "*" : "", rest);
	return name;
}

/* Returns the last point at or before a moment, else the first one. */
static size_t gauges_before(const struct tape *tape, const struct tape_gauge *gauge, uint64_t ns)
{
	const struct tape_point *points = tape->points.items + gauge->first;
	size_t low = 0, high = gauge->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (clocks_from_perf(tape, CLOCKS_REALTIME, points[middle].time_ns, NULL) <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

/* Returns the growth per second in the unit, between readings that contain the window. */
static double gauges_rate(const struct tape *tape, const struct tape_gauge *gauge,
			  enum series_unit unit, size_t from, size_t to)
{
	const struct tape_point *points = tape->points.items + gauge->first;
	const char *name = tape_string(tape, gauge->name);
	double grown = (double)points[to].value - points[from].value;
	double seconds = (double)(points[to].time_ns - points[from].time_ns) / NSEC_PER_SEC;

	/* a counter that went back was reset */
	if (grown < 0 || seconds <= 0)
		return 0;
	if (unit == SERIES_COUNT)
		return grown / seconds * 3600;
	if (unit == SERIES_PER_CENT)
		grown /= strcmp(name + strlen(name) - 3, "_us") == 0 ? 1e4 : 10;
	return grown / seconds;
}

bool common_window_gauges_figure(const struct tape *tape, size_t number, uint64_t from_ns,
				 uint64_t to_ns, double *ret_figure)
{
	const struct tape_gauge *gauge = &tape->gauges.items[number];
	enum series_unit unit = series_unit(tape_string(tape, gauge->name));
	size_t from, to;
	uint64_t at_ns;

	if (!gauge->count)
		return false;
	to = gauges_before(tape, gauge, to_ns);
	at_ns = clocks_from_perf(tape, CLOCKS_REALTIME,
				 tape->points.items[gauge->first + to].time_ns, NULL);
	if (at_ns > to_ns + NEAR_NS || at_ns + NEAR_NS < from_ns)
		return false;
	if (series_is_level(unit)) {
		*ret_figure = tape->points.items[gauge->first + to].value;
		return true;
	}
	from = gauges_before(tape, gauge, from_ns);
	if (at_ns < to_ns && to + 1 < gauge->count)
		to++;
	if (from == to)
		return false;
	*ret_figure = gauges_rate(tape, gauge, unit, from, to);
	return true;
}

int common_window_gauges_add(struct common_run *run, uint32_t number, const struct tape *tape)
{
	const struct common_window *window = &run->windows.items[number];
	size_t first = run->values.count;
	int r = 0;

	for (size_t i = 0;
	     r == 0 && i < tape->gauges.count && run->values.count - first < COMMON_GAUGES_MOST;
	     i++) {
		const char *gauge = tape_string(tape, tape->gauges.items[i].name);
		char name[128], key[256];
		const char *counts = common_window_gauges_name(gauge, name);
		double figure;

		if (!counts ||
		    !common_window_gauges_figure(tape, i, window->from_ns, window->to_ns, &figure))
			continue;
		snprintf(key, sizeof(key), "g%s", counts);
		r = common_values_add(run, number, key, figure);
	}
	return r;
}
