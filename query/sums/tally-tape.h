/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds a tape to a tally: its samples, or its sums if these are enough. Sums are not enough for the
 * details, which connect threads and CPUs. The tally keeps the scratch memory for the next tape.
 */

#include "query/window/filter.h"
#include "query/sums/tally.h"
#include "tape/tape.h"

enum tally_parts {
	TALLY_CPUS = 1,
	/* functions and threads */
	TALLY_NAMES = 2,
	TALLY_DETAILS = 4,
};

/*
 * Adds the tape's samples. Each stands for sample_ns of CPU time, or more while the CPU was
 * throttled. `kinds` has each sample's enum stack_class_kind if frames that show it were removed,
 * else it is NULL. Returns 0 or -ENOMEM.
 */
int tally_add_samples(struct tally *tally, const struct tape *tape, const uint8_t *kinds,
		      uint64_t sample_ns, unsigned int parts);
/*
 * Adds the tape's sums for the comms that pass. Sums contain nothing about CPUs. Returns 0 or
 * -ENOMEM.
 */
int tally_add_sums(struct tally *tally, const struct tape *tape, uint64_t sample_ns,
		   const struct filter *filter);

/* Called by tally_free(). */
void tally_scratch_free(struct tally_scratch *scratch);
