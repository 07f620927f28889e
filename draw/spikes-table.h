/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Draws spikes as a table, a row each with remarks at its end. If the terminal is too narrow, a row
 * continues in lines below it, and names lose their middle; numbers are always complete.
 */

#include "draw/terminal.h"
#include "query/sums/spikes.h"

/* width 0: no limit. */
void spikes_table_draw(const struct spikes *spikes, const struct terminal *terminal,
		       unsigned int width, bool utc, struct buffer *text);
