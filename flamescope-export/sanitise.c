// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names come from processes and files, so from anybody. What is made of them keeps these, whatever they hold:
 *
 * (1) It is valid UTF-8, and what was not is one `?` for each part that a decoder would replace by one U+FFFD.
 * (2) It has no control character and no white space but the blank: Python and Perl take U+00A0 and its like for space too.
 * (3) `->`, which splits a function into inlined ones, is in no comm and no symbol.
 * (4) A `:` does not follow a blank and a number: Flamescope would take that number for the time of an event. A symbol
 *     stands behind a blank, so (4) holds from its first byte.
 * (5) A comm and a symbol do not start with `#` or a blank; a comm has two characters or more, and no blank at its end.
 * (6) A symbol that says only where it is, `[libfoo.so+0x4c80]`, has no `+`, at which Flamescope cuts: all of a file would be one.
 * (7) A module has no blank before a parenthesis, which would end the function, and `(deleted)` nowhere.
 * (8) `swapper` is in the comm of an idle task only: with a word of the idle loop anywhere behind it, Flamescope hides the sample.
 */
#include "flamescope-export/sanitise.h"

#include <stdbool.h>
#include <string.h>

#include "flamescope-export/flamescope.h"

#define NOT_A_CHARACTER UINT32_MAX
#define DELETED " (deleted)"
#define IDLE_TASK "swapper"

struct cleaner {
	struct buffer *text;
	bool node; /* a comm or a symbol: (3) and (5) are for these */
	bool module; /* see (7) */
	bool place; /* see (6) */
	bool idle; /* see (8) */
	bool after_blank; /* a blank, or a blank and a number, is what was put last */
	bool changed;
	size_t characters;
};

/* How many continuation bytes follow a first byte, and the range of the first of them (no overlong forms, no surrogates). */
static int utf8_follow(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*ret_high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 0;
	if (first >= 0xc2 && first <= 0xdf)
		return 1;
	if (first >= 0xe0 && first <= 0xef)
		return 2;
	if (first >= 0xf0 && first <= 0xf4)
		return 3;
	return -1;
}

/*
 * The size of the character at a NUL-terminated text that is not empty, or of the longest start of one that breaks off;
 * the NUL is no continuation byte, so nothing behind it is looked at.
 */
