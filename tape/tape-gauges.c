// SPDX-License-Identifier: GPL-2.0-only
/* Gauges of a growing tape. Points arrive moment by moment and are stored gauge by gauge. */
#include "tape/tape.h"

#include <assert.h>

#include "base/cleanup.h"

/* The initial capacity of a gauge, in points. Capacities are powers of two. */
#define ROOM_MIN 8

int tape_add_gauge(struct tape *tape, const char *name, uint32_t *ret_row)
{
	struct tape_gauge gauge = { 0 };
	int r = strings_add(&tape->strings, name, strlen(name), &gauge.name);

	if (r < 0)
		return r;
	*ret_row = tape->gauges.count;
	return array_push(&tape->gauges, gauge);
}

/* Moves a full gauge behind all others, with twice the capacity. Its old rows stay unused. */
static int move_run(struct tape *tape, struct tape_gauge *gauge)
{
	size_t first = tape->points.count, room = MAX(2 * (size_t)gauge->count, ROOM_MIN);

	if (first + room > UINT32_MAX)
		return -ENOMEM;
	if (array_reserve(&tape->points, first + room) < 0)
		return -ENOMEM;
	if (gauge->count)
		memcpy(tape->points.items + first, tape->points.items + gauge->first,
		       gauge->count * sizeof(*tape->points.items));
	memset(tape->points.items + first + gauge->count, 0,
	       (room - gauge->count) * sizeof(*tape->points.items));
	tape->points.count = first + room;
	gauge->first = first;
	return 0;
}

static bool tape_gauges_is_full(const struct tape_gauge *gauge)
{
	return !gauge->count ||
	       (gauge->count >= ROOM_MIN && (gauge->count & (gauge->count - 1)) == 0);
}

int tape_add_point(struct tape *tape, uint32_t gauge, uint64_t time_ns, int64_t value)
{
	struct tape_gauge *run;
	int r;

	assert(gauge < tape->gauges.count);
	run = &tape->gauges.items[gauge];
	r = tape_gauges_is_full(run) ? move_run(tape, run) : 0;
	if (r < 0)
		return r;
	tape->points.items[run->first + run->count++] = (struct tape_point){ time_ns, value };
	return 0;
}
