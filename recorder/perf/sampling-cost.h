/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Estimates the kernel's CPU time for a sample on this host, which no counter shows. Times a loop
 * with and without a timer event on its own thread, at two stack depths. The difference gives the
 * cost of a sample without callers, and the cost of each caller. The cost includes the timer's
 * interrupt, which is most of it on a virtual machine.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sampling_cost {
	uint64_t sample_ns;
	/* Additional cost of each caller. */
	uint64_t frame_ps;
};

/*
 * Measures the cost in about 0.05 s of the calling thread's CPU time. Returns 0; -ECANCELED after
 * another thread sets *stop; another negative errno if the event cannot be opened.
 */
int sampling_cost_measure(const _Atomic bool *stop, struct sampling_cost *ret_cost);
