// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sanitised names have the properties (1) to (4) of query/text/clean-name.h, and those below.
 * Modules and values may lack (3).
 *
 *   5. A comm and a symbol do not contain `->`, which splits a function into inlined ones.
 *   6. A `:` does not follow a blank and a number, which Flamescope would take for the time of an
 *      event. A blank precedes a symbol, so this holds from its first byte.
 *   7. A symbol that is only a place, `[libfoo.so+0x4c80]`, and a thread's frame do not contain a
 *      plus. Flamescope drops the text from a plus on, so all places of a file would be equal.
 *   8. A comm has at least two characters. It does not contain a blank before a digit, which
 *      stackcollapse-perf.pl and speedscope would take for the pid, or a semicolon, at which
 *      stackcollapse-perf.pl would divide it into two frames.
 *   9. A module does not contain a blank or a parenthesis: speedscope drops a frame with a blank in
 *      its module, Firefox ends the module at the first `)`, Perfetto begins it at the last `(`.
 *  10. Only the comm of an idle task contains `swapper`: Flamescope hides samples with that word
 *      and a word of the idle loop.
 *  11. A symbol does not begin with `+`, because Flamescope would not remove its offset. It does
 *      not begin with `(`, which stackcollapse-perf.pl and Firefox take for a process, or with a
 *      quotation mark, which stackcollapse-perf.pl removes. `(anonymous namespace)` becomes
 *      `{anonymous}`.
 */
#include "flamescope-export/sanitise.h"

#include <stdbool.h>
#include <string.h>

#include "flamescope-export/flamescope.h"
#include "query/text/clean-name.h"

#define DELETED " (deleted)"
#define IDLE_TASK "swapper"
#define ANONYMOUS "(anonymous namespace)"
#define ANONYMOUS_SHOWN "{anonymous}"

struct cleaner {
	struct buffer *text;
	/* A comm or a symbol: properties (3) and (5) apply. */
	bool node;
	/* The second half of (8) applies. */
	bool comm;
	/* Property (9) applies. */
	bool module;
	/* Property (11) applies. */
	bool symbol;
	/* Property (7) applies. */
	bool place;
	/* Property (10) applies. */
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

/* Returns whether (8), (9) or (11) forbid this character. The text ends with a NUL. */
static bool is_forbidden(const struct cleaner *cleaner, const uint8_t *at)
{
	if (cleaner->comm && *at == ';')
		return true;
	if (cleaner->comm && *at == ' ')
		return at[1] >= '0' && at[1] <= '9';
	if (cleaner->module && strchr(" ()", *at))
		return true;
	return cleaner->symbol && !cleaner->characters && strchr("+(\"'", *at);
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
		else if (is_forbidden(cleaner, at))
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
	struct cleaner cleaner = { .text = text, .node = true, .comm = true, .idle = tid == 0 };

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
 * Returns the size of a name that needs no change, or 0 if put_symbol() must apply the rules. Most
 * names need no change: they consist of plain characters and do not begin with a digit.
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
	if (*at || strstr(name, IDLE_TASK) || clean_name_has_far_word(name))
		return 0;
	return at - (const uint8_t *)name;
}

static bool put_symbol(struct cleaner cleaner, const char *symbol)
{
	const char *end;

	cleaner.node = cleaner.symbol = true;
	if (!*symbol)
		symbol = "[unknown]";
	/* the blanks at the end go before the prefix does, because a name keeps its only blank */
	end = symbol + clean_name_size(symbol);
	if (has_prefix((const uint8_t *)symbol, ANONYMOUS)) {
		symbol += strlen(ANONYMOUS);
		buffer_text(cleaner.text, ANONYMOUS_SHOWN);
		cleaner.characters = strlen(ANONYMOUS_SHOWN);
		cleaner.changed = true;
	}
	cleaner.after_blank = !cleaner.changed;
	cleaner.place |= *symbol == '[';
	put_clean(&cleaner, symbol, end - symbol);
	return cleaner.changed;
}

bool flamescope_put_symbol(struct buffer *text, const char *symbol)
{
	size_t plain = plain_size(symbol);

	if (!plain)
		return put_symbol((struct cleaner){ .text = text }, symbol);
	buffer_bytes(text, symbol, plain);
	return false;
}

void sanitise_put_thread(struct buffer *text, const char *name, int tid)
{
	put_symbol((struct cleaner){ .text = text, .idle = tid == 0, .place = true }, name);
}

bool flamescope_put_module(struct buffer *text, const char *path)
{
	struct cleaner cleaner = { .text = text, .module = true };
	const size_t deleted = strlen(DELETED);
	size_t size = strlen(path);

	while (size >= deleted && !memcmp(path + size - deleted, DELETED, deleted))
		size -= deleted;
	while (size > 1 && path[size - 1] == ' ')
		size--;
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
	if (*event == '.' || (*event >= '0' && *event <= '9'))
		buffer_u8(text, '_');
	for (; *event; event++)
		buffer_u8(text, *event > ' ' && *event < 0x7f ? *event : '_');
}
