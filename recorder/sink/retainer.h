/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Applies the limits of a store during a recording, and warns once when segments are removed to
 * free disk space. For one thread. Each call sets *warning only if there is something to say.
 */

#include <stdbool.h>

#include "store/write/store-writer.h"

struct retainer {
	struct store_writer *writer;
	bool warned_space, warned_starved;
};

/* Writes new limits into the store, so that a later removal by hand applies the same ones. */
void retainer_note_limits(struct retainer *retainer, const struct store_limits *limits,
			  struct error *warning);

/*
 * Warns if the limits will remove segments, and removes none yet. Call it at the start, while the
 * user may still be watching.
 */
void retainer_check(struct retainer *retainer, const struct store_limits *limits,
		    struct error *warning);

/* Adds a removal to what was removed before: the sums and the times. */
void retainer_add(const struct store_retained *retained, struct store_retained *sum);

/* Removes what exceeds the limits. On failure *ret_retained is zeroed. */
void retainer_run(struct retainer *retainer, const struct store_limits *limits,
		  struct store_retained *ret_retained, struct error *warning);
