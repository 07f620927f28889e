// SPDX-License-Identifier: GPL-2.0-only
/* Lines break between fields, else between words, and never inside a word or a quantity. */
#include "tests/check.h"

#include "base/cleanup.h"
#include "draw/lines.h"
#include "draw/text.h"

static const struct terminal twenty = { .width = 20, .wrap = 20 };
static const struct lines_shape fields = { .indent = 2 };
static const struct lines_shape prose = { .indent = 2, .prose = true };

static void check_lines(const struct terminal *terminal, struct lines_shape shape,
			const char *lines, unsigned int count, const char *expected)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	CHECK_EQ(lines_put(terminal, shape, lines, &text), count);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, expected);
}

static void test_fields(void)
{
	check_lines(&twenty, fields, "", 1, "\n");
	check_lines(&twenty, fields, "x", 1, "x\n");
	check_lines(&twenty, fields, "one two, three four", 1, "one two, three four\n");
	check_lines(&twenty, fields, "one two, three four five", 2,
		    "one two,\n  three four five\n");
	check_lines(&twenty, fields, "one; two; three; four", 2, "one; two; three;\n  four\n");
	check_lines(&twenty, fields, "one two  three four five", 2, "one two\n  three four five\n");
	/* blanks where a line does not break stay */
	check_lines(&twenty, fields, "one  two", 1, "one  two\n");
	/* a field that is wider than a line breaks between words */
	check_lines(&twenty, fields, "one, two three four five six", 2,
		    "one, two three four\n  five six\n");
	check_lines(&twenty, fields, "one\ntwo", 2, "one\ntwo\n");
	check_lines(&twenty, fields, "one two three four five\nsix\n", 3,
		    "one two three four\n  five\nsix\n");
}

static void test_prose(void)
{
	check_lines(&twenty, prose, "one two, three four five", 2, "one two, three four\n  five\n");
}

static void test_words(void)
{
	check_lines(&twenty, fields, "a-word-that-is-longer-than-a-line x", 3,
		    "a-word-that-is-longer-than-a-line\n  x\n");
	check_lines(&twenty, fields, "it is a-word-that-is-longer-than-a-line", 3,
		    "it is\n  a-word-that-is-longer-than-a-line\n");
	check_lines(&twenty, fields, "\033[2J \x80", 1, "?[2J ?\n");
}

static void test_quantities(void)
{
	check_lines(&twenty, prose, "it had seen only 15.0 % of it", 2,
		    "it had seen only\n  15.0 % of it\n");
	check_lines(&twenty, prose, "it had seen for (4 min 15 s)", 2,
		    "it had seen for\n  (4 min 15 s)\n");
	/* a number at the end of a field does not begin a quantity */
	check_lines(&twenty, prose, "one two three, 12, five", 2, "one two three, 12,\n  five\n");
	check_lines(&twenty, prose, "one two three at 12\nsix", 2, "one two three at 12\nsix\n");
}

static void test_columns(void)
{
	const struct terminal unicode = { .width = 20, .wrap = 20, .unicode = true };

	/* the width is measured in columns, not in bytes */
	check_lines(&unicode, fields, "\u65e5\u672c\u8a9e\u65e5\u672c \u65e5\u672c\u8a9e\u65e5 x",
		    2, "\u65e5\u672c\u8a9e\u65e5\u672c \u65e5\u672c\u8a9e\u65e5\n  x\n");
	check_lines(&twenty, (struct lines_shape){ .used = 15, .indent = 15 }, "one, two", 2,
		    "one,\n               two\n");
}

static void test_no_terminal(void)
{
	static const struct terminal file = { .width = 80 };
	_cleanup_(buffer_done) struct buffer put = { 0 };
	char text[4096];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 7 ? 'x' : ',';
	for (size_t i = 8; i < sizeof(text); i += 9)
		text[i] = ' ';
	text[sizeof(text) - 2] = 'x';
	text[sizeof(text) - 1] = 0;
	CHECK_EQ(lines_put(&file, fields, text, &put), 1);
	CHECK_EQ(put.size, sizeof(text));
	CHECK(memcmp(put.data, text, sizeof(text) - 1) == 0);
}

/* With any width, the words are the same, and only a single word may be wider than a line. */
static void test_all_widths(void)
{
	static const char text[] =
		"8152 samples; covered 15.0 % (4 min 15 s not recorded), 0 samples lost, 15 "
		"callchains truncated, names: 75.0 %, times within 35 us";

	for (unsigned int width = 1; width < 150; width++) {
		const struct terminal terminal = { .width = width, .wrap = width };
		_cleanup_(buffer_done) struct buffer put = { 0 };
		char *at;

		lines_put(&terminal, (struct lines_shape){ 0 }, text, &put);
		buffer_u8(&put, 0);
		for (char *line = (char *)put.data; *line; line += strcspn(line, "\n") + 1)
			if (strcspn(line, "\n") > width && width >= 20)
				CHECK_FAIL("of %u columns: %s", width, line);
		for (at = (char *)put.data; *at; at++)
			*at = *at == '\n' ? ' ' : *at;
		at[-1] = 0;
		CHECK_STR((char *)put.data, text);
	}
}

static void check_command(const char *command, const char *expected)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	lines_put_command(&twenty, (struct lines_shape){ .used = 2, .indent = 4 }, command, &text);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, expected);
}

static void test_commands(void)
{
	check_command("perftape segments", "perftape segments\n");
	check_command("perftape query --from now-1m", "perftape query \\\n    --from now-1m\n");
	check_command("echo 'a b c' \"d 'e f\" g\\ h", "echo 'a b c' \\\n    \"d 'e f\" g\\ h\n");
}

CHECK_MAIN({ "lines break between fields", test_fields },
	   { "prose breaks between words", test_prose }, { "long words stay whole", test_words },
	   { "quantities keep their units", test_quantities },
	   { "the limit counts columns", test_columns },
	   { "a file is not wrapped", test_no_terminal },
	   { "all widths keep all words", test_all_widths },
	   { "commands continue behind a backslash", test_commands })
