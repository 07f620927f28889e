// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes folded stacks in the order of their text without keeping the text of more than one line.
 * Sorts all names once, each together with the separator that follows the name in a line. Then
 * compares the lines by the ranks of their names, several ranks in one 64-bit number.
 */
#include "query/sums/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/text/chunk-sort.h"

/*
 * The ranks of words. A word is twice the number of its name, plus 1 if the line continues after
 * the name.
 */
struct ranks {
	const struct folded *folded;
	/* rank of each word, from 1, in the order of the text */
	uint32_t *of;
	/* number of bits of a rank */
	unsigned int bits;
	enum folded_order by;
};

/*
 * Returns eight bytes of a word's text, the first byte in the highest bits. A `;` follows the name
 * if the line continues.
 */
static uint64_t word_chunk(const void *context, uint32_t word, uint32_t place)
{
	const struct folded *folded = context;
	const char *name = strings_at(&folded->names, word / 2);
	size_t at = 8 * (size_t)place, size = strlen(name);
	uint8_t bytes[8] = { 0 };
	uint64_t chunk;

	if (at < size)
		memcpy(bytes, name + at, MIN(size - at, sizeof(bytes)));
	if (word % 2 && at <= size && size - at < sizeof(bytes))
		bytes[size - at] = ';';
	memcpy(&chunk, bytes, sizeof(chunk));
	return be64toh(chunk);
}

