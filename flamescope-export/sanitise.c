// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sanitised names keep (1) to (3) of query/text/clean-name.h (modules and values without (3)), and:
 *
 *   4. A comm and a symbol do not contain `->`, which splits a function into inlined ones.
 *   5. A `:` does not follow a blank and a number, which Flamescope would take for the time of an
 *      event. A blank precedes a symbol, so this holds from its first byte.
 *   6. A symbol that is only a place, `[libfoo.so+0x4c80]`, does not contain `+`. Flamescope drops
 *      the text from a `+` on, and all places of a file would become one.
 *   7. A comm has at least two characters.
 *   8. A module does not contain a blank before a parenthesis, which would end the function, or
 *      `(deleted)`.
 *   9. Only the comm of an idle task contains `swapper`: Flamescope hides samples with that word
 *      and a word of the idle loop.
 */
#include "flamescope-export/sanitise.h"

#include <stdbool.h>
#include <string.h>

#include "flamescope-export/flamescope.h"
#include "query/text/clean-name.h"

#define DELETED " (deleted)"
#define IDLE_TASK "swapper"

struct cleaner {
	struct buffer *text;
	/* A comm or a symbol: subject to (3) and (4). */
	bool node;
	/* Subject to (8). */
	bool module;
	/* Subject to (6). */
	bool place;
	/* Subject to (9). */
	bool idle;
	/* The text so far ends with a blank, or with a blank and a number. */
	bool after_blank;
	bool changed;
	size_t characters;
};

static void put_replaced(struct cleaner *cleaner, char replacement)
{
	buffer_u8(cleaner->text, replacement);
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
		bool first = cleaner->node && !cleaner->characters;
		char replacement;
		size_t used = clean_name_take((const char *)at, first, &replacement);

		if (replacement)
			put_replaced(cleaner, replacement);
		else if (*at == ' ' && cleaner->module && at[1] == '(')
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

	if (!*comm) {
		buffer_printf(text, ":%d", tid);
		return false;
	}
	put_clean(&cleaner, comm, clean_name_size(comm));
	if (cleaner.characters < 2)
		put_replaced(&cleaner, '_');
	return cleaner.changed;
}

/*
 * Returns the size of a name that needs no rule, or 0. Most names are such: without a blank before
 * a colon and without a leading number.
 */
static size_t plain_size(const char *name)
{
	static const bool plain[256] = {
		['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['_'] = true,
		['.'] = true,	      [':'] = true,	    ['*'] = true
	};
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
	put_clean(&cleaner, symbol, clean_name_size(symbol));
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
