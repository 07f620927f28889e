// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing folded stacks: their trie is walked in the order of the text, so that no line is kept. Siblings are ordered by what comes behind
 * the parent's `;`: all names were ordered once before, so nodes compare by a number.
 */
#include "query/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* What of a node is written below it. */
struct branch {
	uint32_t first; /* entry of its children */
	uint32_t count; /* of those entries */
};

/*
 * An entry is twice the number of a node, for the line that ends there, and 1 more for those that go on from it; a word is
 * the same of a name.
 */
struct lines {
	const struct folded *folded;
	struct branch *branches; /* of the nodes, and one more */
	uint32_t *entries; /* siblings side by side, in the order of the text */
	uint32_t *ranks; /* of words, in the order of the text */
};

static void lines_done(struct lines *lines)
{
	free(lines->branches);
	free(lines->entries);
	free(lines->ranks);
}

/* As the lines compare: behind a name comes a `;` where they go on, else their end. */
static int compare_words(const void *a, const void *b, void *context)
{
	const struct strings *names = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const uint8_t *x = (const void *)strings_at(names, left / 2);
	const uint8_t *y = (const void *)strings_at(names, right / 2);

	for (; *x && *x == *y; x++, y++)
		;
	return (*x ? *x : left % 2 ? ';' : 0) - (*y ? *y : right % 2 ? ';' : 0);
}

static int rank_words(struct lines *lines)
{
	const struct strings *names = &lines->folded->names;
	size_t count = 2 * (size_t)strings_count(names);
	_cleanup_free_ uint32_t *order = malloc(count * sizeof(*order));

	lines->ranks = malloc(count * sizeof(*lines->ranks));
	if (!order || !lines->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_words, (void *)names);
	for (size_t i = 0; i < count; i++)
		lines->ranks[order[i]] = i;
	return 0;
}

static uint32_t entry_rank(const struct lines *lines, uint32_t entry)
{
	return lines->ranks[2 * lines->folded->nodes.items[entry / 2].name + entry % 2];
}

static int compare_entries(const void *a, const void *b, void *context)
{
	uint32_t left = entry_rank(context, *(const uint32_t *)a);
	uint32_t right = entry_rank(context, *(const uint32_t *)b);

	return left < right ? -1 : left > right;
}

/* Children come behind their parents: from behind, all of a node's are counted before it is. */
static void count_entries(struct lines *lines)
{
	const struct folded_node *nodes = lines->folded->nodes.items;
	struct branch *branches = lines->branches;
	size_t count = lines->folded->nodes.count;
	uint32_t next = 0;

	for (size_t i = count; i-- > 1;)
		branches[nodes[i].parent].count +=
			(nodes[i].weight != 0) + (branches[i].count != 0);
	for (size_t i = 0; i < count; i++) {
		branches[i].first = next;
		next += branches[i].count;
	}
}

/* Moves each node's first entry to behind its last one, and back. */
static void fill_entries(struct lines *lines)
{
	const struct folded_node *nodes = lines->folded->nodes.items;
	struct branch *branches = lines->branches;
	size_t count = lines->folded->nodes.count;

	for (size_t i = 1; i < count; i++) {
		struct branch *parent = &branches[nodes[i].parent];

		if (nodes[i].weight)
			lines->entries[parent->first++] = 2 * i;
		if (branches[i].count)
			lines->entries[parent->first++] = 2 * i + 1;
	}
	for (size_t i = 0; i < count; i++)
		branches[i].first -= branches[i].count;
}

/* A node is an entry for its own line, and another for those that go on from it. */
static int make_entries(struct lines *lines)
{
	size_t count = lines->folded->nodes.count;

	lines->branches = calloc(count, sizeof(*lines->branches));
	lines->entries = malloc(2 * count * sizeof(*lines->entries));
	if (!lines->branches || !lines->entries)
		return -ENOMEM;
	count_entries(lines);
	fill_entries(lines);
	for (size_t i = 0; i < count; i++)
		if (lines->branches[i].count > 1)
			qsort_r(lines->entries + lines->branches[i].first, lines->branches[i].count,
				sizeof(*lines->entries), compare_entries, lines);
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

static int enter_node(struct walk *walk, const struct branch *branch)
{
	struct level level = { branch->first, branch->first + branch->count, walk->line.size };

	return array_push(&walk->levels, level);
}

/* Without printf, which would take as long as the rest of the line. */
static void put_line(const struct walk *walk, uint64_t weight, struct output *output)
{
	char end[24], *at = end + sizeof(end);

	*--at = '\n';
	do {
		*--at = '0' + weight % 10;
		weight /= 10;
	} while (weight);
	*--at = ' ';
	buffer_bytes(&output->text, walk->line.data, walk->line.size);
	buffer_bytes(&output->text, at, end + sizeof(end) - at);
	output_flush(output);
}

static int put_lines(const struct lines *lines, struct walk *walk, struct output *output)
{
	int r = enter_node(walk, &lines->branches[0]);

	while (r == 0 && walk->levels.count && !output->failed) {
		struct level *level = &walk->levels.items[walk->levels.count - 1];
		const struct folded_node *node;
		uint32_t entry;

		if (level->next == level->end) {
			walk->levels.count--;
			continue;
		}
		entry = lines->entries[level->next++];
		node = &lines->folded->nodes.items[entry / 2];
		walk->line.size = level->size;
		buffer_text(&walk->line, strings_at(&lines->folded->names, node->name));
		if (entry % 2 == 0) {
			put_line(walk, node->weight, output);
			continue;
		}
		buffer_u8(&walk->line, ';');
		r = enter_node(walk, &lines->branches[entry / 2]);
	}
	return r < 0 || buffer_failed(&walk->line) || buffer_failed(&output->text) ? -ENOMEM : 0;
}

int folded_write(const struct folded *folded, struct output *output)
{
	_cleanup_(lines_done) struct lines lines = { .folded = folded };
	struct walk walk = { 0 };
	int r = rank_words(&lines);

	if (r == 0)
		r = make_entries(&lines);
	if (r == 0)
		r = put_lines(&lines, &walk, output);
	array_done(&walk.levels);
	buffer_done(&walk.line);
	return r;
}
