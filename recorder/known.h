/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Numbers that are known by a hash of what they stand for, which is not kept. The drain asks once for each sample, a second after it asked the
 * last time: by then no cache has any of it, so all that a look needs lies in one place.
 *
 * 96 bits of the hash are compared. Of 64 that are good, two of a million are taken for one another once in 10^7 tables.
 */

#include <stddef.h>
#include <stdint.h>

#define KNOWN_NONE UINT32_MAX

struct known_key {
	uint64_t check;
	uint32_t place;
};

struct known_slot {
	uint64_t check;
	uint32_t place;
	uint32_t value; /* KNOWN_NONE: the slot is empty */
};

/* Zeroed is empty. */
struct known {
	struct known_slot *slots;
	size_t mask; /* slots - 1, or 0 with no slots */
	size_t count;
};

void known_done(struct known *known);
/* Forgets all and keeps the memory. */
void known_clear(struct known *known);
/* That the key is not there yet is the caller's word. value must not be KNOWN_NONE. 0 or -ENOMEM. */
int known_add(struct known *known, struct known_key key, uint32_t value);

/* A look is to come soon. */
static inline void known_soon(const struct known *known, struct known_key key)
{
	__builtin_prefetch(known->slots + (key.place & known->mask));
}

/* The value, or KNOWN_NONE. */
static inline uint32_t known_find(const struct known *known, struct known_key key)
{
	const struct known_slot *slot;

	if (!known->slots)
		return KNOWN_NONE;
	for (size_t at = key.place & known->mask;; at = (at + 1) & known->mask) {
		slot = &known->slots[at];
		if (slot->value == KNOWN_NONE ||
			(slot->check == key.check && slot->place == key.place))
			return slot->value;
	}
}
