// SPDX-License-Identifier: GPL-2.0-only
/* What there is to draw on, and text in so many columns of it. */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "draw/text.h"

static const struct terminal ascii = { .width = 20 };
static const struct terminal unicode = { .width = 20, .unicode = true };

static void forget(void)
{
	static const char *const names[] = { "COLUMNS", "LINES",    "LC_ALL", "LC_CTYPE",
					     "LANG",	"NO_COLOR", "TERM" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}

static struct terminal read_terminal(int fd, enum terminal_color color)
{
	struct terminal terminal;

	terminal_read(&terminal, fd, color);
	return terminal;
}

static void test_no_terminal(void)
{
	_cleanup_close_ int fd = open("/dev/null", O_RDWR);
	struct terminal terminal;

	forget();
	setenv("TERM", "xterm-256color", 1);
	terminal = read_terminal(fd, TERMINAL_COLOR_AUTO);
	CHECK(terminal.width == 80 && !terminal.height && !terminal.color && !terminal.unicode);
	CHECK(read_terminal(fd, TERMINAL_COLOR_ALWAYS).color);
	setenv("COLUMNS", "33", 1);
	setenv("LINES", "7", 1);
	setenv("LANG", "de_DE.utf8", 1);
	terminal = read_terminal(fd, TERMINAL_COLOR_NEVER);
	CHECK(terminal.width == 33 && terminal.height == 7 && terminal.unicode);
	setenv("COLUMNS", "-5", 1);
	setenv("LINES", "many", 1);
	setenv("LC_ALL", "C", 1);
	terminal = read_terminal(fd, TERMINAL_COLOR_NEVER);
	CHECK(terminal.width == 80 && !terminal.height && !terminal.unicode);
}

static void test_terminal(void)
{
	struct winsize size = { .ws_col = 101, .ws_row = 41 };
	int other, fd;

	forget();
	CHECK_EQ(openpty(&other, &fd, NULL, NULL, &size), 0);
	CHECK(!read_terminal(fd, TERMINAL_COLOR_AUTO).color);
	setenv("TERM", "dumb", 1);
	CHECK(!read_terminal(fd, TERMINAL_COLOR_AUTO).color);
	setenv("TERM", "screen", 1);
	CHECK(read_terminal(fd, TERMINAL_COLOR_AUTO).color);
	CHECK(!read_terminal(fd, TERMINAL_COLOR_NEVER).color);
	setenv("NO_COLOR", "1", 1);
	CHECK(!read_terminal(fd, TERMINAL_COLOR_AUTO).color);
	CHECK(read_terminal(fd, TERMINAL_COLOR_ALWAYS).color);
	CHECK_EQ(read_terminal(fd, TERMINAL_COLOR_AUTO).width, 101);
	CHECK_EQ(read_terminal(fd, TERMINAL_COLOR_AUTO).height, 41);
	close(fd);
	close(other);
}

static void test_words(void)
{
	enum terminal_color color;

	CHECK(terminal_parse_color(NULL, &color) == 0 && color == TERMINAL_COLOR_AUTO);
	CHECK(terminal_parse_color("always", &color) == 0 && color == TERMINAL_COLOR_ALWAYS);
	CHECK(terminal_parse_color("never", &color) == 0 && color == TERMINAL_COLOR_NEVER);
	CHECK_EQ(terminal_parse_color("", &color), -EINVAL);
}

static void check_put(const struct terminal *terminal, const char *name, unsigned int width,
		      const char *expected)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	text_put(terminal, name, width, &text);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, expected);
}

static void test_names(void)
{
	check_put(&ascii, "read_zero", 12, "read_zero   ");
	check_put(&ascii, "read_zero", 9, "read_zero");
	check_put(&ascii, "read_zero", 6, "read..");
	check_put(&ascii, "read_zero", 1, ".");
	check_put(&ascii, "read_zero", 0, "");
	check_put(&ascii, "\033[2J\n\x80\xff", 8, "?[2J??? ");
	check_put(&ascii, "caf\u00e9", 5, "caf? ");
	check_put(&unicode, "caf\u00e9", 5, "caf\u00e9 ");
	/* twice as wide, joined to the one before, turning the direction, a control of eight bits
	 */
	check_put(&unicode, "\u65e5\u672c\u8a9e", 5, "\u65e5.. ");
	check_put(&unicode, "e\u0301x", 3, "e\u0301x ");
	check_put(&unicode, "a\u202eb\xc2\x9b", 5, "a?b? ");
	CHECK_EQ(text_width(&unicode, "\u65e5\u672c\u8a9e"), 6);
}

static void check_middle(const char *name, unsigned int width, const char *expected)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	CHECK_EQ(text_put_middle(&unicode, name, width, &text), text_width(&unicode, expected));
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, expected);
}

static void test_middle(void)
{
	check_middle("mem_cgroup_nr_lru_pages", 23, "mem_cgroup_nr_lru_pages");
	check_middle("mem_cgroup_nr_lru_pages", 22, "mem_cgroup.._lru_pages");
	check_middle("mem_cgroup_nr_lru_pages", 9, "mem_..ges");
	check_middle("mem_cgroup_nr_lru_pages", 4, "me..");
	check_middle("\u65e5\u672c\u8a9e\u65e5\u672c", 7, "\u65e5..\u672c");
}

static void check_lines(const char *lines, unsigned int count, const char *expected)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	CHECK_EQ(text_put_lines(&ascii, lines, &text), count);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, expected);
}

static void test_lines(void)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	check_lines("x", 1, "x\n");
	check_lines("one two three four five\n", 2, "one two three four\nfive\n");
	check_lines("one\ntwo", 2, "one\ntwo\n");
	check_lines("a-word-that-is-longer-than-a-line x", 2,
		    "a-word-that-is-longe\nr-than-a-line x\n");
	check_lines("it is a-word-that-is-longer-than-two-of-the-lines", 4,
		    "it is\na-word-that-is-longe\nr-than-two-of-the-li\nnes\n");
	check_lines("one two\n three", 2, "one two\nthree\n");
	check_lines("\033[2J \x80", 1, "?[2J ?\n");
	/* columns count, not bytes */
	text_put_lines(&unicode, "\u65e5\u672c\u8a9e\u65e5\u672c \u65e5\u672c\u8a9e\u65e5 x",
		       &text);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data,
		  "\u65e5\u672c\u8a9e\u65e5\u672c \u65e5\u672c\u8a9e\u65e5\nx\n");
	text.size = 0;
	CHECK_EQ(text_put_lines_after(&ascii, 15, "one two", &text), 2);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, " one\ntwo\n");
}

CHECK_MAIN({ "no terminal", test_no_terminal }, { "a terminal", test_terminal },
	   { "--color", test_words }, { "names", test_names }, { "lines", test_lines },
	   { "shortened in the middle", test_middle })
