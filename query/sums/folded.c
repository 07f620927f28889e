// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hash of a path follows from the hash of its parent, so one pass over a tape's stacks, in
 * order, computes all hashes. Only the stacks of samples or sums are looked up, and only new lines
 * are stored. folded-lines.c writes the lines.
 */
#include "query/sums/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/text/clean-name.h"

#define UNKNOWN "[unknown]"
#define UNKNOWN_NAME 1 /* the first name that is added */

/* A name is hashed by its text, so that a line has the same key in two sets of stacks. */
static int folded_add_name(struct folded *folded, const char *name, size_t size, uint32_t *ret_name)
{
	/*
	 * the names need more than 4 GB, too much for 32-bit offsets: report this as a lack of
	 * memory
	 */
	if (strings_add(&folded->names, name, size, ret_name) < 0)
		return -ENOMEM;
	if (*ret_name < folded->name_keys.count)
		return 0;
	return array_push(&folded->name_keys, hash_text(name, size));
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
	array_done(&folded->module_names);
	array_done(&folded->frame_names);
	array_done(&folded->kind_names);
	array_done(&folded->followers);
	array_done(&folded->paths);
	free(folded);
	return NULL;
}

/*
 * Returns true if the name needs no change by query/text/clean-name.h and has no separator. This is
 * the case for nearly all names.
 */
static bool is_clean(const char *name, size_t size)
{
	bool clean = *name != '#' && *name != ' ' && (!size || name[size - 1] != ' ');

	for (size_t i = 0; i < size; i++)
		clean &= name[i] >= ' ' && name[i] < 0x7f && name[i] != ';';
	return clean;
}