static size_t utf8_character(const uint8_t *at, uint32_t *ret_character)
{
	uint8_t low, high;
	int follow = utf8_follow(at[0], &low, &high);
	uint32_t character = follow > 0 ? at[0] & (0x3f >> follow) : at[0];

	*ret_character = NOT_A_CHARACTER;
	if (follow < 0)
		return 1;
	for (int i = 1; i <= follow; i++) {
		if (at[i] < low || at[i] > high)
			return i;
		character = character << 6 | (at[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*ret_character = character;
	return follow + 1;
}

static bool is_unreadable(uint32_t character)
{
	if (character == NOT_A_CHARACTER || character < 0x20)
		return true;
	if (character >= 0x7f && character <= 0xa0)
		return true;
	return character == 0x1680 || (character >= 0x2000 && character <= 0x200a) ||
	       character == 0x2028 || character == 0x2029 || character == 0x202f ||
	       character == 0x205f || character == 0x3000;
}

static void put_replaced(struct cleaner *cleaner, char with)
{
	buffer_u8(cleaner->text, with);
	cleaner->after_blank = false;
	cleaner->changed = true;
	cleaner->characters++;
}

static void put_kept(struct cleaner *cleaner, const uint8_t *at, size_t size)
{
	bool number = (*at >= '0' && *at <= '9') || *at == '.';

	buffer_bytes(cleaner->text, at, size);
	cleaner->after_blank = *at == ' ' || (number && cleaner->after_blank);
	cleaner->characters++;
}

static bool has_prefix(const uint8_t *at, const char *prefix)
{
	return !strncmp((const char *)at, prefix, strlen(prefix));
}

static void put_clean(struct cleaner *cleaner, const char *name, size_t size)
{
	const uint8_t *at = (const uint8_t *)name, *end = at + size;

	while (at < end) {
		uint32_t character;
		size_t used = utf8_character(at, &character);

		if (is_unreadable(character))
			put_replaced(cleaner, '?');
		else if (*at == '#' && !cleaner->characters && cleaner->node)
			put_replaced(cleaner, '_');
		else if (*at == ' ' &&
			 (cleaner->module ? at[1] == '(' : !cleaner->characters && cleaner->node))
			put_replaced(cleaner, '_');
		else if (cleaner->module && has_prefix(at, "(deleted)"))
			put_replaced(cleaner, '_');
		else if (*at == ':' && cleaner->after_blank)
			put_replaced(cleaner, '_');
		else if (*at == '>' && cleaner->node && at > (const uint8_t *)name && at[-1] == '-')
			put_replaced(cleaner, '_');
		else if (*at == 's' && !cleaner->idle && has_prefix(at, IDLE_TASK))
			put_replaced(cleaner, '_');
		else if (*at == '+' && cleaner->place)
			put_kept(cleaner, (const uint8_t *)"@", 1);
		else
			put_kept(cleaner, at, used);
		at += used;
	}
}

bool flamescope_put_comm(struct buffer *text, const char *comm, int tid)
{
	struct cleaner cleaner = { .text = text, .node = true, .idle = tid == 0 };
	size_t size = strlen(comm);

	/* blanks at the end cannot be told from the ones that fill the column */
	while (size && comm[size - 1] == ' ')
		size--;
	if (!size && !*comm) {
		buffer_printf(text, ":%d", tid);
		return false;
	}
	size = MAX(size, (size_t)1);
	put_clean(&cleaner, comm, size);
	if (cleaner.characters < 2)
		put_replaced(&cleaner, '_');
	return cleaner.changed;
}

/* As most names are: of nothing that any of (1) to (8) is about. There is no blank before a colon in it, nor a number that it starts with. */
static size_t plain_size(const char *name)
{
	static const bool plain[256] = { ['a' ... 'z'] = true,
		['A' ... 'Z'] = true,
		['0' ... '9'] = true,
		['_'] = true,
		['.'] = true,
		[':'] = true,
		['*'] = true };
	const uint8_t *at = (const uint8_t *)name;

	if (!plain[*at] || *at < 'A')
		return 0;
	while (plain[*at])
		at++;
	return *at || strstr(name, IDLE_TASK) ? 0 : (size_t)(at - (const uint8_t *)name);
}

static bool put_symbol(struct buffer *text, const char *symbol, bool idle)
{
	struct cleaner cleaner = { .text = text, .node = true, .idle = idle };

	if (!*symbol)
		symbol = "[unknown]";
	cleaner.after_blank = true;
	cleaner.place = *symbol == '[';
	put_clean(&cleaner, symbol, strlen(symbol));
	return cleaner.changed;
}

bool flamescope_put_symbol(struct buffer *text, const char *symbol)
{
	size_t plain = plain_size(symbol);

	if (!plain)
		return put_symbol(text, symbol, false);
	buffer_bytes(text, symbol, plain);
	return false;
}

void sanitise_put_thread(struct buffer *text, const char *name, int tid)
{
	put_symbol(text, name, tid == 0);
}

bool flamescope_put_module(struct buffer *text, const char *path)
{
	struct cleaner cleaner = { .text = text, .module = true };
	const size_t deleted = strlen(DELETED);
	size_t size = strlen(path);

	while (size >= deleted && !memcmp(path + size - deleted, DELETED, deleted))
		size -= deleted;
	if (!size)
		buffer_text(text, "[unknown]");
	put_clean(&cleaner, path, size);
	return cleaner.changed;
}

void sanitise_put_value(struct buffer *text, const char *value)
{
	struct cleaner cleaner = { .text = text };

	put_clean(&cleaner, value, strlen(value));
}

void sanitise_put_event(struct buffer *text, const char *event)
{
	if (!*event)
		buffer_text(text, "cpu-clock");
	for (; *event; event++)
		buffer_u8(text, *event > ' ' && *event < 0x7f ? *event : '_');
}
