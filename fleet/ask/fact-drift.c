// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ask/fact-drift.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/ask/exact-test.h"
/* generated from the file of sql/ */
#include "fleet/fact-counts-sql.h"

#define DAY_US 86400000000ull
/* Each host has this fact. */
#define DRIFT_OF_ALL "cgroup_version"

void fact_drift_done(struct fact_drift *drift)
{
	array_done(&drift->facts);
	ask_rows_done(&drift->rows);
}

static void fact_drift_count(struct drift_counts *counts, const struct ask_cell *row)
{
	*(row[2].number ? &counts->with : &counts->without) += row[4].number;
	*(row[3].number ? &counts->inside : &counts->outside) += row[4].number;
}

/* The chance that a value is as much more or as much less common in a group of hosts. */
static double fact_drift_chance(uint64_t with, uint64_t group, uint64_t without, uint64_t others)
{
	uint64_t all = group + others, marked = with + without;
	double more = exact_test_share(with, group, marked, all);
	double less = exact_test_share(without, others, marked, all);

	return fmin(1, 2 * fmin(more, less));
}

/* Adds up the values. The rows of a value stand together. */
static int fact_drift_take(struct fact_drift *drift)
{
	struct drift_fact *fact = NULL;

	for (size_t i = 0; i < drift->rows.count; i++) {
		const struct ask_cell *row = ask_row(&drift->rows, i);

		if (strcmp(row[0].text, DRIFT_OF_ALL) == 0)
			fact_drift_count(&drift->hosts, row);
		if (!fact || strcmp(fact->name, row[0].text) != 0 ||
		    strcmp(fact->value, row[1].text) != 0) {
			if (array_push(&drift->facts, (struct drift_fact){ .name = row[0].text,
									   .value = row[1].text }) <
			    0)
				return -ENOMEM;
			fact = &drift->facts.items[drift->facts.count - 1];
		}
		fact_drift_count(&fact->hosts, row);
	}
	return 0;
}

static void fact_drift_judge(struct fact_drift *drift)
{
	const struct drift_counts *all = &drift->hosts;

	for (size_t i = 0; i < drift->facts.count; i++) {
		const struct drift_counts *hosts = &drift->facts.items[i].hosts;

		/* a value of one host or of all hosts cannot differ */
		drift->tries += hosts->with + hosts->without > 1 &&
				hosts->with + hosts->without < all->with + all->without;
	}
	for (size_t i = 0; i < drift->facts.count; i++) {
		struct drift_fact *fact = &drift->facts.items[i];
		const struct drift_counts *hosts = &fact->hosts;
		double tries = (double)drift->tries;

		fact->chance = fmin(1, tries * fact_drift_chance(hosts->with, all->with,
								 hosts->without, all->without));
		fact->label_chance =
			fmin(1, tries * fact_drift_chance(hosts->inside, all->inside,
							  hosts->outside, all->outside));
	}
}

/* Returns whether more hosts with incidents than others have the value. */
static bool fact_drift_is_more(const struct fact_drift *drift, const struct drift_fact *fact)
{
	return (double)fact->hosts.with * (double)drift->hosts.without >
	       (double)fact->hosts.without * (double)drift->hosts.with;
}

static bool fact_drift_is_better(const struct fact_drift *drift, const struct drift_fact *fact,
				 const struct drift_fact *than)
{
	/* two values that complement each other differ in the last digits */
	if (fabs(fact->chance - than->chance) > than->chance * 1e-6)
		return fact->chance < than->chance;
	if (fabs(fact->label_chance - than->label_chance) > than->label_chance * 1e-6)
		return fact->label_chance < than->label_chance;
	return fact_drift_is_more(drift, fact) && !fact_drift_is_more(drift, than);
}

/* Keeps of each fact the value that differs most. The values of a fact stand together. */
static void fact_drift_keep_best(struct fact_drift *drift)
{
	size_t kept = 0;

	for (size_t i = 0; i < drift->facts.count; i++) {
		const struct drift_fact fact = drift->facts.items[i];
		struct drift_fact *last = kept ? &drift->facts.items[kept - 1] : NULL;

		if (!last || strcmp(last->name, fact.name) != 0)
			drift->facts.items[kept++] = fact;
		else if (fact_drift_is_better(drift, &fact, last))
			*last = fact;
	}
	drift->facts.count = kept;
}

static int fact_drift_compare(const void *a, const void *b)
{
	const struct drift_fact *first = a, *second = b;

	if (first->chance != second->chance)
		return first->chance < second->chance ? -1 : 1;
	if (first->label_chance != second->label_chance)
		return first->label_chance < second->label_chance ? -1 : 1;
	return strcmp(first->name, second->name);
}

int fact_drift_ask(struct server *server, const struct fact_drift_question *question,
		   struct fact_drift *drift, struct error *error)
{
	uint64_t from_us = question->from_ns / NSEC_PER_USEC;
	uint64_t to_us = question->to_ns / NSEC_PER_USEC;
	const struct sql_value values[] = {
		{ "kind", question->kind, 0 },
		{ "label", question->label, 0 },
		{ "value", question->value, 0 },
		{ "from", NULL, from_us },
		{ "to", NULL, to_us },
		{ "first_day", NULL, from_us / DAY_US },
		{ "last_day", NULL, (to_us - 1) / DAY_US },
	};
	int r = ask_rows(server, fact_counts_sql, values, ARRAY_SIZE(values), "ttnnn", &drift->rows,
			 error);

	if (r < 0)
		return r;
	r = fact_drift_take(drift);
	if (r < 0)
		return r;
	fact_drift_judge(drift);
	fact_drift_keep_best(drift);
	if (drift->facts.count)
		qsort(drift->facts.items, drift->facts.count, sizeof(*drift->facts.items),
		      fact_drift_compare);
	return 0;
}
