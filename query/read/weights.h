/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The CPU time that a sample stands for is the time between two slots of the timer. While the
 * kernel throttled the CPU, each sample also stands for a part of the slots without a sample.
 * Otherwise a throttled CPU would look idle.
 */

#include "tape/tape.h"

struct weights_stretch {
	uint32_t cpu;
	/* times on the perf clock */
	uint64_t from_ns, to_ns;
	uint64_t sample_ns;
};

struct weights {
	uint64_t sample_ns;
	/* sorted by CPU and time */
	array_of(struct weights_stretch) throttled;
};

/*
 * Prepares the weights of a tape whose samples stand for sample_ns each. Returns 0 or -ENOMEM; call
 * weights_done() in either case.
 */
int weights_make(struct weights *weights, const struct tape *tape, uint64_t sample_ns);
void weights_done(struct weights *weights);
uint64_t weights_of(const struct weights *weights, const struct tape_sample *sample);
