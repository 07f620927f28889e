/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What the kernel spends on a sample, which no counter tells: estimated on this host, by this host.
 * A loop is timed with and without a timer event on its own thread that walks its stack, at two
 * depths; that gives what a sample costs without a caller and what each caller adds. The timer's
 * interrupt is part of it, on a virtual machine the most of it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sampling_cost {
	uint64_t sample_ns;
	/* of each caller, on top */
	uint64_t frame_ps;
};

/*
 * Takes about 0.05 s of CPU time of the calling thread. A negative errno where such an event cannot
 * be had, -ECANCELED once somebody else sets `stop`.
 */
int sampling_cost_measure(const _Atomic bool *stop, struct sampling_cost *ret_cost);
