// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses /proc/kallsyms, which has a line for each symbol: "ffffffff81000000 T _stext". For a
 * module's symbol, the line ends with "\t[module]".
 *
 * The lines contain no sizes. A function ends where the next symbol begins, even if that symbol is
 * data, as in perf. kallsyms_add_line() drops the names of data, because data is never executed.
 */
#include "symbolizer/kallsyms.h"

#include <stdbool.h>
#include <string.h>

#include "base/intern.h"

struct line {
	uint64_t address;
	char type;
	const char *name;
	size_t name_size;
	const char *module;
	size_t module_size;
};

static int kallsyms_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Returns 1, or 0 for an invalid line. */
static int kallsyms_parse_line(const char *text, size_t size, struct line *ret_line)
{
	struct line line = { .module = "" };
	const char *tab;
	size_t at = 0;

	for (; at < size && at < 16 && kallsyms_hex_digit(text[at]) >= 0; at++)
		line.address = line.address << 4 | kallsyms_hex_digit(text[at]);
	if (at == 0 || size - at < 4 || text[at] != ' ' || text[at + 2] != ' ')
		return 0;
	line.type = text[at + 1];
	line.name = text + at + 3;
	line.name_size = size - at - 3;
	tab = memchr(line.name, '\t', line.name_size);
	if (tab) {
		line.module = tab + 1;
		line.module_size = line.name_size - (tab + 1 - line.name);
		line.name_size = tab - line.name;
	}
	*ret_line = line;
	return line.name_size > 0;
}

static bool line_is_data(const struct line *line)
{
	return strchr("DdBb", line->type);
}

/*
 * Returns whether perf uses the line: perf uses text, weak, data and bss. perf ignores names that
 * begin with a dollar sign, which are marks of the ARM assembler.
 */
static bool line_is_symbol(const struct line *line)
{
	return line->address && line->type && (strchr("TtWw", line->type) || line_is_data(line)) &&
	       line->name[0] != '$';
}

static enum symbol_binding line_binding(const struct line *line)
{
	if (line->type == 'W')
		return SYMBOL_WEAK;
	return line->type < 'a' ? SYMBOL_GLOBAL : SYMBOL_LOCAL;
}

static int kallsyms_add_line(struct symbols *symbols, struct strings *modules,
			     const struct line *line)
{
	uint32_t module;
	int r;

	r = strings_add(modules, line->module, line->module_size, &module);
	if (r < 0)
		return r;
	symbols_set_group(symbols, module);
	return symbols_add(symbols, line->address, 0, line_binding(line), line->name,
			   line_is_data(line) ? 0 : line->name_size);
}

static int add_lines(struct symbols *symbols, struct strings *modules, const char *text,
		     size_t size)
{
	for (size_t at = 0, next; at < size; at = next) {
		const char *newline = memchr(text + at, '\n', size - at);
		size_t end = newline ? (size_t)(newline - text) : size;
		struct line line;
		int r;

		next = end + 1;
		if (!kallsyms_parse_line(text + at, end - at, &line) || !line_is_symbol(&line))
			continue;
		r = kallsyms_add_line(symbols, modules, &line);
		if (r < 0)
			return r;
	}
	return symbols_finish(symbols);
}

int kallsyms_parse(const char *text, size_t size, struct symbols **ret_symbols)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = NULL;
	_cleanup_(strings_done) struct strings modules = { 0 };
	int r;

	r = symbols_new(&symbols);
	if (r < 0)
		return r;
	r = add_lines(symbols, &modules, text, size);
	if (r < 0)
		return r;
	*ret_symbols = take_ptr(symbols);
	return 0;
}
