// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include "base/foreign.h"
#include "base/json.h"

/* Each attack, and the text that must remain of it. */
static const struct {
	const char *text, *clean;
} attacks[] = {
	{ "kworker/0:1", "kworker/0:1" },
	{ "\033[31mred", "?[31mred" },
	{ "\033]0;title\a", "?]0;title?" },
	{ "a\nb\tc\rd", "a?b?c?d" },
	{ "del\x7f", "del?" },
	/* U+009B begins a control sequence on some terminals */
	{ "c1\xc2\x9b"
	  "31m",
	  "c1?31m" },
	/* directions, no width, byte order mark, soft hyphen, tags */
	{ "\u202eabc\u202c", "?abc?" },
	{ "a\u200bb\u2066c\ufeffd\u00ade\u061c", "a?b?c?d?e?" },
	{ "\U000e0041", "?" },
	{ "\uffff", "?" },
	/*
	 * not UTF-8: a lone byte, a part, an overlong form, a surrogate, beyond the last character
	 */
	{ "\x80", "?" },
	{ "\xe2\x82", "?" },
	{ "\xe2\x82x", "?x" },
	{ "\xc0\xaf", "??" },
	{ "\xed\xa0\x80", "???" },
	{ "\xf5\x80\x80\x80", "????" },
	/* the text that people write stays */
	{ "gr\u00fc\u00dfe \u4e16\u754c \U0001f600", "gr\u00fc\u00dfe \u4e16\u754c \U0001f600" },
};

static const char *text_in(struct buffer *buffer)
{
	buffer_u8(buffer, 0);
	CHECK(!buffer_failed(buffer));
	return (const char *)buffer->data;
}

static void test_attacks(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };
		char copy[64];

		foreign_put(&text, attacks[i].text, strlen(attacks[i].text));
		CHECK_STR(text_in(&text), attacks[i].clean);
		snprintf(copy, sizeof(copy), "%s", attacks[i].text);
		foreign_clean(copy);
		CHECK_STR(copy, attacks[i].clean);
	}
}

/* JSON keeps what the text says, without a byte that a terminal acts on. */
static void test_json(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };
		size_t used;

		json_quote(&text, attacks[i].text);
		for (size_t at = 0; at < text.size; at += used) {
			uint32_t code;

			used = foreign_take((const char *)text.data + at, text.size - at, &code);
			CHECK(!foreign_is_hidden(code));
		}
	}
}

static void check_lines(const char *text, bool styles, const char *expected)
{
	char copy[64];
	size_t size;

	snprintf(copy, sizeof(copy), "%s", text);
	size = foreign_clean_lines(copy, strlen(copy), styles);
	copy[size] = 0;
	CHECK_STR(copy, expected);
}

static void test_lines(void)
{
	check_lines("a\n\tb\r\n", false, "a\n\tb?\n");
	check_lines("\033[1;31mx\033[m\n", true, "\033[1;31mx\033[m\n");
	check_lines("\033[1;31mx\n", false, "?[1;31mx\n");
	check_lines("\033[2Jx\033]0;y\a\033[31", true, "?[2Jx?]0;y??[31");
}

static void check_cell(const char *text, const char *expected)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };

	foreign_put_cell(&out, text);
	CHECK_STR(text_in(&out), expected);
}

static void test_cells(void)
{
	check_cell("cpu0", "cpu0");
	check_cell("", "");
	check_cell("a,b", "\"a,b\"");
	check_cell("say \"x\"", "\"say \"\"x\"\"\"");
	check_cell("=cmd|'/c calc'!A1", "\"'=cmd|'/c calc'!A1\"");
	check_cell("+1", "\"'+1\"");
	check_cell("-.mount", "\"'-.mount\"");
	check_cell("@x\"", "\"'@x\"\"\"");
	check_cell("\t=1", "\"'?=1\"");
	check_cell("a\033b\nc", "\"a?b?c\"");
}

static void test_take(void)
{
	uint32_t code;

	CHECK_EQ(foreign_take("", 0, &code), 0);
	CHECK_EQ(code, FOREIGN_BROKEN);
	CHECK_EQ(foreign_take("\0x", 2, &code), 1);
	CHECK_EQ(code, 0);
	CHECK_EQ(foreign_take("\xf0\x9f\x98\x80", 4, &code), 4);
	CHECK_EQ(code, 0x1f600);
	CHECK_EQ(foreign_take("\xf0\x9f\x98", 3, &code), 3);
	CHECK_EQ(code, FOREIGN_BROKEN);
}

CHECK_MAIN({ "hostile text is cleaned", test_attacks }, { "JSON escapes the same text", test_json },
	   { "a composed text keeps lines and colours", test_lines },
	   { "cells are no formulas", test_cells }, { "one character", test_take })
