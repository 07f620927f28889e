/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Addresses of one module that somebody wants the names of, and what was found out about them.
 * Whoever knows names answers what is still open, best source first, and leaves the rest to the
 * next one; so what it costs goes by what is addresses, not by what a file has.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"

enum addresses_state {
	ADDRESSES_OPEN,
	/* all were asked, none knew it */
	ADDRESSES_UNNAMED,
	ADDRESSES_NAMED,
};

struct address {
	uint64_t address;
	/* of the function that it is in */
	uint64_t start;
	/* demangled; 0 as long as there is none */
	uint32_t name;
	uint8_t state;
	bool used;
	/* by who keeps answers */
	bool cached;
};

/* Zeroed to start. Sorted by address, each there once, but for those that were added since the last
 * addresses_sort(). */
struct addresses {
	array_of(struct address) list;
	struct strings names;
	size_t open;
};

void addresses_done(struct addresses *addresses);
/* 0 or -ENOMEM. */
int addresses_add(struct addresses *addresses, uint64_t address);
void addresses_sort(struct addresses *addresses);
/* NULL when it was not added. The next addresses_add() may move it. */
struct address *addresses_find(const struct addresses *addresses, uint64_t address);
/* How many addresses are below this one. */
size_t addresses_below(const struct addresses *addresses, uint64_t address);
/* Names the i-th, which is open. 0, -ENOMEM; -E2BIG beyond 64 MB of names. */
int addresses_answer(struct addresses *addresses, size_t i, uint64_t start, const char *name);
/* What is open now has no name. */
void addresses_close(struct addresses *addresses);
/* Forgets what is not marked as used, and takes the marks away. 0, or -ENOMEM with all as it was.
 */
int addresses_shrink(struct addresses *addresses);

static inline const char *addresses_name(const struct addresses *addresses,
					 const struct address *address)
{
	return strings_at(&addresses->names, address->name);
}
