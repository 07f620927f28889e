// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two steps. Adding knows one trie of functions for all comms: a tape's stacks are gone through once, parents first, and what its
 * samples or sums say is then a look-up each. Writing gives each comm a trie of its own and walks it in the order of the text,
 * so that no line is kept.
 */
#include "query/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "query/map.h"

#define UNKNOWN "[unknown]"

struct trie_node {
	uint32_t parent;
	uint32_t name;
};

struct folded {
	struct strings names; /* as they are written; none of those that are used is empty */
	array_of(struct trie_node) nodes; /* number 0 is the root; parents have smaller numbers */
	struct map children; /* by trie_key(); the node */
	struct map weights; /* by trie_key() of a node and a comm */
	struct buffer text;
};

static uint64_t trie_key(uint32_t node, uint32_t name)
{
	return (uint64_t)node << 32 | name;
}

int folded_new(struct folded **ret_folded)
{
	struct folded *folded = calloc(1, sizeof(*folded));

	if (!folded || array_push(&folded->nodes, (struct trie_node){ 0 }) < 0) {
		free(folded);
		return -ENOMEM;
	}
	*ret_folded = folded;
	return 0;
}

struct folded *folded_free(struct folded *folded)
{
	if (!folded)
		return NULL;
	strings_done(&folded->names);
	array_done(&folded->nodes);
	map_done(&folded->children);
	map_done(&folded->weights);
	buffer_done(&folded->text);
	free(folded);
	return NULL;
}

static int add_name(struct folded *folded, const char *name, uint32_t *ret_name)
{
	/* over 4 GB of different names: the same answer to the person as no memory */
	return strings_add(&folded->names, name, strlen(name), ret_name) < 0 ? -ENOMEM : 0;
}

/* A line's own separators must not come out of a name. */
static int add_clean(struct folded *folded, const char *name, uint32_t *ret_name)
{
	size_t size = strlen(name);
	uint8_t *at;

	folded->text.size = 0;
	at = buffer_room(&folded->text, size + 1);
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = name[i];

		at[i] = byte == ';' ? ':' : byte < 0x20 || byte == 0x7f ? '?' : byte;
	}
	at[size] = 0;
	return add_name(folded, size ? (const char *)at : UNKNOWN, ret_name);
}

static int add_child(struct folded *folded, uint32_t parent, uint32_t name, uint32_t *ret_node)
{
	uint64_t *node = map_at(&folded->children, trie_key(parent, name));

	if (!node)
		return -ENOMEM;
	if (!*node) {
		if (folded->nodes.count == UINT32_MAX ||
			array_push(&folded->nodes, (struct trie_node){ parent, name }) < 0)
			return -ENOMEM;
		*node = folded->nodes.count - 1;
	}
	*ret_node = *node;
	return 0;
}

static int add_weight(struct folded *folded, uint32_t node, uint32_t comm, uint64_t weight)
{
	uint64_t *sum = map_at(&folded->weights, trie_key(node, comm));

	if (!sum)
		return -ENOMEM;
	*sum += weight;
	return 0;
}

/* A tape's rows as numbers of ours. */
struct mapped {
	const struct tape *tape;
	uint32_t *names; /* by the tape's string; 0: not needed so far */
	uint32_t *nodes; /* by its stack */
};

static void mapped_done(struct mapped *mapped)
{
	free(mapped->names);
	free(mapped->nodes);
}

static int map_string(
	struct folded *folded, struct mapped *mapped, uint32_t string, uint32_t *ret_name)
{
	uint32_t *name = &mapped->names[string];
	int r = 0;

	if (!*name)
		r = add_clean(folded, tape_string(mapped->tape, string), name);
	*ret_name = *name;
	return r;
}

/* String 0 is what a frame without a symbol has, and becomes UNKNOWN. */
static int map_frame(struct folded *folded, struct mapped *mapped, uint32_t parent, uint32_t frame,
	uint32_t *ret_node)
{
	uint32_t name;
	int r = map_string(folded, mapped, mapped->tape->frames.items[frame].symbol, &name);

	return r < 0 ? r : add_child(folded, parent, name, ret_node);
}

static int map_stacks(struct folded *folded, const struct tape *tape, struct mapped *mapped)
{
	int r = 0;

	mapped->tape = tape;
	mapped->names = calloc(strings_count(&tape->strings) + 1, sizeof(*mapped->names));
	mapped->nodes = calloc(MAX(tape->stacks.count, (size_t)1), sizeof(*mapped->nodes));
	if (!mapped->names || !mapped->nodes)
		return -ENOMEM;
	for (size_t i = 1; r == 0 && i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		r = map_frame(folded, mapped, mapped->nodes[stack->parent], stack->frame,
			&mapped->nodes[i]);
	}
	return r;
}

