// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two steps. Adding has one trie of functions for all comms. A path in it is known by a hash that follows from that of the path above
 * it, so a tape's stacks are gone through once, in order, without a look at the trie; only what its samples or sums say is looked up, and
 * only paths that are new are put in. Writing gives each comm a trie of its own and walks it in the order of the text, so that no line is kept.
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

/* How often a comm had the path of a node as its whole stack. */
struct folded_stack {
	uint32_t node;
	uint32_t comm;
	uint64_t weight;
};

/* Number 0 of nodes is the root, of stacks it is not used. Parents have smaller numbers. */
struct folded {
	struct strings names; /* as they are written; none of those that are used is empty */
	array_of(struct trie_node) nodes;
	array_of(struct folded_stack) stacks;
	struct map known_nodes, known_stacks; /* by path_key() and stack_key() */
	struct buffer text;
};

/* The root's is all zeros. */
static struct map_key path_key(struct map_key above, uint32_t name)
{
	return map_key_add(above, name);
}

static struct map_key stack_key(struct map_key path, uint32_t comm)
{
	return map_key_add(path, (uint64_t)1 << 32 | comm);
}

int folded_new(struct folded **ret_folded)
{
	_cleanup_(cleanup_folded) struct folded *folded = calloc(1, sizeof(*folded));

	if (!folded || array_push(&folded->nodes, (struct trie_node){ 0 }) < 0 ||
		array_push(&folded->stacks, (struct folded_stack){ 0 }) < 0)
		return -ENOMEM;
	*ret_folded = take_ptr(folded);
	return 0;
}

struct folded *folded_free(struct folded *folded)
{
	if (!folded)
		return NULL;
	strings_done(&folded->names);
	array_done(&folded->nodes);
	array_done(&folded->stacks);
	map_done(&folded->known_nodes);
	map_done(&folded->known_stacks);
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

static int new_node(struct folded *folded, struct map_key key, uint32_t parent, uint32_t name,
	uint32_t *ret_node)
{
	if (folded->nodes.count == UINT32_MAX ||
		array_push(&folded->nodes, (struct trie_node){ parent, name }) < 0)
		return -ENOMEM;
	*ret_node = folded->nodes.count - 1;
	return map_put(&folded->known_nodes, key, *ret_node);
}

static int new_stack(struct folded *folded, struct map_key key, uint32_t node, uint32_t comm,
	uint32_t *ret_stack)
{
	if (folded->stacks.count == UINT32_MAX ||
		array_push(&folded->stacks, (struct folded_stack){ node, comm, 0 }) < 0)
		return -ENOMEM;
	*ret_stack = folded->stacks.count - 1;
	return map_put(&folded->known_stacks, key, *ret_stack);
}

/* What is added together, so that look-ups do not wait for each other. */
#define BATCH_SIZE 16

struct addition {
	uint32_t comm;
	uint32_t stack; /* of the tape */
	uint32_t leaf; /* name */
	uint64_t weight;
};

/* A tape's rows as ours. */
struct mapped {
	const struct tape *tape;
	uint32_t *names; /* by the tape's string; 0: not needed so far */
	struct map_key *paths; /* by its stack */
	array_of(uint32_t) missing; /* stacks whose paths are put in */
	struct addition batch[BATCH_SIZE];
	size_t count;
};

static void mapped_done(struct mapped *mapped)
{
	free(mapped->names);
	free(mapped->paths);
	array_done(&mapped->missing);
}

/* String 0 is what a frame without a symbol has, and becomes UNKNOWN. */
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

static int map_frame(
	struct folded *folded, struct mapped *mapped, uint32_t frame, uint32_t *ret_name)
{
	return map_string(folded, mapped, mapped->tape->frames.items[frame].symbol, ret_name);
}

static int map_stacks(struct folded *folded, const struct tape *tape, struct mapped *mapped)
{
	mapped->tape = tape;
	mapped->names = calloc(strings_count(&tape->strings) + 1, sizeof(*mapped->names));
	mapped->paths = calloc(MAX(tape->stacks.count, (size_t)1), sizeof(*mapped->paths));
	if (!mapped->names || !mapped->paths)
		return -ENOMEM;
	for (size_t i = 1; i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];
		uint32_t name;

		if (map_frame(folded, mapped, stack->frame, &name) < 0)
			return -ENOMEM;
		mapped->paths[i] = path_key(mapped->paths[stack->parent], name);
	}
	return 0;
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

/* The node of a tape's stack, put in with all above it where it is not there yet. */
static int add_path(
	struct folded *folded, struct mapped *mapped, uint32_t stack, uint32_t *ret_node)
{
	uint32_t node = 0;
	int r = 0;

