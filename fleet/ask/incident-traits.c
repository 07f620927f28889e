// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ask/incident-traits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/ask/exact-test.h"
/* generated from the files of sql/ */
#include "fleet/before-minutes-sql.h"
#include "fleet/before-samples-sql.h"

/* One of five windows is the last one. */
#define TRAIT_WINDOWS 5

void incident_traits_done(struct incident_traits *traits)
{
	array_done(&traits->list);
	for (size_t i = 0; i < TRAIT_SCALES; i++)
		ask_rows_done(&traits->rows[i]);
}

/* The row of the empty name stands for all samples; it comes first. */
static void incident_traits_count(struct incident_traits *traits, enum trait_scale scale)
{
	const struct ask_rows *rows = &traits->rows[scale];

	if (rows->count && !*ask_row(rows, 0)[0].text)
		traits->compared[scale] = ask_row(rows, 0)[1].number;
}

static void incident_traits_measure(const struct incident_traits *traits, enum trait_scale scale,
				    const struct ask_cell *row, struct incident_trait *trait)
{
	struct trait_measure *measure = &trait->scales[scale];
	double compared = (double)MAX(traits->compared[scale], 1);

	measure->incidents = row[2].number;
	measure->share = row[3].real / compared;
	measure->usual = row[4].real / compared;
	measure->host = row[5].text;
	measure->at_us = row[6].number;
	measure->chance = fmin(1, (double)traits->tries * exact_test_trials(row[2].number,
									    traits->compared[scale],
									    1.0 / TRAIT_WINDOWS));
	trait->chance = fmin(trait->chance, measure->chance);
}

static int incident_traits_add(struct incident_traits *traits, const char *name)
{
	struct incident_trait trait = { .name = name + 1, .thread = *name == 't', .chance = 1 };

	for (size_t i = 0; i < TRAIT_SCALES; i++)
		trait.scales[i] = (struct trait_measure){ .chance = 1, .host = "" };
	return array_push(&traits->list, trait);
}

/* Joins the rows of both scales, which are sorted by name. */
static int incident_traits_join(struct incident_traits *traits)
{
	const struct ask_rows *rows = traits->rows;
	size_t at[TRAIT_SCALES] = { 0 };
	int r = 0;

	while (r == 0 && (at[0] < rows[0].count || at[1] < rows[1].count)) {
		const char *name = NULL;

		for (size_t i = 0; i < TRAIT_SCALES; i++)
			if (at[i] < rows[i].count &&
			    (!name || strcmp(ask_row(&rows[i], at[i])[0].text, name) < 0))
				name = ask_row(&rows[i], at[i])[0].text;
		if (*name)
			r = incident_traits_add(traits, name);
		for (size_t i = 0; r == 0 && i < TRAIT_SCALES; i++) {
			if (at[i] == rows[i].count ||
			    strcmp(ask_row(&rows[i], at[i])[0].text, name) != 0)
				continue;
			if (*name)
				incident_traits_measure(
					traits, i, ask_row(&rows[i], at[i]),
					&traits->list.items[traits->list.count - 1]);
			at[i]++;
		}
	}
	return r;
}

static int incident_traits_compare(const void *a, const void *b)
{
	const struct incident_trait *first = a, *second = b;
	double one = first->scales[0].share - first->scales[0].usual;
	double two = second->scales[0].share - second->scales[0].usual;

	if (first->chance != second->chance)
		return first->chance < second->chance ? -1 : 1;
	if (one != two)
		return one > two ? -1 : 1;
	if (first->thread != second->thread)
		return first->thread ? -1 : 1;
	return strcmp(first->name, second->name);
}

int incident_traits_ask(struct server *server, const char *kind, uint64_t from_ns, uint64_t to_ns,
			struct incident_traits *traits, struct error *error)
{
	const struct sql_value values[] = {
		{ "kind", kind, 0 },
		{ "from", NULL, from_ns / NSEC_PER_USEC },
		{ "to", NULL, to_ns / NSEC_PER_USEC },
	};
	int r = ask_rows(server, before_samples_sql, values, ARRAY_SIZE(values), "tnnrrtn",
			 &traits->rows[TRAIT_SECONDS], error);

	if (r < 0)
		return r;
	r = ask_rows(server, before_minutes_sql, values, ARRAY_SIZE(values), "tnnrrtn",
		     &traits->rows[TRAIT_MINUTES], error);
	for (size_t i = 0; r == 0 && i < TRAIT_SCALES; i++) {
		incident_traits_count(traits, i);
		traits->tries += traits->rows[i].count;
	}
	if (r < 0)
		return r;
	r = incident_traits_join(traits);
	if (r < 0)
		return r;
	if (traits->list.count)
		qsort(traits->list.items, traits->list.count, sizeof(*traits->list.items),
		      incident_traits_compare);
	return 0;
}
