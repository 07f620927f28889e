/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds a tape to a tally: its samples, its digest, or its sums of stacks if these are enough.
 * Samples and a digest give the same result. Sums of stacks contain neither CPUs nor threads. The
 * tally keeps the scratch memory for the next tape.
 */

#include "query/sums/tally.h"
#include "tape/tape.h"

enum tally_parts {
	TALLY_CPUS = 1,
	/* functions and groups */
	TALLY_NAMES = 2,
	/* threads, and what each CPU did */
	TALLY_DETAILS = 4,
	TALLY_ALL = 7,
	/* groups without functions, and no other part; takes less time */
	TALLY_GROUPS = 8,
};

/*
 * Adds the tape's samples. Each stands for sample_ns of CPU time, or more while the CPU was
 * throttled. If a filter removed the frames that show it, `kinds` has the enum stack_class_kind of
 * each sample; otherwise `kinds` is NULL. Returns 0 or -ENOMEM.
 */
int tally_add_samples(struct tally *tally, const struct tape *tape, const uint8_t *kinds,
		      uint64_t sample_ns, unsigned int parts);
/*
 * Adds the tape's digest, whose samples stand for sample_ns each. A digest has groups by name only,
 * so TALLY_NAMES needs a tally for which tally_by_has_sums() is true. Returns 0 or -ENOMEM.
 */
int tally_add_digest(struct tally *tally, const struct tape *tape, uint64_t sample_ns,
		     unsigned int parts);
/* Adds the tape's sums of stacks. Returns 0 or -ENOMEM. */
int tally_add_sums(struct tally *tally, const struct tape *tape, uint64_t sample_ns);

#define TALLY_GROUP_SIZE 64
/* Writes the name of the group of TALLY_BY_NAME that a thread of this name belongs to. */
void tally_group_name(const char *comm, char group[TALLY_GROUP_SIZE]);

/* Called by tally_free(). */
void tally_scratch_free(struct tally_scratch *scratch);
