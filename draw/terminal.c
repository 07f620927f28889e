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
	const char *text = getenv(variable);
	unsigned long number = text ? strtoul(text, NULL, 10) : 0;

	return number && number <= SIZE_MAX_SHOWN ? number : otherwise;
}

/* the first variable that is set decides, as in setlocale() */
static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

static bool has_colors(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

void terminal_read(struct terminal *terminal, int fd, enum terminal_color color)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = { 0 };

	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	*terminal = (struct terminal){
		.width = terminal_number_of("COLUMNS", size.ws_col ? size.ws_col : 80),
		.height = terminal_number_of("LINES", size.ws_row),
		.color = color == TERMINAL_COLOR_ALWAYS ||
			 (color == TERMINAL_COLOR_AUTO && has_colors(fd)),
		.unicode = locale_is_utf8(),
	};
	if (isatty(fd) || (columns && *columns))
		terminal->wrap = terminal->width;
}

void terminal_style(const struct terminal *terminal, enum terminal_style style, struct buffer *text)
{
	static const char *const codes[] = {
		[STYLE_PLAIN] = "0",	    [STYLE_BOLD] = "0;1",
		[STYLE_DIM] = "0;2",	    [STYLE_ALERT] = "0;1;38;5;196",
		[STYLE_USER] = "0;38;5;71", [STYLE_KERNEL] = "0;38;5;208",
		[STYLE_IRQ] = "0;38;5;135",
	};

	if (terminal->color)
		buffer_printf(text, "\033[%sm", codes[style]);
}

void terminal_colors(const struct terminal *terminal, int foreground, int background,
		     struct buffer *text)
{
	if (!terminal->color)
		return;
	buffer_text(text, "\033[0");
	if (foreground >= 0)
		buffer_printf(text, ";38;5;%d", foreground);
	if (background >= 0)
		buffer_printf(text, ";48;5;%d", background);
	buffer_u8(text, 'm');
}
