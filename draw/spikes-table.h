/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Spikes as a table: a row each, with what there is to remark behind it. Where the terminal is too
 * narrow for that, a row goes on in lines below it, and names are shortened in their middle;
 * figures never are.
 */

#include "draw/terminal.h"
#include "query/sums/spikes.h"

/* width 0: as wide as it is. */
void spikes_table_draw(const struct spikes *spikes, const struct terminal *terminal,
		       unsigned int width, bool utc, struct buffer *text);
