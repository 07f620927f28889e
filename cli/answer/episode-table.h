/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Episodes, and single incidents, as rows of a table that a person reads at night. On a terminal that is too narrow for all of it, it has
 * what counts: when, what, where, how long, which CPU, and whether there are samples.
 */

#include "cli/options/command.h"
#include "incidents/logs/episode.h"
#include "incidents/logs/incident-json.h"

struct episode_table {
	const struct invocation *invocation;
	bool by_line; /* the first column is the line of the log, and not the number in the store */
	bool with_text; /* the line stands at the end */
	struct buffer out;
	size_t rows;
	unsigned int width; /* to fit in; 0: as wide as it is */
};

void episode_table_row(
	struct episode_table *table, const struct episode *episode, enum covered covered);
void episode_table_incident(
	struct episode_table *table, const struct incident *incident, enum covered covered);
/* Prints it. 0 or -ENOMEM. */
int episode_table_end(struct episode_table *table);
