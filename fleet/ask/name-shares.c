// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ask/name-shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/ask/exact-test.h"
/* generated from the files of sql/ */
#include "fleet/diff-names-sql.h"
#include "fleet/top-names-sql.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)
#define DAY_NS (86400 * NSEC_PER_SEC)

static int name_question_run(struct server *server, const struct name_question *question,
			     const char *sql, const char *types, struct ask_rows *rows,
			     struct error *error)
{
	const struct sql_value values[] = {
		{ "by", question->by ? question->by : "", 0 },
		{ "host", question->host ? question->host : "", 0 },
		{ "label", question->label, 0 },
		{ "value", question->value, 0 },
		{ "first_minute", NULL, question->from_ns / MINUTE_NS },
		{ "last_minute", NULL, (question->to_ns - 1) / MINUTE_NS },
		{ "first_day", NULL, question->from_ns / DAY_NS },
		{ "last_day", NULL, (question->to_ns - 1) / DAY_NS },
	};

	return ask_rows(server, sql, values, ARRAY_SIZE(values), types, rows, error);
}

void name_top_done(struct name_top *top)
{
	array_done(&top->list);
	ask_rows_done(&top->rows);
}

int name_top_ask(struct server *server, const struct name_question *question, struct name_top *top,
		 struct error *error)
{
	int r = name_question_run(server, question, top_names_sql, "tnntn", &top->rows, error);

	for (size_t i = 0; r == 0 && i < top->rows.count; i++) {
		const struct ask_cell *row = ask_row(&top->rows, i);

		top->samples += row[1].number;
		if (!*row[0].text)
			top->unnamed += row[1].number;
		else
			r = array_push(&top->list,
				       (struct name_top_row){ row[0].text, row[1].number,
							      row[2].number, row[3].text,
							      row[4].number });
	}
	return r;
}

void name_diff_done(struct name_diff *diff)
{
	array_done(&diff->list);
	ask_rows_done(&diff->rows);
}

/* The row of the empty name stands for all samples; it comes first. */
static int name_diff_take(struct name_diff *diff)
{
	for (size_t i = 0; i < diff->rows.count; i++) {
		const struct ask_cell *row = ask_row(&diff->rows, i);
		struct name_diff_row one = { .name = row[0].text + 1,
					     .thread = *row[0].text == 't',
					     .inside_above = row[3].number,
					     .outside_above = row[4].number };

		if (!*row[0].text) {
			diff->inside_hosts = (uint64_t)fmax(0, fmin(1e9, row[1].real));
			diff->outside_hosts = (uint64_t)fmax(0, fmin(1e9, row[2].real));
			continue;
		}
		one.inside = row[1].real / fmax(1, (double)diff->inside_hosts);
		one.outside = row[2].real / fmax(1, (double)diff->outside_hosts);
		if (array_push(&diff->list, one) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void name_diff_judge(struct name_diff *diff)
{
	uint64_t all = diff->inside_hosts + diff->outside_hosts;

	diff->tries = diff->list.count;
	for (size_t i = 0; i < diff->list.count; i++) {
		struct name_diff_row *row = &diff->list.items[i];
		uint64_t above = row->inside_above + row->outside_above;
		double more = exact_test_share(row->inside_above, diff->inside_hosts, above, all);
		double less = exact_test_share(row->outside_above, diff->outside_hosts, above, all);

		row->chance = fmin(1, 2 * (double)diff->tries * fmin(more, less));
	}
}

static int name_diff_compare(const void *a, const void *b)
{
	const struct name_diff_row *first = a, *second = b;
	bool one = first->chance <= CHANCE_CLEAR, two = second->chance <= CHANCE_CLEAR;
	double by_one = fabs(first->inside - first->outside);
	double by_two = fabs(second->inside - second->outside);

	if (one != two)
		return one ? -1 : 1;
	if (fabs(by_one - by_two) > 1e-9)
		return by_one > by_two ? -1 : 1;
	if (first->thread != second->thread)
		return first->thread ? -1 : 1;
	return strcmp(first->name, second->name);
}

int name_diff_ask(struct server *server, const struct name_question *question,
		  struct name_diff *diff, struct error *error)
{
	int r = name_question_run(server, question, diff_names_sql, "trrnn", &diff->rows, error);

	if (r < 0)
		return r;
	r = name_diff_take(diff);
	if (r < 0)
		return r;
	name_diff_judge(diff);
	if (diff->list.count)
		qsort(diff->list.items, diff->list.count, sizeof(*diff->list.items),
		      name_diff_compare);
	return 0;
}
