// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing folded stacks in the order of their text, without having the text of more than one: all
 * names are ordered once, with what comes behind them in a line, and the lines then compare by
 * those ranks, several in a number of 64 bits.
 */
#include "query/sums/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/sums/chunk-sort.h"

/* A word is twice a name, for a line that ends there, and 1 more for those that go on. */
struct ranks {
	const struct folded *folded;
	/* words, from 1 on, in the order of the text */
	uint32_t *of;
	/* of one */
	unsigned int bits;
};

/* Eight bytes of a word's text, the first one the highest; behind the name comes a `;` where lines
 * go on. */
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
			chunk |= ranks->of[2 * words[i] + (i + 1 < count)];
	}
	return chunk;
}

int folded_order(const struct folded *folded, uint32_t **ret_order)
{
	struct ranks ranks = { 0 };
	struct chunk_source source = { line_chunk, &ranks };
	size_t count = folded->lines.count - 1;
	_cleanup_free_ uint32_t *order = malloc((count + 1) * sizeof(*order));
	int r = order ? rank_words(&ranks, folded) : -ENOMEM;

	for (size_t i = 0; order && i < count; i++)
		order[i] = i + 1;
	if (r == 0)
		r = chunk_sort(order, count, &source);
	free(ranks.of);
	if (r == 0)
		*ret_order = take_ptr(order);
	return r;
}

/* The text of a name with what stands before it in a line. */
struct piece {
	const uint8_t *text;
	size_t size;
};

struct writing {
	const struct folded *folded;
	/* ";NAME" each */
	struct buffer texts;
	/* by name */
	struct piece *pieces;
	/* the line before, and where each of its words ends in the text */
	struct buffer text;
	array_of(size_t) ends;
	const uint32_t *words;
	uint32_t count;
};

static void folded_lines_writing_done(struct writing *writing)
{
	buffer_done(&writing->texts);
	free(writing->pieces);
	buffer_done(&writing->text);
	array_done(&writing->ends);
}

static int writing_init(struct writing *writing, const struct folded *folded)
{
	size_t count = folded->name_keys.count, at = 0;

	*writing = (struct writing){ .folded = folded };
	writing->pieces = calloc(count, sizeof(*writing->pieces));
	for (uint32_t i = 1; i < count; i++) {
		buffer_u8(&writing->texts, ';');
		buffer_text(&writing->texts, strings_at(&folded->names, i));
		buffer_u8(&writing->texts, 0);
	}
	if (!writing->pieces || buffer_failed(&writing->texts))
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		struct piece *piece = &writing->pieces[i];

		piece->text = writing->texts.data + at;
		piece->size = strlen((const char *)piece->text);
		at += piece->size + 1;
	}
	return 0;
}

/* Of a line's text, only what differs from that of the line before it is made. It begins with a `;`
 * that is not written. */
static int make_line(struct writing *writing, const uint32_t *words, uint32_t count)
{
	uint32_t common = 0;
	size_t size = 0;
	uint8_t *to;

	if (array_reserve(&writing->ends, count) < 0)
		return -ENOMEM;
	while (common < MIN(count, writing->count) && words[common] == writing->words[common])
		common++;
	writing->text.size = common ? writing->ends.items[common - 1] : 0;
	for (uint32_t i = common; i < count; i++)
		size += writing->pieces[words[i]].size;
	to = buffer_room(&writing->text, size);
	if (!to)
		return -ENOMEM;
	for (uint32_t i = common; i < count; i++) {
		const struct piece *piece = &writing->pieces[words[i]];

		memcpy(to, piece->text, piece->size);
		to += piece->size;
		writing->ends.items[i] = to - writing->text.data;
	}
	writing->text.size += size;
	writing->words = words;
	writing->count = count;
	return 0;
}

/* Without printf, which would take as long as the rest of the line. */
static void folded_lines_put_line(const struct writing *writing, uint64_t weight,
				  struct output *output)
{
	char end[24], *at = end + sizeof(end);

	*--at = '\n';
	do {
		*--at = '0' + weight % 10;
		weight /= 10;
	} while (weight);
	*--at = ' ';
	buffer_bytes(&output->text, writing->text.data + 1, writing->text.size - 1);
	buffer_bytes(&output->text, at, end + sizeof(end) - at);
	output_flush(output);
}

/* Lines lie in the order in which they were met: from one to the next in the order of the text is
 * far. */
#define AHEAD 8

static void prefetch_words(const struct folded *folded, const uint32_t *order, size_t at)
{
	uint32_t count;

	if (at + 1 < folded->lines.count)
		__builtin_prefetch(folded_words(folded, order[at], &count));
}

static int put_lines(struct writing *writing, const uint32_t *order, struct output *output)
{
	const struct folded *folded = writing->folded;
	int r = 0;

	for (size_t i = 0; r == 0 && i + 1 < folded->lines.count && !output->failed; i++) {
		uint32_t line = order[i], count;
		const uint32_t *words = folded_words(folded, line, &count);

		prefetch_words(folded, order, i + AHEAD);
		if (!folded->weights.items[line])
			continue;
		r = make_line(writing, words, count);
		if (r == 0)
			folded_lines_put_line(writing, folded->weights.items[line], output);
	}
	return r < 0 || buffer_failed(&output->text) ? -ENOMEM : 0;
}

int folded_write(const struct folded *folded, struct output *output)
{
	_cleanup_(folded_lines_writing_done) struct writing writing;
	_cleanup_free_ uint32_t *order = NULL;
	int r = writing_init(&writing, folded);

	if (r == 0)
		r = folded_order(folded, &order);
	return r < 0 ? r : put_lines(&writing, order, output);
}
