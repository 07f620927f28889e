// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ask/saturated-cpus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
/* generated from the files of sql/ */
#include "fleet/full-seconds-sql.h"
#include "fleet/held-windows-sql.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)
#define DAY_NS (86400 * NSEC_PER_SEC)

void saturated_cpus_done(struct saturated_cpus *cpus)
{
	array_done(&cpus->list);
	ask_rows_done(&cpus->rows);
	ask_rows_done(&cpus->held);
}

/* Returns whether a row is the next second of the same CPU. */
static bool saturated_cpus_goes_on(const struct ask_cell *row, const struct ask_cell *next)
{
	return strcmp(row[0].text, next[0].text) == 0 && row[1].number == next[1].number &&
	       row[2].number + 1 == next[2].number;
}

/*
 * Returns the name of most seconds, by the majority vote of Boyer and Moore: a thread that has more
 * than half of the seconds wins.
 */
static const char *saturated_cpus_leader(const struct ask_rows *rows, size_t from, size_t to)
{
	const char *leader = "";
	size_t votes = 0;

	for (size_t i = from; i < to; i++) {
		const char *comm = ask_row(rows, i)[3].text;

		if (!votes)
			leader = comm;
		votes += strcmp(leader, comm) == 0 ? 1 : -1;
	}
	return leader;
}

static int saturated_cpus_take(struct saturated_cpus *cpus, uint64_t min_s)
{
	const struct ask_rows *rows = &cpus->rows;
	size_t end;

	for (size_t i = 0; i < rows->count; i = end) {
		const struct ask_cell *row = ask_row(rows, i);

		end = i + 1;
		while (end < rows->count &&
		       saturated_cpus_goes_on(ask_row(rows, end - 1), ask_row(rows, end)))
			end++;
		if (end - i < min_s)
			continue;
		if (array_push(&cpus->list,
			       (struct saturated_run){ row[0].text, row[1].number, row[2].number,
						       end - i,
						       saturated_cpus_leader(rows, i, end) }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int saturated_cpus_compare(const void *a, const void *b)
{
	const struct saturated_run *first = a, *second = b;

	if (first->seconds != second->seconds)
		return first->seconds > second->seconds ? -1 : 1;
	if (first->from_s != second->from_s)
		return first->from_s > second->from_s ? -1 : 1;
	if (first->cpu != second->cpu)
		return first->cpu < second->cpu ? -1 : 1;
	return strcmp(first->host, second->host);
}

int saturated_cpus_ask(struct server *server, const struct saturated_question *question,
		       struct saturated_cpus *cpus, struct error *error)
{
	const struct sql_value values[] = {
		{ "label", question->label, 0 },
		{ "value", question->value, 0 },
		{ "from", NULL, question->from_ns / NSEC_PER_USEC },
		{ "to", NULL, question->to_ns / NSEC_PER_USEC },
		{ "first_minute", NULL, question->from_ns / MINUTE_NS },
		{ "last_minute", NULL, (question->to_ns - 1) / MINUTE_NS },
		{ "first_day", NULL, question->from_ns / DAY_NS },
		{ "last_day", NULL, (question->to_ns - 1) / DAY_NS },
	};
	int r = ask_rows(server, full_seconds_sql, values, ARRAY_SIZE(values), "tnnt", &cpus->rows,
			 error);

	if (r < 0)
		return r;
	r = ask_rows(server, held_windows_sql, values, ARRAY_SIZE(values), "nn", &cpus->held,
		     error);
	if (r < 0)
		return r;
	if (cpus->held.count) {
		cpus->hosts = ask_row(&cpus->held, 0)[0].number;
		cpus->held_s = ask_row(&cpus->held, 0)[1].number;
	}
	r = saturated_cpus_take(cpus, question->min_s);
	if (r < 0)
		return r;
	if (cpus->list.count)
		qsort(cpus->list.items, cpus->list.count, sizeof(*cpus->list.items),
		      saturated_cpus_compare);
	return 0;
}
