// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/addresses.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"

/* A hostile file could give each address a name of a megabyte. */
#define NAMES_MAX (64u << 20)

void addresses_done(struct addresses *wanted)
{
	array_done(&wanted->addresses);
	strings_done(&wanted->names);
}

int addresses_add(struct addresses *wanted, uint64_t address)
{
	int r = array_push(&wanted->addresses, (struct addresses_address){ .address = address });

	wanted->open += r == 0;
	return r;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct addresses_address *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	/* of two that are alike the one that was answered stays */
	return (int)other->state - (int)one->state;
}

void addresses_sort(struct addresses *wanted)
{
	struct addresses_address *items = wanted->addresses.items;
	size_t kept = 0;

	if (wanted->addresses.count)
		qsort(items, wanted->addresses.count, sizeof(*items), compare_addresses);
	wanted->open = 0;
	for (size_t i = 0; i < wanted->addresses.count; i++) {
		if (kept && items[kept - 1].address == items[i].address)
			continue;
		wanted->open += items[i].state == ADDRESSES_OPEN;
		items[kept++] = items[i];
	}
	wanted->addresses.count = kept;
}

size_t addresses_below(const struct addresses *wanted, uint64_t address)
{
	return sort_array_count_below(&wanted->addresses, address, address);
}

struct addresses_address *addresses_find(const struct addresses *wanted, uint64_t address)
{
	size_t at = addresses_below(wanted, address);

	if (at == wanted->addresses.count || wanted->addresses.items[at].address != address)
		return NULL;
	return &wanted->addresses.items[at];
}

int addresses_answer(struct addresses *wanted, size_t i, uint64_t start, const char *name)
{
	struct addresses_address *address = &wanted->addresses.items[i];
	int r;

	if (wanted->names.text.size > NAMES_MAX)
		return -E2BIG;
	r = strings_add(&wanted->names, name, strlen(name), &address->name);
	if (r < 0)
		return r;
	address->start = start;
	address->state = ADDRESSES_NAMED;
	wanted->open--;
	return 0;
}

void addresses_close(struct addresses *wanted)
{
	for (size_t i = 0; wanted->open && i < wanted->addresses.count; i++)
		if (wanted->addresses.items[i].state == ADDRESSES_OPEN)
			wanted->addresses.items[i].state = ADDRESSES_NAMELESS;
	wanted->open = 0;
}

int addresses_shrink(struct addresses *wanted)
{
	struct addresses kept = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < wanted->addresses.count; i++) {
		struct addresses_address address = wanted->addresses.items[i];
		const char *name = addresses_name(wanted, &address);

		if (!address.used)
			continue;
		address.used = false;
		kept.open += address.state == ADDRESSES_OPEN;
		r = strings_add(&kept.names, name, strlen(name), &address.name);
		if (r == 0)
			r = array_push(&kept.addresses, address);
	}
	if (r == 0) {
		struct addresses was = *wanted;

		*wanted = kept;
		kept = was;
	}
	addresses_done(&kept);
	return r;
}
