/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Applies the limits of a store while it is recorded, and says once that something goes for want of
 * space. For one thread. Each call sets *warning only when there is something to say.
 */

#include <stdbool.h>

#include "store/write/store-writer.h"

struct retainer {
	struct store_writer *writer;
	bool told_space, told_starved;
};

/* Notes new limits in the store, so that somebody who applies them later by hand applies the same.
 */
void retainer_note(struct retainer *retainer, const struct store_limits *limits,
		   struct error *warning);

/* Says what the first removal would say, and removes nothing: a person may still be there. */
void retainer_look(struct retainer *retainer, const struct store_limits *limits,
		   struct error *warning);

/* Removes what is beyond the limits. ret_retained is zeroed when that fails. */
void retainer_run(struct retainer *retainer, const struct store_limits *limits,
		  struct store_retained *ret_retained, struct error *warning);
