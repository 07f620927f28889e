/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The host of a window, for an answer that does not read its samples, or that has none. It comes
 * from the tapes and not from this machine, because a store may have been imported or handed over.
 */

#include "base/error.h"
#include "query/coverage/recorded-facts.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/*
 * Adds the facts of the first and of the last segment in a window, or only the host of the store if
 * nothing is recorded in the window. Skips segments that cannot be read. Returns 0, or a negative
 * errno without memory.
 */
int store_host_find(struct store_reader *reader, const struct window *window,
		    struct recorded_facts *facts, struct error *error);
/* Sets the host of a whole store. */
int store_host_find_all(struct store_reader *reader, struct recorded_facts *facts,
			struct error *error);
