// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports any bytes as a comm, a symbol and a module. Flamescope must be able to read the output.
 */
#include <assert.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/foreign.h"
#include "flamescope-export/flamescope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool matches(const char *pattern, const char *text)
{
	regex_t regex;
	bool found;

	assert(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0);
	found = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

/*
 * Decodes the text by the definition of UTF-8: the shortest form, no surrogates, nothing beyond
 * U+10FFFF. Returns the number of characters.
 */
static size_t check_utf8(const char *text)
{
	static const unsigned int least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *at = (const unsigned char *)text;
	size_t count = 0;

	for (; *at; count++) {
		int follow = *at < 0x80 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;
		unsigned int value = follow ? *at & (0x3f >> follow) : *at;

		assert(*at < 0x80 || (*at >= 0xc0 && *at < 0xf8));
		at++;
		for (int i = 0; i < follow; i++, at++) {
			assert((*at & 0xc0) == 0x80);
			value = value << 6 | (*at & 0x3f);
		}
		assert(value >= least[follow] && value <= 0x10ffff);
		assert(value < 0xd800 || value > 0xdfff);
		assert(value >= ' ' && !(value >= 0x7f && value <= 0xa0));
		assert(!foreign_is_hidden(value));
	}
	return count;
}

static void check_same(bool changed, const char *shown, const char *name)
{
	assert(changed || !strcmp(shown, name));
}

static void check_comm(const char *name)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	bool changed = flamescope_put_comm(&text, name, 7);
	const char *shown;
	size_t size;

	buffer_u8(&text, 0);
	shown = (const char *)text.data;
	size = strlen(shown);
	assert(check_utf8(shown) >= 2);
	assert(shown[0] != ' ' && shown[0] != '#' && shown[size - 1] != ' ');
	assert(!strstr(shown, "->") && !matches(" [0-9.]+:", shown));
	assert(!matches(" [0-9]", shown));
	if (*name && name[strlen(name) - 1] != ' ')
		check_same(changed, shown, name);
}

/* The plus of a place, `[libfoo.so+0x10]`, becomes `@`, which does not count as a difference. */
static char *copy_symbol(const char *name)
{
	char *copy = strdup(name);

	assert(copy);
	for (char *at = copy; *name == '[' && *at; at++)
		if (*at == '+')
			*at = '@';
	return copy;
}

static void check_symbol(const char *name)
{
	_cleanup_(buffer_done) struct buffer line = { 0 };
	_cleanup_free_ char *copy = copy_symbol(name);
	bool changed;
	const char *shown;

	buffer_text(&line, " ");
	changed = flamescope_put_symbol(&line, name);
	buffer_u8(&line, 0);
	shown = (const char *)line.data;
	assert(check_utf8(shown) >= 2);
	assert(!strchr(" #+(\"'", shown[1]) && shown[strlen(shown) - 1] != ' ');
	assert(!strstr(shown, "->") && !matches(" [0-9.]+:", shown));
	if (*name && name[strlen(name) - 1] != ' ')
		check_same(changed, shown + 1, copy);
}

static void check_module(const char *name)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	bool changed = flamescope_put_module(&text, name);
	const char *shown;

	buffer_u8(&text, 0);
	shown = (const char *)text.data;
	assert(check_utf8(shown) >= 1);
	assert(!strpbrk(shown, " ()"));
	if (*name && !strstr(name, " (deleted)") && name[strlen(name) - 1] != ' ')
		check_same(changed, shown, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *name = strndup((const char *)data, size);

	check_comm(name);
	check_symbol(name);
	check_module(name);
	return 0;
}
