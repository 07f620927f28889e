// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each comm has a trie of functions of its own, as the lines do. A path in it is known by a hash that follows from that of the path above
 * it, so a tape's stacks are gone through once, in order, without a look at the trie; only what its samples or sums say is looked up, and
 * only paths that are new are put in. folded-lines.c writes them.
 */
#include "query/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define UNKNOWN "[unknown]"
#define UNKNOWN_NAME 1 /* the first name that is put in */

/* Of a path from the comm down; the comm's own is all zeros. */
static struct map_key path_key(struct map_key above, uint32_t name)
{
	return map_key_add(above, name);
}

static struct map_key node_key(struct map_key path, uint32_t comm)
{
	return map_key_add(path, (uint64_t)1 << 32 | comm);
}

static int add_name(struct folded *folded, const char *name, uint32_t *ret_name)
{
	/* over 4 GB of different names: the same answer to the person as no memory */
	return strings_add(&folded->names, name, strlen(name), ret_name) < 0 ? -ENOMEM : 0;
}

int folded_new(struct folded **ret_folded)
{
	_cleanup_(cleanup_folded) struct folded *folded = calloc(1, sizeof(*folded));
	uint32_t unknown;

	if (!folded || array_push(&folded->nodes, (struct folded_node){ 0 }) < 0 ||
		add_name(folded, UNKNOWN, &unknown) < 0)
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
	map_done(&folded->known);
	buffer_done(&folded->text);
	array_done(&folded->string_names);
	array_done(&folded->frame_names);
	array_done(&folded->paths);
	array_done(&folded->missing);
	free(folded);
	return NULL;
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
	return add_name(folded, (const char *)at, ret_name);
}

static int new_node(struct folded *folded, struct map_key key, uint32_t parent, uint32_t name,
	uint32_t *ret_node)
{
	if (folded->nodes.count >= FOLDED_NODES_MAX ||
		array_push(&folded->nodes, (struct folded_node){ parent, name, 0 }) < 0)
		return -ENOMEM;
	*ret_node = folded->nodes.count - 1;
	return map_put(&folded->known, key, *ret_node);
}

/* What is added together, so that look-ups do not wait for each other. */
#define BATCH_SIZE 16

struct addition {
	uint32_t comm;
	uint32_t stack; /* of the tape */
	uint32_t leaf; /* name */
	uint64_t weight;
};

/* A tape that is being added; its rows as ours are kept in struct folded. */
struct adding {
	struct folded *folded;
	const struct tape *tape;
	struct addition batch[BATCH_SIZE];
	size_t count;
};

/* String 0 is what a frame without a symbol has. */
static int map_string(struct adding *adding, uint32_t string, uint32_t *ret_name)
{
	uint32_t *name = &adding->folded->string_names.items[string];
	int r = 0;

	if (!*name)
		r = add_clean(adding->folded, tape_string(adding->tape, string), name);
	*ret_name = *name;
	return r;
}

