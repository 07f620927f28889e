// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/addresses.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"

/* A hostile file could give each address a name of a megabyte. */
#define NAMES_MAX (64u << 20)

void wanted_done(struct wanted *wanted)
{
	array_done(&wanted->addresses);
	strings_done(&wanted->names);
}

int wanted_add(struct wanted *wanted, uint64_t address)
{
	int r = array_push(&wanted->addresses, (struct wanted_address){ .address = address });

	wanted->open += r == 0;
	return r;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct wanted_address *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	/* of two that are alike the one that was answered stays */
	return (int)other->state - (int)one->state;
}

void wanted_sort(struct wanted *wanted)
{
	struct wanted_address *items = wanted->addresses.items;
	size_t kept = 0;

	if (wanted->addresses.count)
		qsort(items, wanted->addresses.count, sizeof(*items), compare_addresses);
	wanted->open = 0;
	for (size_t i = 0; i < wanted->addresses.count; i++) {
		if (kept && items[kept - 1].address == items[i].address)
			continue;
		wanted->open += items[i].state == WANTED_OPEN;
		items[kept++] = items[i];
	}
	wanted->addresses.count = kept;
}

size_t wanted_below(const struct wanted *wanted, uint64_t address)
{
	return sort_array_count_below(&wanted->addresses, address, address);
}

struct wanted_address *wanted_find(const struct wanted *wanted, uint64_t address)
{
	size_t at = wanted_below(wanted, address);

	if (at == wanted->addresses.count || wanted->addresses.items[at].address != address)
		return NULL;
	return &wanted->addresses.items[at];
}

int wanted_answer(struct wanted *wanted, size_t i, uint64_t start, const char *name)
{
	struct wanted_address *address = &wanted->addresses.items[i];
	int r;

	if (wanted->names.text.size > NAMES_MAX)
		return -E2BIG;
	r = strings_add(&wanted->names, name, strlen(name), &address->name);
	if (r < 0)
		return r;
	address->start = start;
	address->state = WANTED_NAMED;
	wanted->open--;
	return 0;
}

void wanted_close(struct wanted *wanted)
{
	for (size_t i = 0; wanted->open && i < wanted->addresses.count; i++)
		if (wanted->addresses.items[i].state == WANTED_OPEN)
			wanted->addresses.items[i].state = WANTED_NAMELESS;
	wanted->open = 0;
}

int wanted_shrink(struct wanted *wanted)
{
	struct wanted kept = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < wanted->addresses.count; i++) {
		struct wanted_address address = wanted->addresses.items[i];
		const char *name = wanted_name(wanted, &address);

		if (!address.used)
			continue;
		address.used = false;
		kept.open += address.state == WANTED_OPEN;
		r = strings_add(&kept.names, name, strlen(name), &address.name);
		if (r == 0)
			r = array_push(&kept.addresses, address);
	}
	if (r == 0) {
		struct wanted was = *wanted;

		*wanted = kept;
		kept = was;
	}
	wanted_done(&kept);
	return r;
}
