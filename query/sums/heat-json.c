// SPDX-License-Identifier: GPL-2.0-only
#include "base/clock.h"
#include "base/json.h"
#include "query/sums/heat.h"

/* Puts a number of CPUs with six decimals. */
static void heat_json_put_share(struct buffer *json, const char *key, uint64_t ns, double of_ns)
{
	json_key(json, key);
	json_nano(json, of_ns > 0 ? (uint64_t)(ns / of_ns * 1e6 + 0.5) * 1000 : 0);
}

static void heat_json_put_cell(const struct heat *heat, uint32_t row, uint32_t column,
			       struct buffer *json)
{
	const struct stack_class *spent = heat_cell(heat, row, column);
	/* the values below add up to heat_busy() */
	double busy = heat_busy(heat, row, column);
	double of_ns = busy > 0 ? stack_class_work_ns(spent) / busy : 0;

	json_open(json, '{');
	json_key(json, heat->by == HEAT_CPUS ? "cpu" : "from_ms");
	if (heat->by == HEAT_CPUS)
		json_u64(json, row);
	else
		json_nano(json, row * NSEC_PER_SEC / heat->rows * 1000);
	heat_json_put_share(json, "user", spent->ns[STACK_CLASS_USER], of_ns);
	heat_json_put_share(json, "kernel", spent->ns[STACK_CLASS_KERNEL], of_ns);
	heat_json_put_share(json, "irq", spent->ns[STACK_CLASS_IRQ], of_ns);
	json_close(json, '}');
}

/*
 * Returns false for a CPU without any sample in the window: the host does not have this CPU, or the
 * user did not select it.
 */
static bool heat_json_is_seen(const struct heat *heat, uint32_t row)
{
	if (heat->by == HEAT_FRACTIONS)
		return true;
	for (uint32_t column = 0; column < heat->columns; column++) {
		const struct stack_class *spent = heat_cell(heat, row, column);

		if (spent->ns[STACK_CLASS_IDLE] || stack_class_work_ns(spent))
			return true;
	}
	return false;
}

static void put_column(const struct heat *heat, uint32_t column, struct buffer *json)
{
	char shown[TIME_TEXT_SIZE];

	json_open(json, '{');
	json_key(json, "time");
	json_string(json, time_format(heat->begin_ns + column * heat->column_ns, true, 6, shown));
	json_key(json, "seconds");
	json_u64(json, heat->column_ns / NSEC_PER_SEC);
	json_key(json, "cells");
	json_open(json, '[');
	for (uint32_t row = 0; row < heat->rows; row++)
		if (heat_json_is_seen(heat, row) &&
		    heat_cell_ns(heat, heat->covered_ns.items, row, column) >= NSEC_PER_MSEC)
			heat_json_put_cell(heat, row, column, json);
	json_close(json, ']');
	json_close(json, '}');
	buffer_u8(json, '\n');
}

void heat_put_json(const struct heat *heat, struct buffer *json)
{
	for (uint32_t column = 0; column < heat->columns; column++)
		put_column(heat, column, json);
}