/* Adds a name without the characters that would break a line. */
static int add_clean(struct folded *folded, const char *name, uint32_t *ret_name)
{
	struct buffer *text = &folded->text;
	const char *end = name + clean_name_size(name);
	char instead;

	if (is_clean(name, strlen(name)) && !clean_name_has_far_word(name))
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

/*
 * Adds a line, and returns where to write its words. Returns NULL if memory ran out, or if a 32-bit
 * number cannot index the words.
 */
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

/* Look-ups are done in batches, so that their cache misses overlap. */
#define BATCH_SIZE 32

struct addition {
	uint32_t comm;
	/* number of the stack in the tape */
	uint32_t stack;
	/* number of the name of the leaf frame; 0: the sample has no leaf frame */
	uint32_t leaf;
	uint64_t weight;
	struct hash96_key key;
};

/* A tape that is being added. struct folded keeps the arrays that map the tape's rows. */
struct adder {
	struct folded *folded;
	const struct tape *tape;
	/* number of stacks whose paths are computed so far */
	size_t reached;
	/* the name that was found last; 0: none */
	uint32_t last;
	struct addition batch[BATCH_SIZE];
	size_t count;
};

/* Notes which name follows the last one. Only for a name that is the same before it is cleaned. */
static int folded_note_follower(struct folded *folded, uint32_t last, uint32_t name)
{
	while (folded->followers.count <= last)
		if (array_push(&folded->followers, 0) < 0)
			return -ENOMEM;
	folded->followers.items[last] = name;
	return 0;
}

/* Finds or adds a name that probably follows the last one. */
static int folded_add_next(struct adder *adder, const char *text, uint32_t *ret_name)
{
	struct folded *folded = adder->folded;
	uint32_t last = adder->last;
	uint32_t guess = last < folded->followers.count ? folded->followers.items[last] : 0;

	if (guess && strcmp(strings_at(&folded->names, guess), text) == 0) {
		*ret_name = guess;
		return 0;
	}
	if (add_clean(folded, text, ret_name) < 0)
		return -ENOMEM;
	return strcmp(strings_at(&folded->names, *ret_name), text) == 0
		       ? folded_note_follower(folded, last, *ret_name)
		       : 0;
}

/* String 0 belongs to a frame without a symbol. */
static int map_string(struct adder *adder, uint32_t string, uint32_t *ret_name)
{
	uint32_t *name = &adder->folded->string_names.items[string];
	int r = 0;

	if (!*name) {
		r = folded_add_next(adder, tape_string(adder->tape, string), name);
		adder->last = *name;
	}
	*ret_name = *name;
	return r;
}

/* Returns the mark that is appended to the names of a module's functions. */
static const char *folded_mark_of(const struct folded *folded, const struct tape_module *module)
{
	if (module->kind == TAPE_MODULE_KERNEL && folded->marks & FOLDED_MARK_KERNEL)
		return "_[k]";
	return module->kind == TAPE_MODULE_JIT && folded->marks & FOLDED_MARK_JIT ? "_[j]" : "";
}

/*
 * Ends a text and adds it as a name. The text must not be the scratch text, which add_clean()
 * overwrites.
 */
static int add_made(struct folded *folded, struct buffer *made, uint32_t *ret_name)
{
	buffer_u8(made, 0);
	return buffer_failed(made) ? -ENOMEM
				   : add_clean(folded, (const char *)made->data, ret_name);
}

static int add_marked(struct adder *adder, const char *symbol, const char *mark, uint32_t *ret_name)
{
	_cleanup_(buffer_done) struct buffer made = { 0 };

	buffer_bytes(&made, symbol, clean_name_size(symbol));
	buffer_text(&made, mark);
	return add_made(adder->folded, &made, ret_name);
}

/*
 * Adds the name of a frame without a symbol: "[FILE]", or the name of a module that is not a file,
 * which has its own brackets.
 */
static int add_file(struct adder *adder, const char *path, const char *mark, uint32_t *ret_name)
{
	static const char deleted[] = " (deleted)";
	_cleanup_(buffer_done) struct buffer made = { 0 };
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	bool bracketed = *file == '[';
	size_t size = strlen(file), cut = sizeof(deleted) - 1;

	if (size > cut && strcmp(file + size - cut, deleted) == 0)
		size -= cut;
	buffer_text(&made, bracketed ? "" : "[");
	buffer_bytes(&made, file, size);
	buffer_text(&made, bracketed ? "" : "]");
	buffer_text(&made, mark);
	return add_made(adder->folded, &made, ret_name);
}

/* Maps a frame without a symbol to the name of its module. */
static int map_unnamed(struct adder *adder, uint32_t number, uint32_t *ret_name)
{
	const struct tape_module *module = &adder->tape->modules.items[number];
	const char *path = tape_string(adder->tape, module->path);
	uint32_t *name = &adder->folded->module_names.items[number];

	if (!*name && !*path)
		*name = UNKNOWN_NAME;
	if (!*name && add_file(adder, path, folded_mark_of(adder->folded, module), name) < 0)
		return -ENOMEM;
	*ret_name = *name;
	return 0;
}

static int map_frame_of_kind(struct adder *adder, uint32_t frame, uint32_t *ret_name)
{
	static const char kinds[TAPE_MODULE_KINDS] = {
		[TAPE_MODULE_UNKNOWN] = FOLDED_PROGRAM, [TAPE_MODULE_KERNEL] = FOLDED_KERNEL,
		[TAPE_MODULE_ELF] = FOLDED_PROGRAM,	[TAPE_MODULE_VDSO] = FOLDED_VDSO,
		[TAPE_MODULE_JIT] = FOLDED_JIT,
	};
	const struct tape_frame *row = &adder->tape->frames.items[frame];
	char kind = kinds[adder->tape->modules.items[row->module].kind];
	uint32_t *known = &adder->folded->kind_names.items[row->symbol];
	struct buffer *text = &adder->folded->text;

	if (!row->symbol || (*known && *strings_at(&adder->folded->names, *known) == kind)) {
		*ret_name = row->symbol ? *known : UNKNOWN_NAME;
		return 0;
	}
	text->size = 0;
	buffer_u8(text, kind);
	buffer_text(text, tape_string(adder->tape, row->symbol));
	if (buffer_failed(text) ||
	    folded_add_name(adder->folded, (const char *)text->data, text->size, known) < 0)
		return -ENOMEM;
	*ret_name = *known;
	return 0;
}

/* Maps a frame to a name, or to 0 if it stands for no frame. */
static int map_frame(struct adder *adder, uint32_t frame, uint32_t *ret_name)
{
	const struct tape_frame *row = &adder->tape->frames.items[frame];
	const char *mark;

	*ret_name = 0;
	if (tape_is_no_stack(adder->tape, frame))
		return 0;
	if (adder->folded->kinds)
		return map_frame_of_kind(adder, frame, ret_name);
	if (!row->symbol)
		return map_unnamed(adder, row->module, ret_name);
	mark = folded_mark_of(adder->folded, &adder->tape->modules.items[row->module]);
	if (!*mark)
		return map_string(adder, row->symbol, ret_name);
	return add_marked(adder, tape_string(adder->tape, row->symbol), mark, ret_name);
}

static int map_frames(struct adder *adder)
{
	const struct tape *tape = adder->tape;
	struct folded *folded = adder->folded;
	size_t strings = strings_count(&tape->strings);

	if (array_reserve(&folded->string_names, strings) < 0 ||
	    array_reserve(&folded->kind_names, strings) < 0 ||
	    array_reserve(&folded->module_names, tape->modules.count) < 0 ||
	    array_reserve(&folded->frame_names, tape->frames.count) < 0)
		return -ENOMEM;
	memset(folded->string_names.items, 0, strings * sizeof(*folded->string_names.items));
	memset(folded->kind_names.items, 0, strings * sizeof(*folded->kind_names.items));
	memset(folded->module_names.items, 0,
	       tape->modules.count * sizeof(*folded->module_names.items));
	folded->string_names.items[0] = UNKNOWN_NAME;
	for (size_t i = 0; i < tape->frames.count; i++)
		if (map_frame(adder, i, &folded->frame_names.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int adder_start(struct adder *adder)
{
	struct folded *folded = adder->folded;

	if (map_frames(adder) < 0 || array_reserve(&folded->paths, adder->tape->stacks.count) < 0)
		return -ENOMEM;
	folded->paths.items[0] = (struct folded_path){ 0 };
	adder->reached = 1;
	return 0;
}

/*
 * Computes paths shortly before their use, because the caches then still contain them: sums are
 * sorted by stack. Most stacks extend the previous one, whose path is in registers.
 */
static void folded_make_paths(struct adder *adder, uint32_t stack)
{
	const struct tape_stack *stacks = adder->tape->stacks.items;
	const uint32_t *names = adder->folded->frame_names.items;
	const uint64_t *keys = adder->folded->name_keys.items;
	struct folded_path *paths = adder->folded->paths.items;
	struct folded_path path = paths[adder->reached - 1];
	size_t at;

	for (at = adder->reached; at <= stack; at++) {
		struct hash96_key key;

		if (stacks[at].parent != at - 1)
			path = paths[stacks[at].parent];
		key = hash96_key_add((struct hash96_key){ path.a, path.b },
				     keys[names[stacks[at].frame]]);
		path = (struct folded_path){ key.a, key.b, path.depth + 1 };
		paths[at] = path;
	}
	adder->reached = at;
}

/* Maps a thread to the name of its comm. A thread without a name is shown by its number. */
static int folded_map_thread(struct adder *adder, uint32_t id, uint32_t *ret_comm)
{
	const struct tape_thread *thread = &adder->tape->threads.items[id];
	char number[FILTER_COMM_SIZE];

	if (thread->comm)
		return map_string(adder, thread->comm, ret_comm);
	filter_shown_comm(adder->tape, thread, number);
	return folded_add_name(adder->folded, number, strlen(number), ret_comm);
}

static int folded_add_line(const struct adder *adder, const struct addition *addition,
			   uint32_t *ret_line)
{
	const struct tape_stack *stacks = adder->tape->stacks.items;
	struct folded *folded = adder->folded;
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

/* Looks up the whole batch. folded_add() has issued all prefetches of the batch before. */
static int add_batch(struct adder *adder)
{
	struct folded *folded = adder->folded;

	for (size_t i = 0; i < adder->count; i++) {
		const struct addition *addition = &adder->batch[i];
		uint32_t line = hash96_get(&folded->known, addition->key);

		if (!line && folded_add_line(adder, addition, &line) < 0)
			return -ENOMEM;
		folded->weights.items[line] += addition->weight;
	}
	adder->count = 0;
	return 0;
}

static int folded_add(struct adder *adder, const struct addition *addition)
{
	struct folded *folded = adder->folded;
	const uint64_t *keys = folded->name_keys.items;
	struct addition *added = &adder->batch[adder->count++];
	const struct folded_path *path;

	folded_make_paths(adder, addition->stack);
	*added = *addition;
	path = &folded->paths.items[added->stack];
	added->key = (struct hash96_key){ path->a, path->b };
	if (added->leaf)
		added->key = hash96_key_add(added->key, keys[added->leaf]);
	added->key = hash96_key_add(added->key, keys[added->comm]);
	hash96_prefetch(&folded->known, added->key);
	return adder->count == BATCH_SIZE ? add_batch(adder) : 0;
}

int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight)
{
	struct adder adder = { .folded = folded, .tape = tape };
	int r = tape->samples.count ? adder_start(&adder) : 0;

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		struct addition addition = {
			.stack = sample->stack,
			.leaf = folded->frame_names.items[sample->frame],
			.weight = weight == FOLDED_PERIOD ? sample->period : 1,
		};

		r = folded_map_thread(&adder, sample->thread, &addition.comm);
		if (r < 0)
			return r;
		r = folded_add(&adder, &addition);
	}
	return r < 0 ? r : add_batch(&adder);
}

/* The sums of one comm are adjacent, so each comm is looked up once. */
struct sum_comm {
	bool known, passes;
	/* number of the comm in the tape's strings */
	uint32_t comm;
	uint32_t name;
};

static int map_comm(struct adder *adder, const struct filter *filter, uint32_t comm,
		    struct sum_comm *of)
{
	if (of->known && of->comm == comm)
		return 0;
	of->known = true;
	of->comm = comm;
	of->passes = filter_passes_comm(filter, tape_string(adder->tape, comm));
	return map_string(adder, comm, &of->name);
}

static bool folded_is_enough(const struct tape *tape, const struct filter *filter)
{
	for (size_t i = 0; i < tape->sums.count; i++)
		if (!tape->sums.items[i].comm)
			return !filter_may_pass_unnamed(filter);
	return true;
}

int folded_add_sums(struct folded *folded, const struct tape *tape, const struct filter *filter,
		    uint64_t *ret_samples)
{
	struct adder adder = { .folded = folded, .tape = tape };
	struct sum_comm of = { 0 };
	uint64_t samples = 0;
	int r;

	if (!folded_is_enough(tape, filter))
		return 1;
	r = adder_start(&adder);
	for (size_t i = 0; r == 0 && i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];

		r = map_comm(&adder, filter, sum->comm, &of);
		if (r < 0 || !of.passes)
			continue;
		samples += sum->count;
		r = folded_add(&adder, &(struct addition){
					       .comm = of.name,
					       .stack = sum->stack,
					       .leaf = folded->frame_names.items[sum->frame],
					       .weight = sum->count,
				       });
	}
	if (r < 0)
		return r;
	r = add_batch(&adder);
	if (r < 0)
		return r;
	*ret_samples = samples;
	return 0;
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