	mapped->missing.count = 0;
	for (; stack; stack = mapped->tape->stacks.items[stack].parent) {
		node = map_get(&folded->known_nodes, mapped->paths[stack]);
		if (node)
			break;
		if (array_push(&mapped->missing, stack) < 0)
			return -ENOMEM;
	}
	for (size_t i = mapped->missing.count; r == 0 && i-- > 0;) {
		uint32_t id = mapped->missing.items[i], name;

		r = map_frame(folded, mapped, mapped->tape->stacks.items[id].frame, &name);
		if (r == 0)
			r = new_node(folded, mapped->paths[id], node, name, &node);
	}
	*ret_node = node;
	return r;
}

static int add_stack(struct folded *folded, struct mapped *mapped, const struct addition *addition,
	struct map_key key, uint32_t *ret_stack)
{
	struct map_key leaf = path_key(mapped->paths[addition->stack], addition->leaf);
	uint32_t node = map_get(&folded->known_nodes, leaf), above;
	int r = 0;

	if (!node)
		r = add_path(folded, mapped, addition->stack, &above);
	if (r == 0 && !node)
		r = new_node(folded, leaf, above, addition->leaf, &node);
	return r < 0 ? r : new_stack(folded, key, node, addition->comm, ret_stack);
}

/* All look-ups are under way before the first is waited for. */
static int add_batch(struct folded *folded, struct mapped *mapped)
{
	struct map_key keys[BATCH_SIZE];
	uint32_t stacks[BATCH_SIZE];
	size_t count = mapped->count;

	mapped->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct addition *addition = &mapped->batch[i];

		keys[i] = stack_key(
			path_key(mapped->paths[addition->stack], addition->leaf), addition->comm);
		map_prefetch(&folded->known_stacks, keys[i]);
	}
	for (size_t i = 0; i < count; i++) {
		stacks[i] = map_get(&folded->known_stacks, keys[i]);
		if (!stacks[i] &&
			add_stack(folded, mapped, &mapped->batch[i], keys[i], &stacks[i]) < 0)
			return -ENOMEM;
		__builtin_prefetch(&folded->stacks.items[stacks[i]], 1);
	}
	for (size_t i = 0; i < count; i++)
		folded->stacks.items[stacks[i]].weight += mapped->batch[i].weight;
	return 0;
}

static int add(struct folded *folded, struct mapped *mapped, const struct addition *addition)
{
	mapped->batch[mapped->count++] = *addition;
	return mapped->count == BATCH_SIZE ? add_batch(folded, mapped) : 0;
}

int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight)
{
	_cleanup_(mapped_done) struct mapped mapped = { 0 };
	int r = tape->samples.count ? map_stacks(folded, tape, &mapped) : 0;

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		struct addition addition = {
			.stack = sample->stack,
			.weight = weight == FOLDED_PERIOD ? sample->period : 1,
		};

		r = map_frame(folded, &mapped, sample->frame, &addition.leaf);
		if (r == 0)
			r = map_thread(folded, &mapped, sample->thread, &addition.comm);
		if (r == 0)
			r = add(folded, &mapped, &addition);
	}
	return r < 0 ? r : add_batch(folded, &mapped);
}

static bool sum_passes(
	const struct tape *tape, const struct tape_sum *sum, const struct filter *filter)
{
	return filter_passes_comm(filter, tape_string(tape, sum->comm));
}

int folded_add_sums(struct folded *folded, const struct tape *tape, const struct filter *filter)
{
	_cleanup_(mapped_done) struct mapped mapped = { 0 };
	int r;

	for (size_t i = 0; i < tape->sums.count; i++)
		if (!tape->sums.items[i].comm && sum_passes(tape, &tape->sums.items[i], filter))
			return 1;
	r = map_stacks(folded, tape, &mapped);
	for (size_t i = 0; r == 0 && i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];
		struct addition addition = { .stack = sum->stack, .weight = sum->count };

		if (!sum_passes(tape, sum, filter))
			continue;
		r = map_frame(folded, &mapped, sum->frame, &addition.leaf);
		if (r == 0)
			r = map_string(folded, &mapped, sum->comm, &addition.comm);
		if (r == 0)
			r = add(folded, &mapped, &addition);
	}
	return r < 0 ? r : add_batch(folded, &mapped);
}

