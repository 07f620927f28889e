/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Episodes, and single incidents, as rows of a table that a person reads at night. On a terminal
 * that is too narrow for all of it, it has what counts: when, what, where, how long, which CPU, and
 * whether there are samples.
 */

#include "cli/options/command.h"
#include "incidents/logs/episode.h"
#include "incidents/logs/incident-json.h"

struct episode_table {
	const struct invocation *invocation;
	/* the first column is the line of the log, and not the number in the store */
	bool by_line;
	/* the line stands at the end */
	bool with_text;
	struct buffer out;
	size_t rows;
	/* to fit in; 0: as wide as it is */
	unsigned int width;
};

void episode_table_row(struct episode_table *table, const struct episode *episode,
		       enum covered covered);
void episode_table_incident(struct episode_table *table, const struct incident *incident,
			    enum covered covered);
/* Prints it. 0 or -ENOMEM. */
int episode_table_end(struct episode_table *table);
