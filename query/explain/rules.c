// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "query/explain/rule-list.h"

/* The two tests of a core: the rows of its threads and functions, and the search for full CPUs. */
#define CORE_TESTS 2
/* A full CPU is hardly the cause if threads of this name filled a CPU this often at other times. */
#define RECURS_MANY 3

const char *confidence_name(enum confidence confidence)
{
	static const char *const names[] = { "none", "possible", "likely", "very likely" };

	return names[confidence];
}

/* In a short recording, a row stands out if it had this much less in each quiet window, in CPUs. */
#define BEYOND 0.2

static double standing_p(const struct evidence_chance *chance, unsigned int tests)
{
	return chance->windows ? MIN(tests * chance->p, 1.0) : 1;
}

/* Returns whether the test could reach RULES_CHANCE. */
static bool standing_is_tested(const struct evidence_chance *chance, double tests)
{
	return (chance->windows + 1) * RULES_CHANCE >= tests;
}

static bool row_is_beyond(const struct evidence_row *row)
{
	return row->chance.windows && row->now >= row->most + BEYOND;
}

struct standing row_standing(const struct evidence_row *row)
{
	struct standing standing = {
		.p = standing_p(&row->chance, 1),
		.tested = standing_is_tested(&row->chance, 1),
	};

	standing.out = standing.tested ? standing.p <= RULES_CHANCE
				       : !row->chance.windows || row_is_beyond(row);
	return standing;
}

/*
 * Without enough quiet windows for a test, no quiet window may show as much. The search for full
 * CPUs may not contradict, either.
 */
static bool core_is_beyond(const struct evidence_core *core)
{
	const struct evidence_row *thread = &core->threads[0].row;
	bool rows = thread->chance.windows || core->leaf_row.chance.windows;
	const struct evidence_chance *full = &core->full_chance;

	if (rows && !row_is_beyond(thread) && !row_is_beyond(&core->leaf_row))
		return false;
	return !full->windows || !full->as_much;
}

struct standing core_standing(const struct evidence *evidence, const struct evidence_core *core)
{
	unsigned int places = MAX(evidence->quiet.places, 1u);
	const struct evidence_chance *thread = &core->threads[0].row.chance;
	const struct evidence_chance *leaf = &core->leaf_row.chance;
	/* the p-value of the full CPUs already allows for the number of kinds of work */
	double rows = standing_p(leaf->p < thread->p && leaf->windows ? leaf : thread,
				 CORE_TESTS * places);
	struct standing standing = {
		.p = MIN(rows, standing_p(&core->full_chance, CORE_TESTS)),
		.tested = standing_is_tested(thread, CORE_TESTS * places) ||
			  standing_is_tested(&core->full_chance,
					     CORE_TESTS * MAX(core->full_chance.tried, 1u)),
	};

	standing.out = standing.tested ? standing.p <= RULES_CHANCE : core_is_beyond(core);
	return standing;
}

void verdict_say(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	vsnprintf(text + used, size - used, format, arguments);
#pragma GCC diagnostic pop
	va_end(arguments);
}

/* A test that could not be made, and work that repeats without harm, make a verdict less sure. */
static enum confidence rule_confidence(enum confidence given, const struct evidence *evidence,
				       const struct evidence_core *core)
{
	int confidence = given;

	if (!core_standing(evidence, core).tested)
		confidence = MIN(confidence, (int)CONFIDENCE_LIKELY);
	if (core->recurs >= RECURS_MANY)
		confidence--;
	return MAX(confidence, (int)CONFIDENCE_POSSIBLE);
}

static void rule_put(const struct rule *rule, const struct evidence *evidence, int number,
		     struct verdicts *verdicts)
{
	const struct evidence_core *core = number < 0 ? NULL : &evidence->cores[number];
	struct verdict verdict = {
		.kind = rule->kind, .title = rule->title, .core = number, .accuses = rule->accuses
	};

	if (core && (!core->full || !core_standing(evidence, core).out))
		return;
	verdict.confidence = rule->judge(evidence, core, &verdict);
	if (verdict.confidence == CONFIDENCE_NONE || verdicts->count == VERDICTS_MAX)
		return;
	if (core)
		verdict.confidence = rule_confidence(verdict.confidence, evidence, core);
	verdicts->list[verdicts->count++] = verdict;
}

/* Returns the place of a verdict's rule in the table. */
static size_t rule_place(const struct verdict *verdict)
{
	size_t place = 0;

	while (rules[place].kind != verdict->kind)
		place++;
	return place;
}

static int compare_verdicts(const void *a, const void *b)
{
	const struct verdict *left = a, *right = b;
	size_t left_place = rule_place(left), right_place = rule_place(right);

	if (left->confidence != right->confidence)
		return left->confidence > right->confidence ? -1 : 1;
	if (left_place != right_place)
		return left_place < right_place ? -1 : 1;
	return left->core - right->core;
}

/*
 * Keeps the first verdict about a core: a zombie walk is also a thread in a kernel loop, and one
 * cause is enough.
 */
static void verdicts_merge(struct verdicts *verdicts)
{
	size_t kept = 0;

	for (size_t i = 0; i < verdicts->count; i++) {
		bool known = false;

		for (size_t j = 0; j < kept; j++)
			known = known || (verdicts->list[i].core >= 0 &&
					  verdicts->list[i].core == verdicts->list[j].core &&
					  rules[rule_place(&verdicts->list[i])].general);
		if (!known)
			verdicts->list[kept++] = verdicts->list[i];
	}
	verdicts->count = kept;
}

void verdicts_judge(const struct evidence *evidence, struct verdicts *ret_verdicts)
{
	*ret_verdicts = (struct verdicts){ 0 };
	for (size_t i = 0; rules[i].kind; i++) {
		if (rules[i].last && ret_verdicts->count)
			continue;
		if (!rules[i].of_core)
			rule_put(&rules[i], evidence, -1, ret_verdicts);
		for (size_t core = 0; rules[i].of_core && core < evidence->core_count; core++)
			rule_put(&rules[i], evidence, core, ret_verdicts);
	}
	qsort(ret_verdicts->list, ret_verdicts->count, sizeof(*ret_verdicts->list),
	      compare_verdicts);
	verdicts_merge(ret_verdicts);
}
