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
}

const char *strings_at(const struct strings *strings, uint32_t id)
{
	/* number 0 is not in the arrays */
	if (id == 0 || id > strings->starts.count)
		return "";
	return (const char *)strings->text.data + strings->starts.items[id - 1];
}

uint32_t strings_count(const struct strings *strings)
{
	return strings->starts.count + 1;
}

/* How long it is follows from where the next one starts. */
static bool piece_equal(const void *context, uint32_t id, const void *key)
{
	const struct strings *strings = context;
	const struct piece *piece = key;
	size_t start = strings->starts.items[id - 1];
	size_t end = id < strings->starts.count ? strings->starts.items[id] : strings->text.size;

	return end - start == piece->size + 1 &&
	       memcmp(strings->text.data + start, piece->text, piece->size) == 0;
}

uint32_t strings_find(const struct strings *strings, const char *text, size_t size)
{
	struct piece piece = { .text = text, .size = strnlen(text, size) };
	uint32_t id;

	if (!piece.size)
		return 0;
	id = table_find(
		&strings->table, hash_bytes(text, piece.size), piece_equal, strings, &piece);
	return id == TABLE_NONE ? 0 : id;
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
	hash = hash_bytes(text, piece.size);
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
	*ret_id = id;
	return 0;
}
