/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The busiest CPUs, threads and functions of a window compared with what is usual. Rows that stand
 * out come first.
 *
 * A row stands out if its share is at least 1.5 times the usual one and the difference exceeds
 * sampling noise. Its score grows with how unusual it is; the score of another row is its share.
 * Shares are relative to one CPU: 1.0 is all the time of one CPU.
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
	/*
	 * the CPU's busiest group of threads, and the function that is most often on top of their
	 * stacks
	 */
	const char *group, *function;
	double group_share, function_share;
};

struct ranking_group {
	const char *name;
	struct ranking_share now, usual;
	bool stands_out;
	double score;
	uint64_t threads;
	/* the group's busiest thread, and the CPU on which this thread ran most */
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
	/* what the groups are */
	enum tally_by by;
	/* a baseline of names exists; without it all usual shares are 0 */
	bool compared;
	bool cpus_compared;
	/* the share of all CPUs */
	struct ranking_share now, usual;
	/* only rows with samples */
	array_of(struct ranking_core) cores;
	array_of(struct ranking_group) groups;
	array_of(struct ranking_function) functions;
};

/*
 * Makes the ranking from a tally with details. The tally covers covered_ns of time, and keeps
 * ownership of the names. Returns 0 or -ENOMEM.
 */
int ranking_make(const struct tally *tally, uint64_t covered_ns, const struct baseline *baseline,
		 struct ranking *ret_ranking);
void ranking_done(struct ranking *ranking);

enum ranking_sort {
	/* Rows that stand out come first, the most unusual one at the top. */
	RANKING_SORT_UNUSUAL,
	RANKING_SORT_BUSY,
	RANKING_SORT_NAME,
	RANKING_SORTS,
};

void ranking_sort(struct ranking *ranking, enum ranking_sort by);
/*
 * Keeps the rows whose names contain a text, in any case. The row of a CPU has two names: its
 * thread group and its function.
 */
void ranking_match(struct ranking *ranking, const char *text);
/* Keeps at most `rows` rows of each kind. */
void ranking_limit(struct ranking *ranking, size_t rows);

/*
 * Appends lines of JSON: one for the machine, then one for each CPU, thread group and function, and
 * one for the baseline. CPUs appear only if the groups are by name. Functions appear only if they
 * are by name or by function, and groups unless they are by function.
 */
void ranking_put_json(const struct ranking *ranking, const struct baseline *baseline,
		      struct buffer *json);
