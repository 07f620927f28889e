// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing folded stacks in the order of their text, without having the text of more than one: all names are ordered once, with what comes
 * behind them in a line, and the lines then compare by those ranks, several in a number of 64 bits.
 */
#include "query/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/chunk-sort.h"

/* A word is twice a name, for a line that ends there, and 1 more for those that go on. */
struct ranks {
	const struct folded *folded;
	uint32_t *of; /* words, from 1 on, in the order of the text */
	unsigned int bits; /* of one */
};

/* Eight bytes of a word's text, the first one the highest; behind the name comes a `;` where lines go on. */
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

/* The line before, and where each of its words ends in the text. */
struct written {
	struct buffer text;
	array_of(size_t) ends;
	const uint32_t *words;
	uint32_t count;
};

/* Of a line's text, only what differs from that of the line before it is made. */
static int make_line(
	struct written *written, const struct folded *folded, const uint32_t *words, uint32_t count)
{
	uint32_t common = 0;

	if (array_reserve(&written->ends, count) < 0)
		return -ENOMEM;
	while (common < MIN(count, written->count) && words[common] == written->words[common])
		common++;
	written->text.size = common ? written->ends.items[common - 1] : 0;
	for (uint32_t i = common; i < count; i++) {
		if (i)
			buffer_u8(&written->text, ';');
		buffer_text(&written->text, strings_at(&folded->names, words[i]));
		written->ends.items[i] = written->text.size;
	}
	written->words = words;
	written->count = count;
	return buffer_failed(&written->text) ? -ENOMEM : 0;
}

/* Without printf, which would take as long as the rest of the line. */
static void put_line(const struct written *written, uint64_t weight, struct output *output)
{
	char end[24], *at = end + sizeof(end);

	*--at = '\n';
	do {
		*--at = '0' + weight % 10;
		weight /= 10;
	} while (weight);
	*--at = ' ';
	buffer_bytes(&output->text, written->text.data, written->text.size);
	buffer_bytes(&output->text, at, end + sizeof(end) - at);
	output_flush(output);
}

int folded_write(const struct folded *folded, struct output *output)
{
	_cleanup_free_ uint32_t *order = NULL;
	struct written written = { 0 };
	int r = folded_order(folded, &order);

	for (size_t i = 0; r == 0 && i + 1 < folded->lines.count && !output->failed; i++) {
		uint32_t line = order[i], count;
		const uint32_t *words = folded_words(folded, line, &count);

		if (!folded->weights.items[line])
			continue;
		r = make_line(&written, folded, words, count);
		if (r == 0)
			put_line(&written, folded->weights.items[line], output);
	}
	buffer_done(&written.text);
	array_done(&written.ends);
	return r < 0 || buffer_failed(&output->text) ? -ENOMEM : 0;
}
