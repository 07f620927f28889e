// SPDX-License-Identifier: GPL-2.0-only
/* The abilities of a terminal, and text that fits its columns. */
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
	static const char *const names[] = { "COLUMNS",	 "LINES",     "LC_ALL",
					     "LC_CTYPE", "LANG",      "NO_COLOR",
					     "TERM",	 "COLORTERM", "CLICOLOR_FORCE" };

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
	CHECK_EQ(terminal.wrap, 0);
	CHECK(read_terminal(fd, TERMINAL_COLOR_ALWAYS).color);
	setenv("COLUMNS", "33", 1);
	setenv("LINES", "7", 1);
	setenv("LANG", "de_DE.utf8", 1);
	terminal = read_terminal(fd, TERMINAL_COLOR_NEVER);
	CHECK(terminal.width == 33 && terminal.height == 7 && terminal.unicode);
	CHECK_EQ(terminal.wrap, 33);
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
	CHECK_EQ(read_terminal(fd, TERMINAL_COLOR_AUTO).wrap, 101);
	close(fd);
	close(other);
}

static void check_colors(int fd, const char *term, bool color, bool basic)
{
	struct terminal terminal;

	setenv("TERM", term, 1);
	terminal = read_terminal(fd, TERMINAL_COLOR_AUTO);
	CHECK_EQ(terminal.color, color);
	CHECK_EQ(terminal.color && terminal.basic, basic);
	CHECK_EQ(terminal_has_palette(&terminal), color && !basic);
}

/* A terminal gets only colours that it has. */
static void test_depths(void)
{
	static const char *const without[] = {
		"vt100", "vt220", "unknown", "dumb", "", "teletype"
	};
	static const char *const basic[] = { "linux", "linux-16color", "ansi", "rxvt" };
	static const char *const palette[] = { "xterm",		"xterm-256color", "screen.xterm",
					       "rxvt-256color", "xterm-kitty",	  "st-256color" };
	int other, fd;

	forget();
	CHECK_EQ(openpty(&other, &fd, NULL, NULL, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(without); i++)
		check_colors(fd, without[i], false, false);
	for (size_t i = 0; i < ARRAY_SIZE(basic); i++)
		check_colors(fd, basic[i], true, true);
	for (size_t i = 0; i < ARRAY_SIZE(palette); i++)
		check_colors(fd, palette[i], true, false);
	setenv("COLORTERM", "truecolor", 1);
	check_colors(fd, "rxvt", true, false);
	close(fd);
	close(other);
}

/* $CLICOLOR_FORCE asks for colours in a pipe, too. $NO_COLOR is stronger, an option strongest. */
static void test_forced(void)
{
	_cleanup_close_ int fd = open("/dev/null", O_RDWR);

	forget();
	setenv("CLICOLOR_FORCE", "1", 1);
	CHECK(read_terminal(fd, TERMINAL_COLOR_AUTO).color);
	CHECK(!read_terminal(fd, TERMINAL_COLOR_NEVER).color);
	setenv("NO_COLOR", "1", 1);
	CHECK(!read_terminal(fd, TERMINAL_COLOR_AUTO).color);
	CHECK(read_terminal(fd, TERMINAL_COLOR_ALWAYS).color);
	unsetenv("NO_COLOR");
	setenv("CLICOLOR_FORCE", "0", 1);
	CHECK(!read_terminal(fd, TERMINAL_COLOR_AUTO).color);
}

static void test_styles(void)
{
	const struct terminal basic = { .color = true, .basic = true };
	_cleanup_(buffer_done) struct buffer text = { 0 };

	terminal_style(&basic, STYLE_ALERT, &text);
	terminal_colors(&basic, 53, 228, &text);
	terminal_style(&basic, STYLE_PLAIN, &text);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, "\033[0;1;31m\033[0m");
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
	check_put(&ascii, "read_zero", 6, "re..ro");
	check_put(&ascii, "read_zero", 4, "re..");
	check_put(&ascii, "read_zero", 1, ".");
	check_put(&ascii, "read_zero", 0, "");
	check_put(&ascii, "\033[2J\n\x80\xff", 8, "?[2J??? ");
	check_put(&ascii, "caf\u00e9", 5, "caf? ");
	check_put(&unicode, "caf\u00e9", 5, "caf\u00e9 ");
	/*
	 * a character of double width, one that joins the character before, one that changes the
	 * direction of writing, an eight-bit control character
	 */
	check_put(&unicode, "\u65e5\u672c\u8a9e", 5, "\u65e5.. ");
	check_put(&unicode, "e\u0301x", 3, "e\u0301x ");
	check_put(&unicode, "a\u202eb\xc2\x9b", 5, "a?b? ");
	CHECK_EQ(text_width(&unicode, "\u65e5\u672c\u8a9e"), 6);
}

static void test_words_of_texts(void)
{
	check_put(&ascii, "busiest 21592 on CPU 7", 22, "busiest 21592 on CPU 7");
	check_put(&ascii, "busiest 21592 on CPU 7", 21, "busiest 21592 on ..  ");
	check_put(&ascii, "busiest 21592 on CPU 7", 17, "busiest 21592 .. ");
	check_put(&ascii, "busiest 21592 on CPU 7", 10, "busiest ..");
	check_put(&ascii, "busiest 21592 on CPU 7", 9, "busiest  ");
	check_put(&ascii, "busiest 21592 on CPU 7", 6, "bu..st");
	check_put(&ascii, "    self  usual", 13, "    self ..  ");
	check_put(&unicode, "\u65e5\u672c \u65e5\u672c", 8, "\u65e5\u672c .. ");
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

CHECK_MAIN({ "output that is not a terminal", test_no_terminal },
	   { "output that is a terminal", test_terminal },
	   { "how many colours a terminal has", test_depths },
	   { "colours that are forced", test_forced }, { "styles in basic colours", test_styles },
	   { "words of --color", test_words }, { "names fit their columns", test_names },
	   { "no word of a text is broken", test_words_of_texts },
	   { "long text loses its middle", test_middle })
