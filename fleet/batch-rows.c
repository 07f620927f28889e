// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/batch-rows.h"

#include <stddef.h>

/* The columns are those of sql/schema.sql, in the order in which the encoders put them. */
static const char *const into[FLEET_TABLES] = {
	[FLEET_STACKS] = "stacks (stack, day, frames, modules, kinds, addresses, offsets)",
	[FLEET_FACTS] = "facts (host, day, name, value, ts)",
	[FLEET_LOSSES] = "losses (host, begin, end, kind, cpu, what, count)",
	[FLEET_INCIDENTS] = "incidents (host, ts, kind, incident, number, severity, stall, error,\n"
			    "source, boot, text, fields)",
	[FLEET_GAUGES] = "gauges (host, minute, name, part, readings, low, mean, high)",
	[FLEET_MINUTES] = "minutes (host, minute, comm, stack, part, samples, period)",
	[FLEET_SAMPLES] = "samples (host, minute, tid, ts, cpu, stack, pid, comm, cgroup, period)",
	[FLEET_WINDOWS] = "windows (host, begin, end, boot, sequence, samples, error, fact_names,\n"
			  "fact_values)",
};

const char *fleet_into(unsigned int table)
{
	return table < FLEET_TABLES ? into[table] : NULL;
}

void batch_rows_done(struct batch_rows *rows)
{
	for (size_t i = 0; i < FLEET_TABLES; i++)
		buffer_done(&rows->of[i].rows);
}

struct buffer *batch_rows_add(struct batch_rows *rows, enum fleet_table table)
{
	rows->of[table].count++;
	return &rows->of[table].rows;
}
