/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Addresses of one module that somebody wants the names of, and what was found out about them. Whoever knows names answers what is
 * still open, best source first, and leaves the rest to the next one; so what it costs goes by what is wanted, not by what a file has.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"

enum wanted_state {
	WANTED_OPEN,
	WANTED_NAMELESS, /* all were asked, none knew it */
	WANTED_NAMED,
};

struct wanted_address {
	uint64_t address;
	uint64_t start; /* of the function that it is in */
	uint32_t name; /* demangled; 0 as long as there is none */
	uint8_t state;
	bool used;
	bool kept; /* by who keeps answers */
};

/* Zeroed to start. Sorted by address, each there once, but for those that were added since the last wanted_sort(). */
struct wanted {
	array_of(struct wanted_address) addresses;
	struct strings names;
	size_t open;
};

void wanted_done(struct wanted *wanted);
/* 0 or -ENOMEM. */
int wanted_add(struct wanted *wanted, uint64_t address);
void wanted_sort(struct wanted *wanted);
/* NULL when it was not added. The next wanted_add() may move it. */
struct wanted_address *wanted_find(const struct wanted *wanted, uint64_t address);
/* How many addresses are below this one. */
size_t wanted_below(const struct wanted *wanted, uint64_t address);
/* Names the i-th, which is open. 0, -ENOMEM; -E2BIG beyond 64 MB of names. */
int wanted_answer(struct wanted *wanted, size_t i, uint64_t start, const char *name);
/* What is open now has no name. */
void wanted_close(struct wanted *wanted);
/* Forgets what is not marked as used, and takes the marks away. 0, or -ENOMEM with all as it was. */
int wanted_shrink(struct wanted *wanted);

static inline const char *wanted_name(
	const struct wanted *wanted, const struct wanted_address *address)
{
	return strings_at(&wanted->names, address->name);
}
