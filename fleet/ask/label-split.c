// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ask/label-split.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/ask/exact-test.h"
/* generated from the files of sql/ */
#include "fleet/host-days-sql.h"
#include "fleet/host-labels-sql.h"
#include "fleet/incident-counts-sql.h"

#define DAY_US 86400000000ull

void label_split_done(struct label_split *split)
{
	array_done(&split->hosts);
	array_done(&split->values);
	strings_done(&split->names);
	ask_rows_done(&split->shown);
	ask_rows_done(&split->labels);
	ask_rows_done(&split->counts);
}

/* Finds or adds a host. Number 1 of the names is the first host. */
static int label_split_host(struct label_split *split, const char *name,
			    struct label_host **ret_host)
{
	uint32_t id;
	int r = strings_add(&split->names, name, strlen(name), &id);

	if (r < 0)
		return r;
	while (split->hosts.count <= id)
		if (array_push(&split->hosts, (struct label_host){ .name = "" }) < 0)
			return -ENOMEM;
	*ret_host = &split->hosts.items[id];
	(*ret_host)->name = name;
	return 0;
}

static int label_split_take_hosts(struct label_split *split)
{
	struct label_host *host;
	int r = 0;

	for (size_t i = 0; r == 0 && i < split->shown.count; i++) {
		const struct ask_cell *row = ask_row(&split->shown, i);

		r = label_split_host(split, row[0].text, &host);
		if (r < 0)
			return r;
		host->days = (double)row[1].number / DAY_US;
	}
	for (size_t i = 0; r == 0 && i < split->counts.count; i++) {
		const struct ask_cell *row = ask_row(&split->counts, i);

		r = label_split_host(split, row[0].text, &host);
		if (r < 0)
			break;
		host->incidents += row[2].number;
		host->lines += row[3].number;
	}
	return r;
}

static double label_split_rate(double incidents, double days)
{
	return days > 0 ? incidents / days : 0;
}

static double label_split_host_rate(const struct label_host *host)
{
	/* a host that shipped no facts was there for a day at least */
	return host->days > 0 ? (double)host->incidents / host->days : (double)host->incidents;
}