static int map_frames(struct adding *adding)
{
	const struct tape *tape = adding->tape;
	struct folded *folded = adding->folded;
	size_t strings = strings_count(&tape->strings);

	if (array_reserve(&folded->string_names, strings) < 0 ||
		array_reserve(&folded->frame_names, tape->frames.count) < 0)
		return -ENOMEM;
	memset(folded->string_names.items, 0, strings * sizeof(*folded->string_names.items));
	folded->string_names.items[0] = UNKNOWN_NAME;
	for (size_t i = 0; i < tape->frames.count; i++)
		if (map_string(adding, tape->frames.items[i].symbol,
			    &folded->frame_names.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int map_stacks(struct adding *adding)
{
	const struct tape_stack *stacks = adding->tape->stacks.items;
	size_t count = adding->tape->stacks.count;
	struct folded *folded = adding->folded;
	int r = map_frames(adding);

	if (r < 0 || array_reserve(&folded->paths, MAX(count, (size_t)1)) < 0)
		return -ENOMEM;
	folded->paths.items[0] = (struct map_key){ 0 };
	for (size_t i = 1; i < count; i++)
		folded->paths.items[i] = path_key(folded->paths.items[stacks[i].parent],
			folded->frame_names.items[stacks[i].frame]);
	return 0;
}

/* A thread without a name is shown by its number. */
static int map_thread(struct adding *adding, uint32_t id, uint32_t *ret_comm)
{
	const struct tape_thread *thread = &adding->tape->threads.items[id];
	char number[16];

	if (thread->comm)
		return map_string(adding, thread->comm, ret_comm);
	snprintf(number, sizeof(number), ":%d", thread->tid);
	return add_name(adding->folded, number, ret_comm);
}

/* The node of a tape's stack, put in with all above it where it is not there yet. */
static int add_path(const struct adding *adding, uint32_t stack, uint32_t comm, uint32_t *ret_node)
{
	const struct tape_stack *stacks = adding->tape->stacks.items;
	struct folded *folded = adding->folded;
	uint32_t node;
	int r = 0;

	folded->missing.count = 0;
	for (;; stack = stacks[stack].parent) {
		node = map_get(&folded->known, node_key(folded->paths.items[stack], comm));
		if (node)
			break;
		if (array_push(&folded->missing, stack) < 0)
			return -ENOMEM;
		if (!stack)
			break;
	}
	for (size_t i = folded->missing.count; r == 0 && i-- > 0;) {
		uint32_t id = folded->missing.items[i];
		uint32_t name = id ? folded->frame_names.items[stacks[id].frame] : comm;

		r = new_node(folded, node_key(folded->paths.items[id], comm), node, name, &node);
	}
	*ret_node = node;
	return r;
}

static int add_leaf(const struct adding *adding, const struct addition *addition,
	struct map_key key, uint32_t *ret_node)
{
	uint32_t above;
	int r = add_path(adding, addition->stack, addition->comm, &above);

	return r < 0 ? r : new_node(adding->folded, key, above, addition->leaf, ret_node);
}

/* All look-ups are under way before the first is waited for. */
static int add_batch(struct adding *adding)
{
	struct folded *folded = adding->folded;
	struct map_key keys[BATCH_SIZE];
	uint32_t nodes[BATCH_SIZE];
	size_t count = adding->count;

	adding->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct addition *addition = &adding->batch[i];

		keys[i] = node_key(path_key(folded->paths.items[addition->stack], addition->leaf),
			addition->comm);
		map_prefetch(&folded->known, keys[i]);
	}
	for (size_t i = 0; i < count; i++) {
		nodes[i] = map_get(&folded->known, keys[i]);
		if (!nodes[i] && add_leaf(adding, &adding->batch[i], keys[i], &nodes[i]) < 0)
			return -ENOMEM;
		__builtin_prefetch(&folded->nodes.items[nodes[i]], 1);
	}
	for (size_t i = 0; i < count; i++)
		folded->nodes.items[nodes[i]].weight += adding->batch[i].weight;
	return 0;
}

static int add(struct adding *adding, const struct addition *addition)
{
	adding->batch[adding->count++] = *addition;
	return adding->count == BATCH_SIZE ? add_batch(adding) : 0;
}

int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight)
{
	struct adding adding = { .folded = folded, .tape = tape };
	int r = tape->samples.count ? map_stacks(&adding) : 0;

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		struct addition addition = {
			.stack = sample->stack,
			.leaf = folded->frame_names.items[sample->frame],
			.weight = weight == FOLDED_PERIOD ? sample->period : 1,
		};

		r = map_thread(&adding, sample->thread, &addition.comm);
		if (r == 0)
			r = add(&adding, &addition);
	}
	return r < 0 ? r : add_batch(&adding);
}

/* Sums of one comm stand side by side: each is looked at once. */
struct sum_comm {
	bool known, passes;
	uint32_t comm; /* the tape's */
	uint32_t name;
};

static int enter_comm(
	struct adding *adding, const struct filter *filter, uint32_t comm, struct sum_comm *of)
{
	if (of->known && of->comm == comm)
		return 0;
	of->known = true;
	of->comm = comm;
	of->passes = filter_passes_comm(filter, tape_string(adding->tape, comm));
	return map_string(adding, comm, &of->name);
}

