/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Addresses of one module, and their names. An address is unresolved (ADDRESSES_OPEN) while it
 * needs a name. The caller asks the best source of names first, and then the next source for the
 * unresolved rest. So the cost depends on the number of addresses, not on the size of a file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"

enum addresses_state {
	/* The address still needs a name. */
	ADDRESSES_OPEN,
	/* The sources do not know a name for the address. */
	ADDRESSES_UNNAMED,
	ADDRESSES_NAMED,
};

struct address {
	uint64_t address;
	/*
	 * The start of the address's function. A signal trampoline may start one byte behind the
	 * address.
	 */
	uint64_t start;
	/* The demangled name; 0: none yet. */
	uint32_t name;
	uint8_t state;
	bool used;
	/* The name cache contains the address. */
	bool cached;
};

/*
 * Starts zeroed. The list is sorted by address without duplicates, except for addresses that were
 * added since the last addresses_sort().
 */
struct addresses {
	array_of(struct address) list;
	struct strings names;
	size_t open;
};

void addresses_done(struct addresses *addresses);
/* Adds an address that still needs a name. Returns 0 or -ENOMEM. */
int addresses_add(struct addresses *addresses, uint64_t address);
void addresses_sort(struct addresses *addresses);
/* Returns an address, or NULL if the list lacks it. Valid until the next addresses_add(). */
struct address *addresses_find(const struct addresses *addresses, uint64_t address);
/* Returns the number of listed addresses that are below `address`. */
size_t addresses_below(const struct addresses *addresses, uint64_t address);
/*
 * Names the i-th address, which must be unresolved. Returns 0, -ENOMEM, or -E2BIG if all names
 * together exceed 256 KB plus 1 KB for each address.
 */
int addresses_answer(struct addresses *addresses, size_t i, uint64_t start, const char *name);
/* Marks the unresolved addresses as unnamed. */
void addresses_close(struct addresses *addresses);
/* Forgets all answers, so that all addresses are unresolved again. */
void addresses_open(struct addresses *addresses);
/*
 * Removes the addresses that are not marked as used, and clears the marks. Returns 0, or -ENOMEM
 * without a change.
 */
int addresses_shrink(struct addresses *addresses);

static inline const char *addresses_name(const struct addresses *addresses,
					 const struct address *address)
{
	return strings_at(&addresses->names, address->name);
}
