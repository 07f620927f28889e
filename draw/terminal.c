// SPDX-License-Identifier: GPL-2.0-only
#include "draw/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SIZE_MAX_SHOWN 10000

int terminal_parse_color(const char *text, enum terminal_color *ret_color)
{
	static const char *const names[] = { "auto", "always", "never" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!text || strcmp(text, names[i]) == 0) {
			*ret_color = i;
			return 0;
		}
	return -EINVAL;
}

static unsigned int terminal_number_of(const char *variable, unsigned int otherwise)
{
	const char *text = secure_getenv(variable);
	unsigned long number = text ? strtoul(text, NULL, 10) : 0;

	return number && number <= SIZE_MAX_SHOWN ? number : otherwise;
}

/* the first variable that is set decides, as in setlocale() */
static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = secure_getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

enum depth {
	/* The name of the terminal says nothing about colours. */
	DEPTH_NONE,
	DEPTH_BASIC,
	DEPTH_PALETTE,
};

/*
 * Terminals whose names begin with these texts have colours. The table contains only colours that a
 * terminal certainly has. With other colours, a terminal may show wrong colours or a blank screen.
 */
static const struct {
	const char *name;
	enum depth depth;
} known_terminals[] = {
	{ "xterm", DEPTH_PALETTE },	{ "tmux", DEPTH_PALETTE },    { "screen", DEPTH_PALETTE },
	{ "alacritty", DEPTH_PALETTE }, { "foot", DEPTH_PALETTE },    { "ghostty", DEPTH_PALETTE },
	{ "kitty", DEPTH_PALETTE },	{ "konsole", DEPTH_PALETTE }, { "wezterm", DEPTH_PALETTE },
	{ "linux", DEPTH_BASIC },	{ "ansi", DEPTH_BASIC },      { "cygwin", DEPTH_BASIC },
	{ "rxvt", DEPTH_BASIC },	{ "putty", DEPTH_BASIC },     { "hurd", DEPTH_BASIC },
};

static enum depth depth_of_terminal(void)
{
	const char *term = secure_getenv("TERM"), *color = secure_getenv("COLORTERM");

	if (!term || !*term)
		return DEPTH_NONE;
	if (strstr(term, "256color") || strstr(term, "-direct") ||
	    (color && (strcmp(color, "truecolor") == 0 || strcmp(color, "24bit") == 0)))
		return DEPTH_PALETTE;
	for (size_t i = 0; i < ARRAY_SIZE(known_terminals); i++)
		if (strncmp(term, known_terminals[i].name, strlen(known_terminals[i].name)) == 0)
			return known_terminals[i].depth;
	return DEPTH_NONE;
}

static bool is_set(const char *variable)
{
	const char *value = secure_getenv(variable);

	return value && *value;
}

/*
 * Returns whether the user forces colours. https://bixense.com/clicolors/ describes the variables.
 */
static bool are_colors_forced(enum terminal_color color)
{
	return color == TERMINAL_COLOR_ALWAYS ||
	       (color == TERMINAL_COLOR_AUTO && !is_set("NO_COLOR") && is_set("CLICOLOR_FORCE") &&
		strcmp(secure_getenv("CLICOLOR_FORCE"), "0") != 0);
}

static void terminal_read_colors(struct terminal *terminal, int fd, enum terminal_color color)
{
	enum depth depth = depth_of_terminal();

	terminal->color =
		are_colors_forced(color) || (color == TERMINAL_COLOR_AUTO && depth != DEPTH_NONE &&
					     isatty(fd) && !is_set("NO_COLOR"));
	/* forced colours mostly go into a file, whose terminal is not known yet */
	terminal->basic = depth == DEPTH_BASIC;
}

void terminal_read(struct terminal *terminal, int fd, enum terminal_color color)
{
	const char *columns = secure_getenv("COLUMNS");
	struct winsize size = { 0 };

	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	*terminal = (struct terminal){
		.width = terminal_number_of("COLUMNS", size.ws_col ? size.ws_col : 80),
		.height = terminal_number_of("LINES", size.ws_row),
		.unicode = locale_is_utf8(),
	};
	terminal_read_colors(terminal, fd, color);
	if (isatty(fd) || (columns && *columns))
		terminal->wrap = terminal->width;
}

void terminal_style(const struct terminal *terminal, enum terminal_style style, struct buffer *text)
{
	static const struct {
		const char *palette, *basic;
	} codes[] = {
		[STYLE_PLAIN] = { "0", "0" },
		[STYLE_BOLD] = { "0;1", "0;1" },
		[STYLE_DIM] = { "0;2", "0;2" },
		[STYLE_ALERT] = { "0;1;38;5;196", "0;1;31" },
		[STYLE_WARNING] = { "0;1;38;5;172", "0;1;33" },
		[STYLE_GOOD] = { "0;1;38;5;71", "0;1;32" },
		[STYLE_USER] = { "0;38;5;71", "0;32" },
		[STYLE_KERNEL] = { "0;38;5;208", "0;33" },
		[STYLE_IRQ] = { "0;38;5;135", "0;35" },
	};

	if (terminal->color)
		buffer_printf(text, "\033[%sm",
			      terminal->basic ? codes[style].basic : codes[style].palette);
}

void terminal_colors(const struct terminal *terminal, int foreground, int background,
		     struct buffer *text)
{
	if (!terminal_has_palette(terminal))
		return;
	buffer_text(text, "\033[0");
	if (foreground >= 0)
		buffer_printf(text, ";38;5;%d", foreground);
	if (background >= 0)
		buffer_printf(text, ";48;5;%d", background);
	buffer_u8(text, 'm');
}
