/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The busiest CPUs, threads and functions of a window beside what is usual: rows to be shown, those
 * that stand out first.
 *
 * A row stands out when it has half as much again as usual, and more than chance lets samples
 * differ. Such a one weighs more, the more unusual it is; the others weigh what they are. Shares
 * are of one CPU: 1.0 is one CPU's whole time.
 */

#include <stdbool.h>

#include "query/sums/baseline.h"
#include "query/sums/tally.h"

struct ranking_share {
	double user, kernel, irq;
	double all;
};

struct ranking_core {
	uint32_t cpu;
	struct ranking_share now, usual;
	bool stands_out;
	double score;
	/* what it was busy with most: threads of a name, and the function on top of their stacks */
	const char *group, *function;
	double group_share;
};

struct ranking_group {
	const char *name;
	struct ranking_share now, usual;
	bool stands_out;
	double score;
	uint64_t threads;
	/* the busiest of them, and where it was most */
	int32_t pid, tid;
	uint32_t cpu;
	double thread_share;
};

struct ranking_function {
	const char *name;
	bool kernel;
	double self, total, usual_self, usual_total;
	bool stands_out;
	double score;
};

struct ranking {
	/* with a baseline of names; else what is usual is 0 everywhere */
	bool compared;
	bool cpus_compared;
	/* of all CPUs */
	struct ranking_share now, usual;
	/* that were seen */
	array_of(struct ranking_core) cores;
	array_of(struct ranking_group) groups;
	array_of(struct ranking_function) functions;
};

/* Of a tally with details, of so much time. Names are borrowed from it. 0 or -ENOMEM. */
int ranking_make(const struct tally *tally, uint64_t covered_ns, const struct baseline *baseline,
		 struct ranking *ret_ranking);
void ranking_done(struct ranking *ranking);

/* A line each of the machine, the CPUs, threads and functions, and the baseline. */
void ranking_put_json(const struct ranking *ranking, const struct baseline *baseline,
		      struct buffer *json);
