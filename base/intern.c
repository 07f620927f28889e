// SPDX-License-Identifier: GPL-2.0-only
#include "base/intern.h"

#include <string.h>

struct piece {
	const char *text;
	size_t size;
};

void strings_done(struct strings *strings)
{
	buffer_done(&strings->text);
	array_done(&strings->starts);
	table_done(&strings->table);
	strings->tabled = 0;
}

const char *strings_at(const struct strings *strings, uint32_t id)
{
	/* number 0, the empty string, is not in the arrays */
	if (id == 0 || id > strings->starts.count)
		return "";
	return (const char *)strings->text.data + strings->starts.items[id - 1];
}

uint32_t strings_count(const struct strings *strings)
{
	return strings->starts.count + 1;
}

/* The start of the next string ends this one. */
static bool piece_equal(const void *context, uint32_t id, const void *key)
{
	const struct strings *strings = context;
	const struct piece *piece = key;
	size_t start = strings->starts.items[id - 1];
	size_t end = id < strings->starts.count ? strings->starts.items[id] : strings->text.size;

	return end - start == piece->size + 1 &&
	       memcmp(strings->text.data + start, piece->text, piece->size) == 0;
}

static uint64_t hash_of(const struct strings *strings, uint32_t id)
{
	const char *text = strings_at(strings, id);

	return hash_text(text, strlen(text));
}

/*
 * Searches the strings that are not in the table. Strings of strings_fill() enter the table only if
 * strings_add() needs them there, which is rare.
 */
static uint32_t find_untabled(const struct strings *strings, const struct piece *piece)
{
	for (uint32_t id = strings->tabled + 1; id < strings_count(strings); id++)
		if (piece_equal(strings, id, piece))
			return id;
	return TABLE_NONE;
}

static int table_all(struct strings *strings)
{
	int r = 0;

	while (r == 0 && strings->tabled < strings->starts.count) {
		uint32_t id = strings->tabled + 1;

		r = table_add(&strings->table, hash_of(strings, id), id);
		strings->tabled += r == 0;
	}
	return r;
}

uint32_t strings_find(const struct strings *strings, const char *text, size_t size)
{
	struct piece piece = { .text = text, .size = strnlen(text, size) };
	uint32_t id;

	if (!piece.size)
		return 0;
	id = table_find(&strings->table, hash_text(text, piece.size), piece_equal, strings, &piece);
	if (id == TABLE_NONE)
		id = find_untabled(strings, &piece);
	return id == TABLE_NONE ? 0 : id;
}

int strings_fill(struct strings *strings, const void *texts, size_t size)
{
	const char *at = texts, *end = at + size, *next;
	uint8_t *text;

	if (!size)
		return 0;
	if (size > UINT32_MAX)
		return -E2BIG;
	text = buffer_room(&strings->text, size);
	if (!text || array_reserve(&strings->starts, size / 32 + 1) < 0)
		return -ENOMEM;
	memcpy(text, texts, size);
	for (; at < end; at = next + 1) {
		next = memchr(at, 0, end - at);
		if (!next || next == at)
			return -EBADMSG;
		if (array_push(&strings->starts, at - (const char *)texts) < 0)
			return -ENOMEM;
	}
	strings->text.size = size;
	return 0;
}

int strings_add(struct strings *strings, const char *text, size_t size, uint32_t *ret_id)
{
	struct piece piece = { .text = text, .size = strnlen(text, size) };
	uint64_t hash;
	uint32_t id, start;
	int r;

	if (!piece.size) {
		*ret_id = 0;
		return 0;
	}
	r = table_all(strings);
	if (r < 0)
		return r;
	hash = hash_text(text, piece.size);
	id = table_find(&strings->table, hash, piece_equal, strings, &piece);
	if (id != TABLE_NONE) {
		*ret_id = id;
		return 0;
	}
	start = strings->text.size;
	if (strings->text.size + piece.size + 1 > UINT32_MAX)
		return -E2BIG;
	if (array_reserve(&strings->starts, strings->starts.count + 1) < 0 ||
	    !buffer_room(&strings->text, piece.size + 1))
		return -ENOMEM;
	id = strings->starts.count + 1;
	r = table_add(&strings->table, hash, id);
	if (r < 0)
		return r;
	buffer_bytes(&strings->text, text, piece.size);
	buffer_u8(&strings->text, 0);
	strings->starts.items[strings->starts.count++] = start;
	strings->tabled++;
	*ret_id = id;
	return 0;
}
