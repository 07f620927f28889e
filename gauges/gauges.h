/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Gauges of the host over time. A gauge is a whole number whose name ends in its unit, such as
 * "cpu3/user_ms". Most gauges are counters that only grow; readers use the differences.
 * gauges_read() knows when each source is due, and measures the cost of reading it.
 *
 * Gauges that show who was starved, each second:
 *
 *   cpuN/KIND_softirqs    how often a CPU ran a kind of softirq: hi, timer, net_tx, net_rx, block,
 *                         irq_poll, tasklet, sched, hrtimer, rcu; a kind that never ran on a CPU
 *                         has no gauge
 *   thread/NAME/wait_us   how long a thread waited for a CPU although it could run
 *   thread/NAME/runs      how often a thread got a CPU
 *
 * NAME is ksoftirqd/N, napi/DEVICE-ID, or COMM:TID of a thread that an incident named. The kernel
 * adds a wait when it ends, so wait_us and runs do not change while a thread waits: a growth that
 * is longer than the time between two readings is a wait that began before the first of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gauges;

/*
 * Receives the gauges. A negative result of a function ends the reading, and gauges_read() returns
 * this result.
 */
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
 * Sets a function that gauges_read() calls with the name of each source before it reads the source.
 * If the function returns false, gauges_read() skips the source. After the read, gauges_read()
 * calls the function with NULL.
 */
void gauges_guard(struct gauges *gauges, bool (*guard)(void *context, const char *source),
		  void *context);

/*
 * Reads the sources that are due in this second. `second` is a count that grows by one with each
 * call. A source that cannot be read is not an error. Returns 0, -ENOMEM, or the sink's error.
 */
int gauges_read(struct gauges *gauges, uint64_t second);

/*
 * Reads a thread's wait for a CPU from now on, for ten minutes, because an incident named the
 * thread. A thread that does not exist is not an error. Returns 0 or -ENOMEM.
 */
int gauges_watch_thread(struct gauges *gauges, uint32_t tid);

size_t gauges_count(const struct gauges *gauges);
void gauges_cost(const struct gauges *gauges, size_t source, struct gauges_cost *ret_cost);
