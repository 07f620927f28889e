/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Remembers the rules that walks found last. A search in a table reads five places of megabytes of
 * memory; a remembered rule is in one place of a small array. An entry has one place, so another
 * rule may take it at any time.
 *
 *   1. A rule is that of the table with the same `number` at the same offset.
 *   2. The cache does not know when a table ends: the owner of the tables gives each a new number.
 */

#include "unwind/unwind-table.h"

/* 256 KB. */
#define RULE_CACHE_ENTRIES 8192

struct rule_cache_entry {
	/* The number of the table; 0: the entry is empty. */
	uint32_t table;
	/* Counted from the table's base. */
	uint32_t offset;
	struct unwind_rule rule;
};

/* Zero it to start. */
struct rule_cache {
	struct rule_cache_entry entries[RULE_CACHE_ENTRIES];
};

/* Does the same as unwind_table_find(). A table without a number is searched each time. */
void rule_cache_find(struct rule_cache *cache, const struct unwind_table *table, uint64_t offset,
		     struct unwind_rule *ret_rule);
