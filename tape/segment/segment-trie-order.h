/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* In which order the leaf nodes of the section "trie" stand, and which numbers samples know them
 * by. */

#include "tape/segment/segment-trie.h"

/* The paths in depth-first order, forest by forest: a stack's leaf nodes come before the stacks
 * that it calls. */
int trie_sort_paths(const struct trie *trie, const struct tape *tape,
		    const struct dictionary *dictionary, uint32_t *ret_order);
/* From depth-first order, forest by forest, to the order of ranks: in each comm by count, the
 * largest first, then as they were. */
int trie_order_by_rank(uint32_t *order, size_t count, const uint32_t *counts,
		       const uint32_t *comms);
