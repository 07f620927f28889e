/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The mappings of one address space: the module at each address. A new mapping replaces the parts
 * of older mappings that it overlaps; their other parts stay. A child shares the mappings of its
 * parent until one of the two changes them, so a fork does not copy anything.
 *
 * Each change gives the mappings a new, unique version number. Therefore the result of a look-up
 * stays true for its version.
 *
 * The kernel reports each mmap() but not munmap(), so a process could make this object grow without
 * limit. So the number of mappings is bounded, and a look-up and a change take logarithmic time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* Real processes have less than 1,000 executable ranges. */
#define MAPS_MAX 4096
/* Bounds the BPF programs and kernel modules. */
#define MAPS_KERNEL_MAX 65536
/* Bounds the mappings of all maps together, to 24 MB. */
#define MAPS_ALL_MAX (512u << 10)
/*
 * When all maps together have MAPS_ALL_MAX mappings, maps with at most MAPS_SMALL mappings may
 * still grow, until the total is a quarter higher.
 */
#define MAPS_SMALL 64

struct mapping {
	uint64_t start;
	/* The first address after the mapping. */
	uint64_t end;
	uint64_t offset;
	uint32_t module;
};

/* A set of maps with unique versions and a common bound. Zero it to start. */
struct maps_all {
	uint64_t next_version;
	/* The number of mappings. */
	size_t count;
};

struct maps_node {
	/* An `end` of 0: the node is free. */
	struct mapping mapping;
	/* Numbers of nodes + 1; 0: none. The free nodes are a list by `left`. */
	uint32_t left, right;
};

struct maps {
	unsigned int references;
	/* Number of the last walk over all maps that visited this object. */
	uint64_t visited;
	uint64_t version;
	struct maps_all *all;
	/* The greatest number of mappings that is allowed. */
	size_t max;
	/* The number of mappings. */
	size_t count;
	/* Bytes of the modules that this object, or the one that it is a copy of, was the first to
	 * map. */
	size_t own_bytes;
	/* A tree by start; mappings do not overlap. */
	uint32_t root, free;
	array_of(struct maps_node) nodes;
};

/* Creates empty mappings. `all` must outlive them. Returns 0 or -ENOMEM. */
int maps_new(struct maps_all *all, size_t max, struct maps **ret_maps);
/* Adds a reference; maps_unref() drops it. Both accept NULL. */
struct maps *maps_ref(struct maps *maps);
struct maps *maps_unref(struct maps *maps);

/*
 * Adds a mapping to *maps. If other processes share *maps, first replaces it by a copy. An empty
 * mapping changes nothing. Returns 0, -ENOMEM, or -ENOSPC if there would be too many mappings.
 */
int maps_insert(struct maps **maps, const struct mapping *mapping);
/* Removes a range from *maps. Returns 0, -ENOMEM, or -ENOSPC if a mapping cannot be split. */
int maps_remove(struct maps **maps, uint64_t start, uint64_t end);

/* Returns the mapping at an address, or NULL. Valid until the maps change. */
const struct mapping *maps_find(const struct maps *maps, uint64_t address);
/*
 * Returns the next mapping, in any order, or NULL at the end. *at starts at 0. The caller may
 * change the module of the mapping.
 */
struct mapping *maps_next(struct maps *maps, size_t *at);
