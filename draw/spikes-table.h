/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Draws spikes as a table. Each spike is a row with remarks at its end. If the terminal is too
 * narrow, a row continues in the lines below. Names are truncated in the middle; numbers are always
 * complete. The function in a row is always the function of that row's thread.
 */

#include "draw/terminal.h"
#include "query/sums/spikes.h"

struct spikes_table {
	const struct spikes *spikes;
	/* A text or NULL for each spike. The whole array may be NULL. */
	char *const *incidents;
	bool utc;
};

void spikes_table_draw(const struct spikes_table *table, const struct terminal *terminal,
		       struct buffer *text);
