// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/maps.h"

#include "base/hash.h"

/*
 * A treap: a search tree by the start of mappings, and a heap by the rank of nodes. The rank is a
 * keyed hash of the node's number, so a process cannot choose mappings that make the tree deep.
 *
 * Invariants:
 * (1) nodes to the left of a node have smaller starts, and nodes to the right have greater starts;
 * (2) a node's rank is at least the rank of both its children;
 * (3) each node is in the tree or on the free list;
 * (4) all->count is the sum of the counts of all maps.
 */

int maps_new(struct maps_all *all, size_t max, struct maps **ret_maps)
{
	struct maps *maps = calloc(1, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	maps->references = 1;
	maps->all = all;
	maps->max = max;
	maps->version = all->next_version++;
	*ret_maps = maps;
	return 0;
}

struct maps *maps_ref(struct maps *maps)
{
	if (maps)
		maps->references++;
	return maps;
}

struct maps *maps_unref(struct maps *maps)
{
	if (maps && --maps->references == 0) {
		maps->all->count -= maps->count;
		array_done(&maps->nodes);
		free(maps);
	}
	return NULL;
}

static struct maps_node *maps_at(const struct maps *maps, uint32_t link)
{
	return &maps->nodes.items[link - 1];
}

static uint64_t maps_rank(uint32_t link)
{
	return hash_numbers(link, 0x6d617073);
}

/* Replaces *maps by a copy if other processes share *maps, so that the caller may change it. */
static int maps_own(struct maps **maps)
{
	struct maps *from = *maps, *copy;
	int r;

	if (from->references == 1) {
		from->version = from->all->next_version++;
		return 0;
	}
	r = maps_new(from->all, from->max, &copy);
	if (r < 0)
		return r;
	if (array_reserve(&copy->nodes, from->nodes.count + 2) < 0) {
		maps_unref(copy);
		return -ENOMEM;
	}
	if (from->nodes.count)
		memcpy(copy->nodes.items, from->nodes.items,
		       from->nodes.count * sizeof(*copy->nodes.items));
	copy->nodes.count = from->nodes.count;
	copy->count = from->count;
	copy->own_bytes = from->own_bytes;
	copy->root = from->root;
	copy->free = from->free;
	copy->all->count += copy->count;
	maps_unref(from);
	*maps = copy;
	return 0;
}

/*
 * Splits a tree into the mappings that start before an address and those that start at or after it.
 */
static void maps_split(const struct maps *maps, uint32_t root, uint64_t address, uint32_t *before,
		       uint32_t *after)
{
	while (root) {
		struct maps_node *node = maps_at(maps, root);

		if (node->mapping.start < address) {
			*before = root;
			before = &node->right;
			root = node->right;
		} else {
			*after = root;
			after = &node->left;
			root = node->left;
		}
	}
	*before = *after = 0;
}

/* Joins two trees; all mappings of the first one lie before those of the second one. */
static uint32_t maps_join(const struct maps *maps, uint32_t before, uint32_t after)
{
	uint32_t root, *to = &root;

	while (before && after) {
		if (maps_rank(before) > maps_rank(after)) {
			*to = before;
			to = &maps_at(maps, before)->right;
			before = *to;
		} else {
			*to = after;
			to = &maps_at(maps, after)->left;
			after = *to;
		}
	}
	*to = before ? before : after;
	return root;
}

static struct mapping *maps_last(const struct maps *maps, uint32_t root)
{
	if (!root)
		return NULL;
	while (maps_at(maps, root)->right)
		root = maps_at(maps, root)->right;
	return &maps_at(maps, root)->mapping;
}

/* Frees a tree without recursion, by turning it into a list. */
static void maps_free_tree(struct maps *maps, uint32_t root)
{
	while (root) {
		struct maps_node *node = maps_at(maps, root);
		uint32_t next = node->left ? node->left : node->right;

		if (node->left) {
			node->left = maps_at(maps, next)->right;
			maps_at(maps, next)->right = root;
		} else {
			*node = (struct maps_node){ .left = maps->free };
			maps->free = root;
			maps->count--;
			maps->all->count--;
		}
		root = next;
	}
}

/* Returns a tree of one mapping. The caller must have reserved the memory. */
static uint32_t maps_make(struct maps *maps, const struct mapping *mapping)
{
	uint32_t link = maps->free;

	if (link)
		maps->free = maps_at(maps, link)->left;
	else
		link = ++maps->nodes.count;
	*maps_at(maps, link) = (struct maps_node){ .mapping = *mapping };
	maps->count++;
	maps->all->count++;
	return link;
}

/* Returns whether the bounds allow two more mappings, and a copy of shared maps. */
static bool maps_has_room(const struct maps *maps)
{
	size_t all = maps->all->count + 2 + (maps->references > 1 ? maps->count : 0);

	if (maps->count + 2 > maps->max)
		return false;
	return all <= MAPS_ALL_MAX ||
	       (maps->count < MAPS_SMALL && all <= MAPS_ALL_MAX + MAPS_ALL_MAX / 4);
}

/*
 * Sets *ret_rest to the part of a mapping beyond an address. Returns false if the mapping ends
 * before.
 */
static bool maps_cut(const struct mapping *mapping, uint64_t end, struct mapping *ret_rest)
{
	if (!mapping || mapping->end <= end)
		return false;
	*ret_rest = *mapping;
	ret_rest->offset += end - mapping->start;
	ret_rest->start = end;
	return true;
}

/*
 * Replaces [start, end) by a mapping; NULL: by nothing. The caller must have reserved the memory.
 */
static void maps_replace(struct maps *maps, uint64_t start, uint64_t end,
			 const struct mapping *mapping)
{
	uint32_t before, inside, after;
	struct mapping *last, rest;
	bool cut;

	maps_split(maps, maps->root, start, &before, &inside);
	maps_split(maps, inside, end, &inside, &after);
	last = maps_last(maps, before);
	cut = maps_cut(inside ? maps_last(maps, inside) : last, end, &rest);
	if (last)
		last->end = last->end < start ? last->end : start;
	maps_free_tree(maps, inside);
	if (mapping)
		before = maps_join(maps, before, maps_make(maps, mapping));
	if (cut)
		before = maps_join(maps, before, maps_make(maps, &rest));
	maps->root = maps_join(maps, before, after);
}

static int maps_put(struct maps **maps, uint64_t start, uint64_t end, const struct mapping *mapping)
{
	int r;

	if (start >= end)
		return 0;
	if (!maps_has_room(*maps))
		return -ENOSPC;
	r = maps_own(maps);
	if (r < 0)
		return r;
	r = array_reserve(&(*maps)->nodes, (*maps)->nodes.count + 2);
	if (r < 0)
		return r;
	maps_replace(*maps, start, end, mapping);
	return 0;
}

int maps_insert(struct maps **maps, const struct mapping *mapping)
{
	return maps_put(maps, mapping->start, mapping->end, mapping);
}

int maps_remove(struct maps **maps, uint64_t start, uint64_t end)
{
	return maps_put(maps, start, end, NULL);
}

const struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
	const struct mapping *found = NULL;

	for (uint32_t link = maps->root; link;) {
		const struct maps_node *node = maps_at(maps, link);

		if (node->mapping.start <= address)
			found = &node->mapping;
		link = node->mapping.start <= address ? node->right : node->left;
	}
	return found && address < found->end ? found : NULL;
}

struct mapping *maps_next(struct maps *maps, size_t *at)
{
	while (*at < maps->nodes.count) {
		struct mapping *mapping = &maps->nodes.items[(*at)++].mapping;

		if (mapping->end)
			return mapping;
	}
	return NULL;
}
