// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/addresses.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"

/*
 * Limits the total size of the names, because a hostile file could give each address a name of a
 * megabyte. The names of the largest C++ programs have some hundred bytes on average.
 */
#define NAMES_BASE (256u << 10)
#define NAMES_PER_ADDRESS 1024

void addresses_done(struct addresses *addresses)
{
	array_done(&addresses->list);
	strings_done(&addresses->names);
}

int addresses_add(struct addresses *addresses, uint64_t address)
{
	int r = array_push(&addresses->list, (struct address){ .address = address });

	addresses->open += r == 0;
	return r;
}

static int addresses_compare(const void *a, const void *b)
{
	const struct address *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	/*
	 * put the named one of two equal addresses first, because addresses_sort() keeps the first
	 */
	return (int)other->state - (int)one->state;
}

void addresses_sort(struct addresses *addresses)
{
	struct address *items = addresses->list.items;
	size_t kept = 0;

	if (addresses->list.count)
		qsort(items, addresses->list.count, sizeof(*items), addresses_compare);
	addresses->open = 0;
	for (size_t i = 0; i < addresses->list.count; i++) {
		if (kept && items[kept - 1].address == items[i].address)
			continue;
		addresses->open += items[i].state == ADDRESSES_OPEN;
		items[kept++] = items[i];
	}
	addresses->list.count = kept;
}

size_t addresses_below(const struct addresses *addresses, uint64_t address)
{
	return sort_array_count_below(&addresses->list, address, address);
}

struct address *addresses_find(const struct addresses *addresses, uint64_t address)
{
	size_t at = addresses_below(addresses, address);

	if (at == addresses->list.count || addresses->list.items[at].address != address)
		return NULL;
	return &addresses->list.items[at];
}

int addresses_answer(struct addresses *addresses, size_t i, uint64_t start, const char *name)
{
	struct address *address = &addresses->list.items[i];
	int r;

	if (addresses->names.text.size + strlen(name) >
	    NAMES_BASE + NAMES_PER_ADDRESS * addresses->list.count)
		return -E2BIG;
	r = strings_add(&addresses->names, name, strlen(name), &address->name);
	if (r < 0)
		return r;
	address->start = start;
	address->state = ADDRESSES_NAMED;
	addresses->open--;
	return 0;
}

void addresses_close(struct addresses *addresses)
{
	for (size_t i = 0; addresses->open && i < addresses->list.count; i++)
		if (addresses->list.items[i].state == ADDRESSES_OPEN)
			addresses->list.items[i].state = ADDRESSES_UNNAMED;
	addresses->open = 0;
}

void addresses_open(struct addresses *addresses)
{
	for (size_t i = 0; i < addresses->list.count; i++)
		addresses->list.items[i] =
			(struct address){ .address = addresses->list.items[i].address };
	addresses->open = addresses->list.count;
	strings_done(&addresses->names);
}

int addresses_shrink(struct addresses *addresses)
{
	struct addresses kept = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < addresses->list.count; i++) {
		struct address address = addresses->list.items[i];
		const char *name = addresses_name(addresses, &address);

		if (!address.used)
			continue;
		address.used = false;
		kept.open += address.state == ADDRESSES_OPEN;
		r = strings_add(&kept.names, name, strlen(name), &address.name);
		if (r == 0)
			r = array_push(&kept.list, address);
	}
	if (r == 0) {
		struct addresses was = *addresses;

		*addresses = kept;
		kept = was;
	}
	addresses_done(&kept);
	return r;
}
