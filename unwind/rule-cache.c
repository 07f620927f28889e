// SPDX-License-Identifier: GPL-2.0-only
#include "unwind/rule-cache.h"

_Static_assert(sizeof(struct rule_cache_entry) == 32, "two entries fill a cache line");

/* An odd number without a pattern. The high bits of a product depend on all bits of a key. */
#define FACTOR 0x9e3779b97f4a7c15ull

static struct rule_cache_entry *rule_cache_entry(struct rule_cache *cache, uint32_t table,
						 uint32_t offset)
{
	uint64_t key = (uint64_t)table << 32 | offset;

	return &cache->entries[(key * FACTOR >> 32) % RULE_CACHE_ENTRIES];
}

void rule_cache_find(struct rule_cache *cache, const struct unwind_table *table, uint64_t offset,
		     struct unwind_rule *ret_rule)
{
	uint64_t in_table = offset - table->base;
	struct rule_cache_entry *entry;

	if (!table->number || offset < table->base || in_table > UINT32_MAX) {
		unwind_table_find(table, offset, ret_rule);
		return;
	}
	entry = rule_cache_entry(cache, table->number, (uint32_t)in_table);
	if (entry->table != table->number || entry->offset != (uint32_t)in_table) {
		unwind_table_find(table, offset, &entry->rule);
		entry->table = table->number;
		entry->offset = (uint32_t)in_table;
	}
	*ret_rule = entry->rule;
}
