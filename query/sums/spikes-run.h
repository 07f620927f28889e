/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The spike of one CPU under construction, second by second. */

#include "query/sums/spikes.h"
#include "tape/busy.h"

/*
 * Finds the most frequent of many IDs in little memory (algorithm of Misra and Gries). The list
 * contains each ID with more than 1/(SPIKES_TOP + 1) of the total weight. A listed weight is a
 * lower bound.
 */
#define SPIKES_TOP 8

struct spikes_top {
	uint32_t ids[SPIKES_TOP];
	uint64_t weights[SPIKES_TOP];
};

void spikes_top_add(struct spikes_top *top, uint32_t id, uint64_t weight);
/* Returns the ID with the largest weight, or 0 if the list is empty. */
uint32_t spikes_top_best(const struct spikes_top *top, uint64_t *ret_weight);

/*
 * One second of a CPU. The numbers of names and threads are those of struct spikes. Shares are in
 * percent; only `machine` is in thousandths.
 */
struct spikes_second {
	/* on the wall clock */
	uint64_t from_ns, to_ns;
	uint64_t perf_ns;
	uint64_t length_ns;
	/* number of the boot */
	uint32_t boot;
	const struct busy_cell *cell;
	uint32_t machine;
	bool crowded;
	/* extends the spike, but does not count for its shares */
	bool outside;
	uint32_t thread, function;
};

/*
 * A stretch consists of consecutive seconds in which the kernel and interrupts took at least this
 * share (percent). Nothing else makes progress on such a CPU.
 */
#define SPIKES_STRETCH 80

struct spikes_stretch {
	uint64_t from_ns, length_ns, kernel;
	struct spikes_top functions, threads;
};

/*
 * The sums are shares × ns. They are integers, because that halves the time of the many additions.
 * A zeroed run is not a spike.
 */
struct spikes_run {
	uint64_t from_ns, to_ns, length_ns, counted_ns;
	uint64_t perf_to_ns;
	/* the longest part that was not crowded, and the uncrowded part at the end */
	uint64_t single_ns;
	uint64_t single_now_ns;
	uint32_t boot;
	uint64_t busy, kernel, irq, unseen, machine, crowded_ns, gauges, gauges_known_ns;
	struct spikes_top threads, functions;
	/* the longest stretch so far, and the current one */
	struct spikes_stretch stretch, stretch_now;
};

/* Returns true if the second continues the run. */
bool spikes_run_follows(const struct spikes_run *run, const struct spikes_second *second);
void spikes_run_add(struct spikes_run *run, const struct spikes_second *second);
struct spike spikes_run_end(struct spikes_run *run, uint32_t cpu);
