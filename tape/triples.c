// SPDX-License-Identifier: GPL-2.0-only
#include "tape/triples.h"

#include <errno.h>

void triples_done(struct triples *triples)
{
	array_done(&triples->list);
	table_done(&triples->table);
}

static bool triple_equal(const void *context, uint32_t id, const void *key)
{
	const struct triple *known = &((const struct triples *)context)->list.items[id];
	const struct triple *triple = key;

	return known->a == triple->a && known->b == triple->b && known->c == triple->c;
}

int triples_add(struct triples *triples, struct triple triple, uint32_t *ret_number)
{
	uint64_t hash = hash_numbers((uint64_t)triple.a << 32 | triple.b, triple.c);
	uint32_t id = table_find(&triples->table, hash, triple_equal, triples, &triple);

	if (id == TABLE_NONE) {
		id = triples->list.count;
		if (array_push(&triples->list, triple) < 0 ||
		    table_add(&triples->table, hash, id) < 0)
			return -ENOMEM;
	}
	*ret_number = id;
	return 0;
}