static int rank_words(struct ranks *ranks, const struct folded *folded)
{
	struct chunk_source source = { word_chunk, folded };
	size_t names = folded->name_keys.count, count = 2 * (names - 1);
	_cleanup_free_ uint32_t *order = malloc(count * sizeof(*order));

	ranks->folded = folded;
	ranks->of = malloc(2 * names * sizeof(*ranks->of));
	if (!order || !ranks->of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = i + 2;
	if (chunk_sort(order, count, &source) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ranks->of[order[i]] = i + 1;
	for (ranks->bits = 1; count >> ranks->bits; ranks->bits++)
		;
	return 0;
}

/*
 * Returns the rank of a line's word. In the order of the text, "a.b" stands between "a" and "a;b".
 * In the order of the tree, "a" and "a;b" must be neighbours, so no word includes its separator. In
 * the reverse order only the comm includes the separator, which distinguishes it from a function
 * with the same text.
 */
static uint32_t rank_at(const struct ranks *ranks, const uint32_t *words, uint32_t count,
			uint32_t i)
{
	bool reverse = ranks->by == FOLDED_ORDER_REVERSE, is_last = i + 1 == count;
	bool separated = ranks->by == FOLDED_ORDER_TEXT ? !is_last : reverse && is_last;

	return ranks->of[2 * words[reverse ? count - 1 - i : i] + separated];
}

static uint64_t line_chunk(const void *context, uint32_t line, uint32_t place)
{
	const struct ranks *ranks = context;
	unsigned int each = 64 / ranks->bits;
	uint32_t count;
	const uint32_t *words = folded_words(ranks->folded, line, &count);
	uint64_t chunk = 0;

	for (uint32_t i = each * place; i < each * (place + 1); i++) {
		chunk <<= ranks->bits;
		if (i < count)
			chunk |= rank_at(ranks, words, count, i);
	}
	return chunk;
}

static void ranks_done(struct ranks *ranks)
{
	free(ranks->of);
}

int folded_sort(const struct folded *folded, enum folded_order by, uint32_t **ret_order)
{
	_cleanup_(ranks_done) struct ranks ranks = { .by = by };
	struct chunk_source source = { line_chunk, &ranks };
	size_t count = folded->lines.count - 1;
	_cleanup_free_ uint32_t *order = malloc((count + 1) * sizeof(*order));
	int r = order ? rank_words(&ranks, folded) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		order[i] = i + 1;
	r = chunk_sort(order, count, &source);
	if (r < 0)
		return r;
	*ret_order = take_ptr(order);
	return 0;
}

/* The text of a name with the separator before it. */
struct piece {
	const uint8_t *text;
	size_t size;
};

struct writer {
	const struct folded *folded;
	/* ";NAME" for each name */
	struct buffer texts;
	/* indexed by name */
	struct piece *pieces;
	/* the text of the previous line, and the end of each of its words */
	struct buffer text;
	array_of(size_t) ends;
	const uint32_t *words;
	uint32_t count;
};

static void folded_lines_writer_done(struct writer *writer)
{
	buffer_done(&writer->texts);
	free(writer->pieces);
	buffer_done(&writer->text);
	array_done(&writer->ends);
}

static int writer_init(struct writer *writer, const struct folded *folded)
{
	size_t count = folded->name_keys.count, at = 0;

	*writer = (struct writer){ .folded = folded };
	writer->pieces = calloc(count, sizeof(*writer->pieces));
	for (uint32_t i = 1; i < count; i++) {
		buffer_u8(&writer->texts, ';');
		buffer_text(&writer->texts, strings_at(&folded->names, i));
		buffer_u8(&writer->texts, 0);
	}
	if (!writer->pieces || buffer_failed(&writer->texts))
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		struct piece *piece = &writer->pieces[i];

		piece->text = writer->texts.data + at;
		piece->size = strlen((const char *)piece->text);
		at += piece->size + 1;
	}
	return 0;
}

/*
 * Makes the text of a line. Keeps the prefix that the line shares with the previous one. The text
 * begins with a `;`, which is not written.
 */
static int make_line(struct writer *writer, const uint32_t *words, uint32_t count)
{
	uint32_t common = 0;
	size_t size = 0;
	uint8_t *to;

	if (array_reserve(&writer->ends, count) < 0)
		return -ENOMEM;
	while (common < MIN(count, writer->count) && words[common] == writer->words[common])
		common++;
	writer->text.size = common ? writer->ends.items[common - 1] : 0;
	for (uint32_t i = common; i < count; i++)
		size += writer->pieces[words[i]].size;
	to = buffer_room(&writer->text, size);
	if (!to)
		return -ENOMEM;
	for (uint32_t i = common; i < count; i++) {
		const struct piece *piece = &writer->pieces[words[i]];

		memcpy(to, piece->text, piece->size);
		to += piece->size;
		writer->ends.items[i] = to - writer->text.data;
	}
	writer->text.size += size;
	writer->words = words;
	writer->count = count;
	return 0;
}

/* Appends the count without printf(), which would take as long as the rest of the line. */
static void folded_lines_put_line(const struct writer *writer, uint64_t weight,
				  struct output *output)
{
	char end[24], *at = end + sizeof(end);

	*--at = '\n';
	do {
		*--at = '0' + weight % 10;
		weight /= 10;
	} while (weight);
	*--at = ' ';
	if (writer->folded->host)
		buffer_printf(&output->text, "%s;", writer->folded->host);
	buffer_bytes(&output->text, writer->text.data + 1, writer->text.size - 1);
	buffer_bytes(&output->text, at, end + sizeof(end) - at);
	output_flush(output);
}

/*
 * Prefetches lines. They are stored in the order of their first appearance, so reading them in
 * sorted order jumps around in memory.
 */
#define AHEAD 8

static void prefetch_words(const struct folded *folded, const uint32_t *order, size_t at)
{
	uint32_t count;

	if (at + 1 < folded->lines.count)
		__builtin_prefetch(folded_words(folded, order[at], &count));
}

static int put_lines(struct writer *writer, const uint32_t *order, struct output *output)
{
	const struct folded *folded = writer->folded;
	int r = 0;

	for (size_t i = 0; r == 0 && i + 1 < folded->lines.count && !output->failed; i++) {
		uint32_t line = order[i], count;
		const uint32_t *words = folded_words(folded, line, &count);

		prefetch_words(folded, order, i + AHEAD);
		if (!folded->weights.items[line])
			continue;
		r = make_line(writer, words, count);
		if (r < 0)
			return -ENOMEM;
		folded_lines_put_line(writer, folded->weights.items[line], output);
	}
	return r < 0 || buffer_failed(&output->text) ? -ENOMEM : 0;
}

int folded_write(const struct folded *folded, struct output *output)
{
	_cleanup_(folded_lines_writer_done) struct writer writer = { 0 };
	_cleanup_free_ uint32_t *order = NULL;
	int r = writer_init(&writer, folded);

	if (r < 0)
		return r;
	r = folded_sort(folded, FOLDED_ORDER_TEXT, &order);
	return r < 0 ? r : put_lines(&writer, order, output);
}
