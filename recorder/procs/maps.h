/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The mappings of one address space: which module lies at an address. A new mapping takes the place
 * of what it overlaps; what is left of an old one on either side stays. Shared between processes
 * until one of them changes it (fork copies nothing).
 *
 * Each change gives a new version, which no other maps have or will have: what was looked up under
 * a version stays true for it.
 */

#include <stdint.h>

#include "base/array.h"

struct mapping {
	uint64_t start;
	/* the first address behind it */
	uint64_t end;
	uint64_t offset;
	uint32_t module;
};

struct maps {
	unsigned int references;
	uint64_t version;
	/* by a walk over all maps, which has a number */
	uint64_t visited;
	/* by start, none overlaps another */
	array_of(struct mapping) list;
};

/* Versions are counted in *next_version, one counter for all maps that are looked at together. */
int maps_new(uint64_t *next_version, struct maps **ret_maps);
struct maps *maps_ref(struct maps *maps);
struct maps *maps_unref(struct maps *maps);

/* Adds a mapping to *maps, which becomes a copy first when others share it. An empty mapping
 * changes nothing. */
int maps_insert(struct maps **maps, uint64_t *next_version, const struct mapping *mapping);
/* Takes a range out of *maps. */
int maps_remove(struct maps **maps, uint64_t *next_version, uint64_t start, uint64_t end);

/* The mapping at an address, or NULL. Valid until the maps change. */
const struct mapping *maps_find(const struct maps *maps, uint64_t address);