static bool says_enough(const struct tape *tape, const struct filter *filter)
{
	for (size_t i = 0; i < tape->sums.count; i++)
		if (!tape->sums.items[i].comm)
			return !filter_passes_comm(filter, "");
	return true;
}

int folded_add_sums(struct folded *folded, const struct tape *tape, const struct filter *filter,
	uint64_t *ret_samples)
{
	struct adding adding = { .folded = folded, .tape = tape };
	struct sum_comm of = { 0 };
	uint64_t samples = 0;
	int r;

	if (!says_enough(tape, filter))
		return 1;
	r = map_stacks(&adding);
	for (size_t i = 0; r == 0 && i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];

		r = enter_comm(&adding, filter, sum->comm, &of);
		if (r < 0 || !of.passes)
			continue;
		samples += sum->count;
		r = add(&adding, &(struct addition){
					 .comm = of.name,
					 .stack = sum->stack,
					 .leaf = folded->frame_names.items[sum->frame],
					 .weight = sum->count,
				 });
	}
	if (r == 0)
		r = add_batch(&adding);
	if (r == 0)
		*ret_samples = samples;
	return r;
}

/* The other's node as ours. */
struct merged {
	struct map_key path;
	uint32_t comm;
	uint32_t node;
};

/* Each node's key follows from those above it, so many are known before the first is looked up. */
static void merge_keys(const struct folded *folded, const struct folded *other,
	const uint32_t *names, struct merged *merged, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct folded_node *node = &other->nodes.items[i];
		const struct merged *parent = &merged[node->parent];
		uint32_t name = names[node->name];

		if (node->parent) {
			merged[i].path = path_key(parent->path, name);
			merged[i].comm = parent->comm;
		} else {
			merged[i].comm = name;
		}
		map_prefetch(&folded->known, node_key(merged[i].path, merged[i].comm));
	}
}

static int merge_nodes(struct folded *folded, const struct folded *other, const uint32_t *names,
	struct merged *merged, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct folded_node *node = &other->nodes.items[i];
		struct map_key key = node_key(merged[i].path, merged[i].comm);

		merged[i].node = map_get(&folded->known, key);
		if (!merged[i].node && new_node(folded, key, merged[node->parent].node,
					       names[node->name], &merged[i].node) < 0)
			return -ENOMEM;
		folded->nodes.items[merged[i].node].weight += node->weight;
	}
	return 0;
}

int folded_merge(struct folded *folded, const struct folded *other)
{
	uint32_t name_count = strings_count(&other->names);
	_cleanup_free_ uint32_t *names = calloc(name_count, sizeof(*names));
	_cleanup_free_ struct merged *merged = calloc(other->nodes.count, sizeof(*merged));
	int r = 0;

	if (!names || !merged)
		return -ENOMEM;
	for (uint32_t i = 1; i < name_count; i++)
		if (add_name(folded, strings_at(&other->names, i), &names[i]) < 0)
			return -ENOMEM;
	for (size_t i = 1; r == 0 && i < other->nodes.count; i += BATCH_SIZE) {
		size_t end = MIN(i + BATCH_SIZE, other->nodes.count);

		merge_keys(folded, other, names, merged, i, end);
		r = merge_nodes(folded, other, names, merged, i, end);
	}
	return r;
}

/* Frames of a path from the comm down. */
struct tally {
	uint32_t frames, named;
};

int folded_count_frames(const struct folded *folded, uint64_t *ret_frames, uint64_t *ret_named)
{
	size_t count = folded->nodes.count;
	_cleanup_free_ struct tally *tallies = calloc(count, sizeof(*tallies));
	uint64_t frames = 0, named = 0;

	if (!tallies)
		return -ENOMEM;
	for (size_t i = 1; i < count; i++) {
		const struct folded_node *node = &folded->nodes.items[i];

		if (!node->parent)
			continue;
		tallies[i].frames = tallies[node->parent].frames + 1;
		tallies[i].named = tallies[node->parent].named + (node->name != UNKNOWN_NAME);
		frames += node->weight * tallies[i].frames;
		named += node->weight * tallies[i].named;
	}
	*ret_frames = frames;
	*ret_named = named;
	return 0;
}
