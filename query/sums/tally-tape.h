/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a tape adds to a tally: its samples, or its sums where those will do. Details, which tell
 * who was on which CPU, are of samples only. Memory that it takes stays with the tally for the next
 * tape.
 */

#include "query/window/filter.h"
#include "query/sums/tally.h"
#include "tape/tape.h"

enum tally_parts {
	TALLY_CPUS = 1,
	/* of functions and threads */
	TALLY_NAMES = 2,
	TALLY_DETAILS = 4,
};

/*
 * The tape's samples, of which each stands for so much CPU time, and for more where the CPU was
 * throttled; with kinds (enum load_kind, by sample) where frames were taken away that would tell
 * them, else NULL. 0 or -ENOMEM.
 */
int tally_add_samples(struct tally *tally, const struct tape *tape, const uint8_t *kinds,
		      uint64_t sample_ns, unsigned int parts);
/* The tape's sums of comms that pass; they say nothing of CPUs. 0 or -ENOMEM. */
int tally_add_sums(struct tally *tally, const struct tape *tape, uint64_t sample_ns,
		   const struct filter *filter);

/* For tally_free(). */
void tally_scratch_free(struct tally_scratch *scratch);
