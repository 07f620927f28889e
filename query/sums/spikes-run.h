/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A spike while it is found, second by second. */

#include "query/sums/spikes.h"
#include "tape/busy.h"

/*
 * What is most among many, in little room (Misra and Gries): what has more than a part in
 * SPIKES_TOP + 1 of all is there, and what is said of it is no more than it has.
 */
#define SPIKES_TOP 8

struct spikes_top {
	uint32_t ids[SPIKES_TOP];
	uint64_t weights[SPIKES_TOP];
};

void spikes_top_add(struct spikes_top *top, uint32_t id, uint64_t weight);
/* 0 where there is nothing. */
uint32_t spikes_top_best(const struct spikes_top *top, uint64_t *ret_weight);

/* One second of a CPU, with names and threads as the spikes number them. Shares are in per cent,
 * that of the machine in thousandths. */
struct spikes_second {
	/* of the wall clock */
	uint64_t from_ns, to_ns;
	uint64_t perf_ns;
	uint64_t length_ns;
	/* a number */
	uint32_t boot;
	const struct busy_cell *cell;
	uint32_t machine;
	bool crowded;
	uint32_t thread, function;
};

/* Seconds one behind the other that were in the kernel for so many per cent, interrupts included:
 * what else runs there hardly gets on. */
#define SPIKES_STRETCH 80

struct spikes_stretch {
	uint64_t from_ns, length_ns, kernel;
	struct spikes_top functions;
};

/* Sums are of shares × ns: of as many as there are many, whole numbers are added up in half the
 * time. Zeroed is none. */
struct spikes_run {
	uint64_t from_ns, to_ns, length_ns;
	uint64_t perf_to_ns;
	/* the longest part that was not crowded */
	uint64_t single_ns;
	uint64_t single_now_ns;
	uint32_t boot;
	uint64_t busy, kernel, irq, unseen, machine, crowded_ns, gauges, gauges_known_ns;
	struct spikes_top threads, functions;
	struct spikes_stretch stretch,
		/* the longest one so far, and the one that goes on */
		stretch_now;
};

/* Does the second follow on the last one of the run? */
bool spikes_run_follows(const struct spikes_run *run, const struct spikes_second *second);
void spikes_run_add(struct spikes_run *run, const struct spikes_second *second);
struct spike spikes_run_end(struct spikes_run *run, uint32_t cpu);
