/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The order of the leaf nodes in the section "trie", and the numbers by which samples refer to
 * them.
 */

#include "tape/segment/segment-trie.h"

/*
 * Sorts the paths in depth-first order, forest by forest. A stack's leaf nodes come before the
 * stacks that it calls.
 */
int trie_sort_paths(const struct trie *trie, const struct tape *tape,
		    const struct dictionary *dictionary, uint32_t *ret_order);
/*
 * Changes depth-first order, forest by forest, to the order of ranks: within a comm by count, the
 * largest first, else unchanged.
 */
int trie_order_by_rank(uint32_t *order, size_t count, const uint32_t *counts,
		       const uint32_t *comms);