/* A thread without a name is shown by its number. */
static int map_thread(struct folded *folded, struct mapped *mapped, uint32_t id, uint32_t *ret_comm)
{
	const struct tape_thread *thread = &mapped->tape->threads.items[id];
	char number[16];

	if (thread->comm)
		return map_string(folded, mapped, thread->comm, ret_comm);
	snprintf(number, sizeof(number), ":%d", thread->tid);
	return add_name(folded, number, ret_comm);
}

static int add_samples(struct folded *folded, struct mapped *mapped, enum folded_weight weight)
{
	for (size_t i = 0; i < mapped->tape->samples.count; i++) {
		const struct tape_sample *sample = &mapped->tape->samples.items[i];
		uint32_t node, comm;

		if (map_frame(folded, mapped, mapped->nodes[sample->stack], sample->frame, &node) <
				0 ||
			map_thread(folded, mapped, sample->thread, &comm) < 0 ||
			add_weight(folded, node, comm,
				weight == FOLDED_PERIOD ? sample->period : 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight)
{
	_cleanup_(mapped_done) struct mapped mapped = { 0 };
	int r = tape->samples.count ? map_stacks(folded, tape, &mapped) : 0;

	mapped.tape = tape;
	return r < 0 ? r : add_samples(folded, &mapped, weight);
}

static bool sum_passes(
	const struct tape *tape, const struct tape_sum *sum, const struct filter *filter)
{
	return filter_passes_comm(filter, tape_string(tape, sum->comm));
}

int folded_add_sums(struct folded *folded, const struct tape *tape, const struct filter *filter)
{
	_cleanup_(mapped_done) struct mapped mapped = { 0 };

	for (size_t i = 0; i < tape->sums.count; i++)
		if (!tape->sums.items[i].comm && sum_passes(tape, &tape->sums.items[i], filter))
			return 1;
	if (map_stacks(folded, tape, &mapped) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];
		uint32_t node, comm;

		if (!sum_passes(tape, sum, filter))
			continue;
		if (map_frame(folded, &mapped, mapped.nodes[sum->stack], sum->frame, &node) < 0 ||
			map_string(folded, &mapped, sum->comm, &comm) < 0 ||
			add_weight(folded, node, comm, sum->count) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int merge_weights(struct folded *folded, const struct folded *other, const uint32_t *nodes,
	const uint32_t *names)
{
	for (size_t i = 0; other->weights.slots && i <= other->weights.mask; i++) {
		const struct map_slot *slot = &other->weights.slots[i];

		if (slot->key && add_weight(folded, nodes[slot->key >> 32],
					 names[(uint32_t)slot->key], slot->value) < 0)
			return -ENOMEM;
	}
	return 0;
}

int folded_merge(struct folded *folded, const struct folded *other)
{
	uint32_t name_count = strings_count(&other->names);
	_cleanup_free_ uint32_t *names = calloc(name_count + 1, sizeof(*names));
	_cleanup_free_ uint32_t *nodes = calloc(other->nodes.count, sizeof(*nodes));

	if (!names || !nodes)
		return -ENOMEM;
	for (uint32_t i = 1; i < name_count; i++)
		if (add_name(folded, strings_at(&other->names, i), &names[i]) < 0)
			return -ENOMEM;
	for (size_t i = 1; i < other->nodes.count; i++) {
		const struct trie_node *node = &other->nodes.items[i];

		if (add_child(folded, nodes[node->parent], names[node->name], &nodes[i]) < 0)
			return -ENOMEM;
	}
	return merge_weights(folded, other, nodes, names);
}

/* What is written: each comm is a node under the root. */
struct line_node {
	uint32_t parent;
	uint32_t name;
	uint64_t weight; /* of the line that ends here; 0: none does */
	uint32_t first; /* entry of its children */
	uint32_t count; /* of those entries */
	uint32_t filled;
};

struct lines {
	const struct folded *folded;
	array_of(struct line_node) nodes; /* number 0 is the root; parents have smaller numbers */
	struct map known; /* the node by trie_key() of the one of folded and the comm */
	/* of all nodes, siblings side by side in the order of the text: twice the number, and 1 for the lines that go on from it */
	uint32_t *entries;
};

static void lines_done(struct lines *lines)
{
	array_done(&lines->nodes);
	map_done(&lines->known);
	free(lines->entries);
}

/* The node of a function under a comm, made with all above it where it is not there yet. */
static int add_line_node(struct lines *lines, uint32_t node, uint32_t comm, uint32_t *ret_node)
{
	const struct trie_node *nodes = lines->folded->nodes.items;
	array_of(uint32_t) missing = { 0 };
	uint64_t *there;
	uint32_t above = 0;
	int r = 0;

	for (;; node = nodes[node].parent) {
		there = map_at(&lines->known, trie_key(node, comm));
		if (!there || *there || (r = array_push(&missing, node)) < 0 || !node)
			break;
	}
	if (!there)
		r = -ENOMEM;
	else
		above = *there;
	for (size_t i = missing.count; r == 0 && i-- > 0;) {
		uint32_t id = missing.items[i];

		r = array_push(&lines->nodes,
			(struct line_node){ .parent = above, .name = id ? nodes[id].name : comm });
		above = lines->nodes.count - 1;
		if (r == 0)
			*map_at(&lines->known, trie_key(id, comm)) = above;
	}
	array_done(&missing);
	*ret_node = above;
	return r;
}

static int make_nodes(struct lines *lines)
{
	const struct map *weights = &lines->folded->weights;

	if (array_push(&lines->nodes, (struct line_node){ 0 }) < 0)
		return -ENOMEM;
	for (size_t i = 0; weights->slots && i <= weights->mask; i++) {
		const struct map_slot *slot = &weights->slots[i];
		uint32_t node;

		if (!slot->key || !slot->value)
			continue;
		if (add_line_node(lines, slot->key >> 32, (uint32_t)slot->key, &node) < 0)
			return -ENOMEM;
		lines->nodes.items[node].weight = slot->value;
	}
	return 0;
}

/* As the lines compare: behind a name comes a `;` where they go on, else their end. */
static int compare_entries(const void *a, const void *b, void *context)
{
	const struct lines *lines = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct line_node *nodes = lines->nodes.items;
	const uint8_t *x = (const void *)strings_at(&lines->folded->names, nodes[left / 2].name);
	const uint8_t *y = (const void *)strings_at(&lines->folded->names, nodes[right / 2].name);

	for (; *x && *x == *y; x++, y++)
		;
	return (*x ? *x : left % 2 ? ';' : 0) - (*y ? *y : right % 2 ? ';' : 0);
}

/* A node is an entry for its own line, and another for those that go on from it. */
static int make_entries(struct lines *lines)
{
	struct line_node *nodes = lines->nodes.items;
	size_t count = lines->nodes.count, next = 0;

	lines->entries = calloc(2 * count, sizeof(*lines->entries));
	if (!lines->entries)
		return -ENOMEM;
	/* children come behind their parents: from behind, all of a node's are counted before it is */
	for (size_t i = count; i-- > 1;)
		nodes[nodes[i].parent].count += (nodes[i].weight != 0) + (nodes[i].count != 0);
	for (size_t i = 0; i < count; i++) {
		nodes[i].first = next;
		next += nodes[i].count;
	}
	for (size_t i = 1; i < count; i++) {
		struct line_node *parent = &nodes[nodes[i].parent];
		uint32_t *to = lines->entries + parent->first;

		if (nodes[i].weight)
			to[parent->filled++] = 2 * i;
		if (nodes[i].count)
			to[parent->filled++] = 2 * i + 1;
	}
	for (size_t i = 0; i < count; i++)
		qsort_r(lines->entries + nodes[i].first, nodes[i].count, sizeof(*lines->entries),
			compare_entries, lines);
	return 0;
}

/* Children that are still to be written, and how much of the line is theirs. */
struct level {
	uint32_t next, end;
	size_t size;
};

struct walk {
	array_of(struct level) levels;
	struct buffer line;
};

static int enter_node(struct walk *walk, const struct line_node *node)
{
	struct level level = { node->first, node->first + node->count, walk->line.size };

	return array_push(&walk->levels, level);
}

static void put_line(const struct walk *walk, uint64_t weight, struct output *output)
{
	buffer_bytes(&output->text, walk->line.data, walk->line.size);
	buffer_printf(&output->text, " %" PRIu64 "\n", weight);
	output_flush(output);
}

static int put_lines(const struct lines *lines, struct walk *walk, struct output *output)
{
	int r = enter_node(walk, &lines->nodes.items[0]);

	while (r == 0 && walk->levels.count && !output->failed) {
		struct level *level = &walk->levels.items[walk->levels.count - 1];
		const struct line_node *node;
		uint32_t entry;

		if (level->next == level->end) {
			walk->levels.count--;
			continue;
		}
		entry = lines->entries[level->next++];
		node = &lines->nodes.items[entry / 2];
		walk->line.size = level->size;
		buffer_text(&walk->line, strings_at(&lines->folded->names, node->name));
		if (entry % 2 == 0) {
			put_line(walk, node->weight, output);
			continue;
		}
		buffer_u8(&walk->line, ';');
		r = enter_node(walk, node);
	}
	return r < 0 || buffer_failed(&walk->line) || buffer_failed(&output->text) ? -ENOMEM : 0;
}

int folded_write(const struct folded *folded, struct output *output)
{
	_cleanup_(lines_done) struct lines lines = { .folded = folded };
	struct walk walk = { 0 };
	int r = make_nodes(&lines);

	if (r == 0)
		r = make_entries(&lines);
	if (r == 0)
		r = put_lines(&lines, &walk, output);
	array_done(&walk.levels);
	buffer_done(&walk.line);
	return r;
}
