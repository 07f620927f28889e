/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Applies the limits of a store during a recording, and warns once when it removes segments to free
 * disk space. For one thread. The functions leave *warning as it is if they do not warn.
 */

#include <stdbool.h>

#include "store/write/store-writer.h"

struct retainer {
	struct store_writer *writer;
	bool warned_space, warned_starved;
};

/* Writes new limits into the store, so that a later `vacuum` applies the same limits. */
void retainer_note_limits(struct retainer *retainer, const struct store_limits *limits,
			  struct error *warning);

/*
 * Warns if the limits will remove segments, without removing any. Call it at the start, while the
 * user may still be watching.
 */
void retainer_check(struct retainer *retainer, const struct store_limits *limits,
		    struct error *warning);

/* Adds the sums and the times of a removal to those of earlier removals. */
void retainer_add(const struct store_retained *retained, struct store_retained *sum);

/* Removes segments beyond the limits. On failure, zeroes *ret_retained. */
void retainer_run(struct retainer *retainer, const struct store_limits *limits,
		  struct store_retained *ret_retained, struct error *warning);
