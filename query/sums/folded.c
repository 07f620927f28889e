// SPDX-License-Identifier: GPL-2.0-only
/*
 * A path is known by a hash that follows from that of the path above it, so a tape's stacks are
 * gone through once, in order; only what its samples or sums say is looked up, and only lines that
 * are new are put in. folded-lines.c writes them.
 */
#include "query/sums/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/text/clean-name.h"

#define UNKNOWN "[unknown]"
#define UNKNOWN_NAME 1 /* the first name that is put in */

/* Names are hashed by their text, so that two of us know a line by the same key. */
static int folded_add_name(struct folded *folded, const char *name, size_t size, uint32_t *ret_name)
{
	/* over 4 GB of different names: the same answer to the person as no memory */
	if (strings_add(&folded->names, name, size, ret_name) < 0)
		return -ENOMEM;
	if (*ret_name < folded->name_keys.count)
		return 0;
	return array_push(&folded->name_keys, hash_u64(hash_bytes(name, size)));
}

int folded_new(struct folded **ret_folded)
{
	_cleanup_(cleanup_folded) struct folded *folded = calloc(1, sizeof(*folded));
	uint32_t unknown;

	if (!folded || array_push(&folded->name_keys, 0) < 0 ||
	    array_push(&folded->lines, (struct folded_line){ 0 }) < 0 ||
	    array_push(&folded->weights, 0) < 0 ||
	    folded_add_name(folded, UNKNOWN, strlen(UNKNOWN), &unknown) < 0)
		return -ENOMEM;
	*ret_folded = take_ptr(folded);
	return 0;
}

struct folded *folded_free(struct folded *folded)
{
	if (!folded)
		return NULL;
	strings_done(&folded->names);
	array_done(&folded->name_keys);
	array_done(&folded->words);
	array_done(&folded->lines);
	array_done(&folded->weights);
	hash96_done(&folded->known);
	buffer_done(&folded->text);
	array_done(&folded->string_names);
	array_done(&folded->frame_names);
	array_done(&folded->paths);
	free(folded);
	return NULL;
}

/* Nothing in it is for query/text/clean-name.h, nor a separator, nor at an end of it. Hardly any
 * name is another one. */
static bool is_clean(const char *name, size_t size)
{
	bool clean = *name != '#' && *name != ' ' && (!size || name[size - 1] != ' ');

	for (size_t i = 0; i < size; i++)
		clean &= name[i] >= ' ' && name[i] < 0x7f && name[i] != ';';
	return clean;
}

/* A line's own separators must not come out of a name. */
static int add_clean(struct folded *folded, const char *name, uint32_t *ret_name)
{
	struct buffer *text = &folded->text;
	const char *end = name + clean_name_size(name);
	char instead;

	if (is_clean(name, strlen(name)))
		return folded_add_name(folded, name, strlen(name), ret_name);
	text->size = 0;
	for (size_t used; name < end; name += used) {
		used = clean_name_take(name, !text->size, &instead);
		instead = *name == ';' ? ':' : instead;
		buffer_bytes(text, instead ? &instead : name, instead ? 1 : used);
	}
	if (buffer_failed(text))
		return -ENOMEM;
	return folded_add_name(folded, (const char *)text->data, text->size, ret_name);
}

/* Gives where its words are to be written; NULL when memory is out, or lines would have to refer to
 * more than 32 bits of words. */
static uint32_t *new_line(struct folded *folded, struct hash96_key key, uint32_t count,
			  uint32_t *ret_line)
{
	struct folded_line line = { key, folded->words.count };

	if (folded->words.count + count > UINT32_MAX ||
	    array_reserve(&folded->words, folded->words.count + count) < 0 ||
	    array_push(&folded->lines, line) < 0 || array_push(&folded->weights, 0) < 0 ||
	    hash96_put(&folded->known, key, folded->lines.count - 1) < 0)
		return NULL;
	folded->words.count += count;
	*ret_line = folded->lines.count - 1;
	return folded->words.items + line.first;
}

/* What is looked up together, so that one does not wait for the other. */
#define BATCH_SIZE 32

struct addition {
	uint32_t comm;
	/* of the tape */
	uint32_t stack;
	/* name; 0: none, the sample has no stack */
	uint32_t leaf;
	uint64_t weight;
	struct hash96_key key;
};