static int label_split_compare_rates(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

/* Finds the median host, and the hosts above it. Row 0 is not a host. */
static int label_split_strike(struct label_split *split)
{
	size_t count = split->hosts.count > 1 ? split->hosts.count - 1 : 0;
	_cleanup_free_ double *rates = calloc(count + 1, sizeof(*rates));

	if (!rates)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		rates[i] = label_split_host_rate(&split->hosts.items[i + 1]);
	qsort(rates, count, sizeof(*rates), label_split_compare_rates);
	split->median = count ? rates[count / 2] : 0;
	/* hosts that all have the same rate are not above each other */
	for (size_t i = 1; i <= count; i++) {
		struct label_host *host = &split->hosts.items[i];

		host->struck = label_split_host_rate(host) > split->median;
		split->struck += host->struck;
		split->with_incidents += host->incidents > 0;
		split->incidents += host->incidents;
		split->lines += host->lines;
		split->days += host->days;
	}
	return 0;
}

static int label_split_compare_labels(const void *a, const void *b)
{
	const struct ask_cell *first = a, *second = b;
	int r = strcmp(first[1].text, second[1].text);

	return r ? r : strcmp(first[2].text, second[2].text);
}

/* Adds up the hosts of a value. The rows of one value stand together. */
static int label_split_take_values(struct label_split *split)
{
	struct label_value *value = NULL;

	if (split->labels.count)
		qsort(split->labels.cells.items, split->labels.count, 3 * sizeof(struct ask_cell),
		      label_split_compare_labels);
	for (size_t i = 0; i < split->labels.count; i++) {
		const struct ask_cell *row = ask_row(&split->labels, i);
		uint32_t id = strings_find(&split->names, row[0].text, strlen(row[0].text));
		const struct label_host *host = &split->hosts.items[id];

		if (!id)
			continue;
		if (!value || strcmp(value->label, row[1].text) != 0 ||
		    strcmp(value->value, row[2].text) != 0) {
			if (array_push(&split->values,
				       (struct label_value){ .label = row[1].text,
							     .value = row[2].text }) < 0)
				return -ENOMEM;
			value = &split->values.items[split->values.count - 1];
		}
		value->hosts++;
		value->with_incidents += host->incidents > 0;
		value->struck += host->struck;
		value->incidents += host->incidents;
		value->days += host->days;
	}
	return 0;
}

/* A value of one host or of all hosts separates nothing. */
static bool label_split_is_compared(const struct label_split *split,
				    const struct label_value *value)
{
	return value->hosts > 1 && value->hosts + 1 < split->hosts.count;
}

static void label_split_judge(struct label_split *split)
{
	uint64_t hosts = split->hosts.count ? split->hosts.count - 1 : 0;

	for (size_t i = 0; i < split->values.count; i++)
		split->tries += label_split_is_compared(split, &split->values.items[i]);
	for (size_t i = 0; i < split->values.count; i++) {
		struct label_value *value = &split->values.items[i];

		value->rate = label_split_rate((double)value->incidents, value->days);
		value->others_rate = label_split_rate((double)(split->incidents - value->incidents),
						      split->days - value->days);
		value->chance = 1;
		if (label_split_is_compared(split, value))
			value->chance =
				fmin(1, (double)split->tries *
						exact_test_share(value->struck, value->hosts,
								 split->struck, hosts));
	}
}

static int label_split_compare_values(const void *a, const void *b)
{
	const struct label_value *first = a, *second = b;
	int r = strcmp(first->label, second->label);

	if (r)
		return r;
	if (first->rate != second->rate)
		return first->rate < second->rate ? 1 : -1;
	return strcmp(first->value, second->value);
}

static int label_split_compare_hosts(const void *a, const void *b)
{
	const struct label_host *first = a, *second = b;

	if (first->incidents != second->incidents)
		return first->incidents < second->incidents ? 1 : -1;
	return strcmp(first->name, second->name);
}

static int label_split_add_up(struct label_split *split)
{
	int r = label_split_take_hosts(split);

	if (r < 0)
		return r;
	r = label_split_strike(split);
	if (r < 0)
		return r;
	r = label_split_take_values(split);
	if (r < 0)
		return r;
	label_split_judge(split);
	if (split->values.count)
		qsort(split->values.items, split->values.count, sizeof(*split->values.items),
		      label_split_compare_values);
	if (!split->hosts.count)
		return 0;
	/* row 0 is not a host */
	split->hosts.count--;
	memmove(split->hosts.items, split->hosts.items + 1,
		split->hosts.count * sizeof(*split->hosts.items));
	qsort(split->hosts.items, split->hosts.count, sizeof(*split->hosts.items),
	      label_split_compare_hosts);
	return 0;
}

int label_split_ask(struct server *server, const char *kind, uint64_t from_ns, uint64_t to_ns,
		    struct label_split *split, struct error *error)
{
	uint64_t from_us = from_ns / NSEC_PER_USEC, to_us = to_ns / NSEC_PER_USEC;
	const struct sql_value values[] = {
		{ "kind", kind, 0 },
		{ "from", NULL, from_us },
		{ "to", NULL, to_us },
		{ "first_day", NULL, from_us / DAY_US },
		{ "last_day", NULL, (to_us - 1) / DAY_US },
	};
	size_t count = ARRAY_SIZE(values);
	int r = ask_rows(server, host_days_sql, values, count, "tn", &split->shown, error);

	if (r < 0)
		return r;
	r = ask_rows(server, host_labels_sql, values, count, "ttt", &split->labels, error);
	if (r < 0)
		return r;
	r = ask_rows(server, incident_counts_sql, values, count, "ttnnn", &split->counts, error);
	return r < 0 ? r : label_split_add_up(split);
}

const struct label_value *label_split_best(const struct label_split *split, const char *label)
{
	const struct label_value *best = NULL;

	for (size_t i = 0; i < split->values.count; i++) {
		const struct label_value *value = &split->values.items[i];

		if (label && strcmp(label, value->label) != 0)
			continue;
		if (!best || value->chance < best->chance ||
		    (value->chance == best->chance && value->rate > best->rate))
			best = value;
	}
	return best;
}
