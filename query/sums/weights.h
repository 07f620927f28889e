/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How much CPU time a sample stands for: the time from one slot of the timer to the next, and where
 * the kernel throttled the CPU, its part of the slots without a sample too. Otherwise a CPU would
 * look idle for as long as it was throttled.
 */

#include "tape/tape.h"

struct weights_stretch {
	uint32_t cpu;
	/* of the perf clock */
	uint64_t from_ns, to_ns;
	uint64_t sample_ns;
};

struct weights {
	uint64_t sample_ns;
	/* by CPU and time */
	array_of(struct weights_stretch) throttled;
};

/* Of a tape whose samples stand for so much by themselves. 0 or -ENOMEM; done() in either case. */
int weights_make(struct weights *weights, const struct tape *tape, uint64_t sample_ns);
void weights_done(struct weights *weights);
uint64_t weights_of(const struct weights *weights, const struct tape_sample *sample);
