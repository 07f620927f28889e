/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The mappings of one address space: the module at each address. A new mapping replaces what it
 * overlaps; the rest of an older mapping stays on both sides. Processes share the mappings until
 * one of them changes them, so that fork() copies nothing.
 *
 * Each change gives a new version number, which no other mappings ever have. A result that was
 * looked up under a version therefore stays true for that version.
 */

#include <stdint.h>

#include "base/array.h"

struct mapping {
	uint64_t start;
	/* The first address after the mapping. */
	uint64_t end;
	uint64_t offset;
	uint32_t module;
};

struct maps {
	unsigned int references;
	uint64_t version;
	/* Number of the last walk over all maps that visited this one. */
	uint64_t visited;
	/* By start; mappings do not overlap. */
	array_of(struct mapping) list;
};

/*
 * Creates empty mappings. Takes versions from *next_version, one counter for all maps that are
 * compared. Returns 0 or -ENOMEM.
 */
int maps_new(uint64_t *next_version, struct maps **ret_maps);
/* Adds a reference, which maps_unref() returns. Both accept NULL. */
struct maps *maps_ref(struct maps *maps);
struct maps *maps_unref(struct maps *maps);

/*
 * Adds a mapping to *maps, and replaces *maps by a copy first if others share it. An empty mapping
 * changes nothing. Returns 0 or -ENOMEM.
 */
int maps_insert(struct maps **maps, uint64_t *next_version, const struct mapping *mapping);
/* Removes a range from *maps. Returns 0 or -ENOMEM. */
int maps_remove(struct maps **maps, uint64_t *next_version, uint64_t start, uint64_t end);

/* Returns the mapping at an address, or NULL. Valid until the maps change. */
const struct mapping *maps_find(const struct maps *maps, uint64_t address);
