/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Counts records or callchains that the recorder left out because a process made too many, by the
 * cgroup of the process. Has a count for the present tape and one for the whole recording.
 */

#include "base/array.h"
#include "base/intern.h"
#include "tape/tape.h"

/* Other cgroups count as "". */
#define CGROUP_COUNTS_MAX 1024

struct cgroup_count {
	/* A string of `names`. */
	uint32_t cgroup;
	uint64_t in_tape;
	uint64_t total;
};

/* Zero it to start. */
struct cgroup_counts {
	struct strings names;
	array_of(struct cgroup_count) list;
	uint64_t total;
};

void cgroup_counts_done(struct cgroup_counts *counts);
/* Adds to the counts of a cgroup. `cgroup` may be "". Returns 0 or -ENOMEM. */
int cgroup_counts_add(struct cgroup_counts *counts, const char *cgroup, uint64_t count);
/*
 * For the cgroups with the highest counts in the tape, adds a fact "WHAT CGROUP" with the count.
 * Resets these counts for the next tape. Returns 0 or -ENOMEM.
 */
int cgroup_counts_move_to_tape(struct cgroup_counts *counts, struct tape *tape, const char *what);
/*
 * Returns the cgroup with the highest count; "" if nothing was counted. Valid until the next
 * change.
 */
const char *cgroup_counts_most(const struct cgroup_counts *counts);
