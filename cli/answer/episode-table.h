/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Episodes, and single incidents, as rows of a table. */

#include "cli/options/command.h"
#include "draw/columns.h"
#include "incidents/logs/episode.h"
#include "incidents/logs/incident-json.h"

struct episode_table {
	const struct invocation *invocation;
	/*
	 * The first column is the line number in the log instead of the incident's number in the
	 * store.
	 */
	bool by_line;
	/* The last column is the line of the log. */
	bool with_text;
	/* The lines before the table. */
	struct buffer head;
	struct columns columns;
	/* A copy of the columns, because the title of the first one depends on by_line. */
	struct columns_column list[COLUMNS_MAX];
};

void episode_table_row(struct episode_table *table, const struct episode *episode,
		       enum covered covered);
void episode_table_incident(struct episode_table *table, const struct incident *incident,
			    enum covered covered);
size_t episode_table_rows(const struct episode_table *table);
/* Prints the table. Returns 0 or -ENOMEM. */
int episode_table_end(struct episode_table *table);
