/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The verdicts: a table of rules, each of which looks at the evidence and says what it supports.
 * docs/EXPLAIN.md has each rule in words.
 *
 * A rule that names a CPU or a thread fires only if the CPU stands out: if chance explains it in at
 * most RULES_CHANCE of the quiet windows. With too few quiet windows for such a small chance, no
 * quiet window may show as much, and the verdict is at most likely.
 */

#include <stdbool.h>

#include "query/explain/evidence.h"

#define RULES_CHANCE 0.05

enum confidence {
	CONFIDENCE_NONE,
	CONFIDENCE_POSSIBLE,
	CONFIDENCE_LIKELY,
	CONFIDENCE_VERY_LIKELY,
};

struct verdict {
	/* the rule's name for programs, such as "zombie_memory_cgroups" */
	const char *kind;
	/* for people, such as "memory cgroups that were removed are still visited" */
	const char *title;
	enum confidence confidence;
	/* index of the core; -1: the verdict is about the host */
	int core;
	/* what supports the verdict, and what to do next */
	char evidence[384], next[256];
	/*
	 * the verdict names a cause; a program that only computes is not one, because others can
	 * still run
	 */
	bool accuses;
};

#define VERDICTS_MAX 12

/* The most certain one first. There is always at least one. */
struct verdicts {
	struct verdict list[VERDICTS_MAX];
	size_t count;
};

void verdicts_judge(const struct evidence *evidence, struct verdicts *ret_verdicts);

/* Returns "possible", "likely" or "very likely". */
const char *confidence_name(enum confidence confidence);

/* Whether a core stands out against quiet times. */
struct standing {
	bool out;
	/* there were enough quiet windows for the test */
	bool tested;
	/* how likely chance explains it; allows for both tests */
	double p;
};
struct standing core_standing(const struct evidence *evidence, const struct evidence_core *core);
struct standing row_standing(const struct evidence_row *row);
