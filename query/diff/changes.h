/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The rows of two windows side by side, ranked by their change. A row is a function, threads of one
 * name, a thread, a cgroup, a pod, a call path or a CPU.
 *
 * A load is absolute (CPU seconds per second, so 1.0 is a whole CPU) and a part of all the busy
 * time of its side. Parts compare hosts of different sizes, and a busy hour with a quiet one.
 *
 * A change stands out if sampling noise does not explain it:
 *
 *   (1) The noise of a load is that of the number of its samples. Samples of several threads at one
 *       moment may be one event, because the timers of all CPUs fire together and jobs compute in
 *       steps. So the samples of a row that N threads share evenly count as N times fewer, with at
 *       most one thread for each CPU. One busy thread among many idle ones counts as one. A digest
 *       does not know the threads of a function: its mean number of CPUs stands for them.
 *   (2) The bound grows with the number of rows that were tried: for 5 % of chance in the table as
 * a whole, not in each row.
 *
 * A change that stands out says that these two stretches of time differ. It does not say that the
 * difference is unusual: that takes a baseline.
 */

#include <stdbool.h>

#include "query/sums/tally.h"

enum changes_by {
	CHANGES_BY_NAME,
	CHANGES_BY_THREAD,
	CHANGES_BY_CGROUP,
	CHANGES_BY_POD,
	CHANGES_BY_FUNCTION,
	CHANGES_BY_PATH,
	CHANGES_BY_CPU,
};
#define CHANGES_BYS 7

/* Returns the grouping of a tally that has these rows. */
enum tally_by changes_tally(enum changes_by by);

/* One of the two windows. */
struct changes_side {
	/* with all parts (enum tally_parts) */
	const struct tally *tally;
	/* the recorded time behind the times of names and of CPUs */
	uint64_t names_ns, cpus_ns;
};

struct change_load {
	double cpus;
	/* of all the busy time of the side, 0 to 1 */
	double part;
	/* of `cpus`, by sampling noise */
	double variance;
};

struct change {
	/* NULL for a CPU */
	const char *name;
	uint32_t cpu;
	/* of a function: it is the kernel's */
	bool kernel;
	struct change_load before, after;
	bool stands_out;
};

struct changes {
	enum changes_by by;
	/* rank by parts of the busy time instead of CPUs */
	bool parts;
	array_of(struct change) rows;
};

/*
 * Makes and ranks the rows with a load on either side: those that stand out come first, the largest
 * change at the top. A function counts with its own time. Names belong to the tallies. Returns 0 or
 * -ENOMEM.
 */
int changes_make(enum changes_by by, bool parts, const struct changes_side *before,
		 const struct changes_side *after, struct changes *ret_changes);
void changes_done(struct changes *changes);

/* Returns the change by which the rows are ranked. */
static inline double changes_of(const struct changes *changes, const struct change *row)
{
	return changes->parts ? row->after.part - row->before.part
			      : row->after.cpus - row->before.cpus;
}

/* Returns the busy time of a side, in CPUs. */
double changes_busy(const struct changes_side *side);

/* Appends a line of JSON for each row, at most `rows` of them; 0: all. */
void changes_put_json(const struct changes *changes, size_t rows, struct buffer *json);