/* A tape that is being added; its rows as ours are kept in struct folded. */
struct adding {
	struct folded *folded;
	const struct tape *tape;
	/* stacks whose paths are known */
	size_t reached;
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

static int map_frame_of_kind(struct adding *adding, uint32_t frame, uint32_t *ret_name)
{
	static const char kinds[TAPE_MODULE_KINDS] = {
		[TAPE_MODULE_UNKNOWN] = FOLDED_PROGRAM, [TAPE_MODULE_KERNEL] = FOLDED_KERNEL,
		[TAPE_MODULE_ELF] = FOLDED_PROGRAM,	[TAPE_MODULE_VDSO] = FOLDED_VDSO,
		[TAPE_MODULE_JIT] = FOLDED_JIT,
	};
	const struct tape_frame *row = &adding->tape->frames.items[frame];
	struct buffer *text = &adding->folded->text;

	if (!row->symbol) {
		*ret_name = UNKNOWN_NAME;
		return 0;
	}
	text->size = 0;
	buffer_u8(text, kinds[adding->tape->modules.items[row->module].kind]);
	buffer_text(text, tape_string(adding->tape, row->symbol));
	if (buffer_failed(text))
		return -ENOMEM;
	return folded_add_name(adding->folded, (const char *)text->data, text->size, ret_name);
}

/* 0 for what stands for no frame. */
static int map_frame(struct adding *adding, uint32_t frame, uint32_t *ret_name)
{
	*ret_name = 0;
	if (tape_is_no_stack(adding->tape, frame))
		return 0;
	if (adding->folded->kinds)
		return map_frame_of_kind(adding, frame, ret_name);
	return map_string(adding, adding->tape->frames.items[frame].symbol, ret_name);
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
		if (map_frame(adding, i, &folded->frame_names.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int start_adding(struct adding *adding)
{
	struct folded *folded = adding->folded;

	if (map_frames(adding) < 0 || array_reserve(&folded->paths, adding->tape->stacks.count) < 0)
		return -ENOMEM;
	folded->paths.items[0] = (struct folded_path){ 0 };
	adding->reached = 1;
	return 0;
}

/*
 * Paths are made shortly before they are asked for, as what was just made is near: sums come in the
 * order of their stacks. Most stacks go on from the one before, whose path is then at hand.
 */
static void folded_reach(struct adding *adding, uint32_t stack)
{
	const struct tape_stack *stacks = adding->tape->stacks.items;
	const uint32_t *names = adding->folded->frame_names.items;
	const uint64_t *keys = adding->folded->name_keys.items;
	struct folded_path *paths = adding->folded->paths.items;
	struct folded_path path = paths[adding->reached - 1];
	size_t at;

	for (at = adding->reached; at <= stack; at++) {
		struct hash96_key key;

		if (stacks[at].parent != at - 1)
			path = paths[stacks[at].parent];
		key = hash96_key_add((struct hash96_key){ path.a, path.b },
				     keys[names[stacks[at].frame]]);
		path = (struct folded_path){ key.a, key.b, path.depth + 1 };
		paths[at] = path;
	}
	adding->reached = at;
}

/* A thread without a name is shown by its number. */
static int folded_map_thread(struct adding *adding, uint32_t id, uint32_t *ret_comm)
{
	const struct tape_thread *thread = &adding->tape->threads.items[id];
	char number[FILTER_COMM_SIZE];

	if (thread->comm)
		return map_string(adding, thread->comm, ret_comm);
	filter_shown_comm(adding->tape, thread, number);
	return folded_add_name(adding->folded, number, strlen(number), ret_comm);
}

static int folded_add_line(const struct adding *adding, const struct addition *addition,
			   uint32_t *ret_line)
{
	const struct tape_stack *stacks = adding->tape->stacks.items;
	struct folded *folded = adding->folded;
	uint32_t depth = folded->paths.items[addition->stack].depth, stack = addition->stack;
	bool has_leaf = addition->leaf;
	uint32_t *words = new_line(folded, addition->key, 1 + depth + has_leaf, ret_line);

	if (!words)
		return -ENOMEM;
	words[0] = addition->comm;
	if (has_leaf)
		words[depth + 1] = addition->leaf;
	for (; depth; depth--, stack = stacks[stack].parent)
		words[depth] = folded->frame_names.items[stacks[stack].frame];
	return 0;
}

/* All look-ups are under way before the first is waited for. */
static int add_batch(struct adding *adding)
{
	struct folded *folded = adding->folded;

	for (size_t i = 0; i < adding->count; i++) {
		const struct addition *addition = &adding->batch[i];
		uint32_t line = hash96_get(&folded->known, addition->key);

		if (!line && folded_add_line(adding, addition, &line) < 0)
			return -ENOMEM;
		folded->weights.items[line] += addition->weight;
	}
	adding->count = 0;
	return 0;
}

static int folded_add(struct adding *adding, const struct addition *addition)
{
	struct folded *folded = adding->folded;
	const uint64_t *keys = folded->name_keys.items;
	struct addition *added = &adding->batch[adding->count++];
	const struct folded_path *path;

	folded_reach(adding, addition->stack);
	*added = *addition;
	path = &folded->paths.items[added->stack];
	added->key = (struct hash96_key){ path->a, path->b };
	if (added->leaf)
		added->key = hash96_key_add(added->key, keys[added->leaf]);
	added->key = hash96_key_add(added->key, keys[added->comm]);
	hash96_prefetch(&folded->known, added->key);
	return adding->count == BATCH_SIZE ? add_batch(adding) : 0;
}

int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight)
{
	struct adding adding = { .folded = folded, .tape = tape };
	int r = tape->samples.count ? start_adding(&adding) : 0;

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		struct addition addition = {
			.stack = sample->stack,
			.leaf = folded->frame_names.items[sample->frame],
			.weight = weight == FOLDED_PERIOD ? sample->period : 1,
		};

		r = folded_map_thread(&adding, sample->thread, &addition.comm);
		if (r == 0)
			r = folded_add(&adding, &addition);
	}
	return r < 0 ? r : add_batch(&adding);
}

/* Sums of one comm stand side by side: each is looked at once. */
struct sum_comm {
	bool known, passes;
	/* the tape's */
	uint32_t comm;
	uint32_t name;
};

static int enter_comm(struct adding *adding, const struct filter *filter, uint32_t comm,
		      struct sum_comm *of)
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
			return !filter_may_pass_nameless(filter);
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
	r = start_adding(&adding);
	for (size_t i = 0; r == 0 && i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];

		r = enter_comm(&adding, filter, sum->comm, &of);
		if (r < 0 || !of.passes)
			continue;
		samples += sum->count;
		r = folded_add(&adding, &(struct addition){
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

static int folded_merge_names(struct folded *folded, const struct folded *other, uint32_t *names)
{
	for (uint32_t i = 1; i < other->name_keys.count; i++) {
		const char *name = strings_at(&other->names, i);

		if (folded_add_name(folded, name, strlen(name), &names[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int merge_line(struct folded *folded, const struct folded *other, const uint32_t *names,
		      uint32_t line, uint32_t *ret_line)
{
	uint32_t count;
	const uint32_t *theirs = folded_words(other, line, &count);
	uint32_t *words = new_line(folded, other->lines.items[line].key, count, ret_line);

	if (!words)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		words[i] = names[theirs[i]];
	return 0;
}

int folded_merge(struct folded *folded, const struct folded *other)
{
	_cleanup_free_ uint32_t *names = calloc(other->name_keys.count, sizeof(*names));
	const struct folded_line *lines = other->lines.items;

	if (!names || folded_merge_names(folded, other, names) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < other->lines.count; i++) {
		uint32_t line = hash96_get(&folded->known, lines[i].key);

		if (i + BATCH_SIZE < other->lines.count)
			hash96_prefetch(&folded->known, lines[i + BATCH_SIZE].key);
		if (!line && merge_line(folded, other, names, i, &line) < 0)
			return -ENOMEM;
		folded->weights.items[line] += other->weights.items[i];
	}
	return 0;
}

void folded_count_frames(const struct folded *folded, uint64_t *ret_frames, uint64_t *ret_named)
{
	uint64_t frames = 0, named = 0;

	for (uint32_t line = 1; line < folded->lines.count; line++) {
		uint32_t count, unknown = 0;
		const uint32_t *words = folded_words(folded, line, &count);

		for (uint32_t i = 1; i < count; i++)
			unknown += words[i] == UNKNOWN_NAME;
		frames += folded->weights.items[line] * (count - 1);
		named += folded->weights.items[line] * (count - 1 - unknown);
	}
	*ret_frames = frames;
	*ret_named = named;
}
