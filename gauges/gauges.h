/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Gauges of the host over time. A gauge is a whole number whose name ends in its unit, such as
 * "cpu3/user_ms". Most gauges are counters that only grow; readers use the differences. For each
 * source, gauges_read() knows when to read it, and measures the cost of reading.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gauges;

/* Receives the gauges. A negative result ends the reading, and gauges_read() returns it. */
struct gauges_sink {
	/* Returns a number for a name; called once for each name. */
	int (*name)(void *context, const char *name, uint32_t *ret_id);
	int (*put)(void *context, uint32_t id, int64_t value);
	void *context;
};

/* The cost of a source so far. */
struct gauges_cost {
	const char *source;
	uint64_t reads;
	uint64_t failures;
	uint64_t cpu_ns;
	/* Elapsed time, because a file can make its reader wait. */
	uint64_t longest_ns;
};

/*
 * Creates the sources of the host below `root`, "" for this host. The sink must outlive the result.
 * Returns 0 or -ENOMEM.
 */
int gauges_new(const char *root, const struct gauges_sink *sink, struct gauges **ret_gauges);
struct gauges *gauges_free(struct gauges *gauges);

/*
 * Sets a function that is called with the name of each source before the source is read. If it
 * returns false, the source is skipped. After the read it is called with NULL.
 */
void gauges_guard(struct gauges *gauges, bool (*guard)(void *context, const char *source),
		  void *context);

/*
 * Reads the sources that are due in this second. `second` is a count that grows by one with each
 * call. A source that cannot be read is not an error. Returns 0, -ENOMEM, or the sink's error.
 */
int gauges_read(struct gauges *gauges, uint64_t second);

size_t gauges_count(const struct gauges *gauges);
void gauges_cost(const struct gauges *gauges, size_t source, struct gauges_cost *ret_cost);