/* The other's names, nodes and their paths as ours. */
struct merging {
	uint32_t *names, *nodes;
	struct map_key *paths;
};

static void merging_done(struct merging *merging)
{
	free(merging->names);
	free(merging->nodes);
	free(merging->paths);
}

static int merge_nodes(struct folded *folded, const struct folded *other, struct merging *merging)
{
	for (size_t i = 1; i < other->nodes.count; i++) {
		const struct trie_node *node = &other->nodes.items[i];
		uint32_t name = merging->names[node->name];
		struct map_key key = path_key(merging->paths[node->parent], name);

		merging->paths[i] = key;
		merging->nodes[i] = map_get(&folded->known_nodes, key);
		if (!merging->nodes[i] && new_node(folded, key, merging->nodes[node->parent], name,
						  &merging->nodes[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int merge_stacks(struct folded *folded, const struct folded *other, struct merging *merging)
{
	for (size_t i = 1; i < other->stacks.count; i++) {
		const struct folded_stack *stack = &other->stacks.items[i];
		uint32_t comm = merging->names[stack->comm], id;
		struct map_key key = stack_key(merging->paths[stack->node], comm);

		id = map_get(&folded->known_stacks, key);
		if (!id && new_stack(folded, key, merging->nodes[stack->node], comm, &id) < 0)
			return -ENOMEM;
		folded->stacks.items[id].weight += stack->weight;
	}
	return 0;
}

int folded_merge(struct folded *folded, const struct folded *other)
{
	uint32_t name_count = strings_count(&other->names);
	_cleanup_(merging_done) struct merging merging = {
		.names = calloc(name_count + 1, sizeof(*merging.names)),
		.nodes = calloc(other->nodes.count, sizeof(*merging.nodes)),
		.paths = calloc(other->nodes.count, sizeof(*merging.paths)),
	};
	int r;

	if (!merging.names || !merging.nodes || !merging.paths)
		return -ENOMEM;
	for (uint32_t i = 1; i < name_count; i++)
		if (add_name(folded, strings_at(&other->names, i), &merging.names[i]) < 0)
			return -ENOMEM;
	r = merge_nodes(folded, other, &merging);
	return r < 0 ? r : merge_stacks(folded, other, &merging);
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
	struct map known; /* by the node of folded and the comm */
	/* of all nodes, siblings side by side in the order of the text: twice the number, and 1 for the lines that go on from it */
	uint32_t *entries;
	array_of(uint32_t) missing; /* nodes of folded that are put in */
};

static void lines_done(struct lines *lines)
{
	array_done(&lines->nodes);
	map_done(&lines->known);
	free(lines->entries);
	array_done(&lines->missing);
}

static struct map_key line_key(uint32_t node, uint32_t comm)
{
	return map_key_add(map_key_add((struct map_key){ 0 }, node), comm);
}

/* The node of a function under a comm, made with all above it where it is not there yet. */
static int add_line_node(struct lines *lines, uint32_t node, uint32_t comm, uint32_t *ret_node)
{
	const struct trie_node *nodes = lines->folded->nodes.items;
	uint32_t above = 0;
	int r = 0;

	lines->missing.count = 0;
	for (;; node = nodes[node].parent) {
		above = map_get(&lines->known, line_key(node, comm));
		if (above)
			break;
		if (array_push(&lines->missing, node) < 0)
			return -ENOMEM;
		if (!node)
			break;
	}
	for (size_t i = lines->missing.count; r == 0 && i-- > 0;) {
		uint32_t id = lines->missing.items[i];
		struct line_node line = { .parent = above, .name = id ? nodes[id].name : comm };

		if (array_push(&lines->nodes, line) < 0)
			return -ENOMEM;
		above = lines->nodes.count - 1;
		r = map_put(&lines->known, line_key(id, comm), above);
	}
	*ret_node = above;
	return r;
}

static int make_nodes(struct lines *lines)
{
	const struct folded *folded = lines->folded;

	if (array_push(&lines->nodes, (struct line_node){ 0 }) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < folded->stacks.count; i++) {
		const struct folded_stack *stack = &folded->stacks.items[i];
		uint32_t node;

		if (!stack->weight)
			continue;
		if (add_line_node(lines, stack->node, stack->comm, &node) < 0)
			return -ENOMEM;
		lines->nodes.items[node].weight = stack->weight;
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
