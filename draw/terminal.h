/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The properties of the terminal to draw on. */

#include <stdbool.h>

#include "base/bytes.h"

enum terminal_color {
	/*
	 * Use colours if standard output is a terminal with colours, or if $CLICOLOR_FORCE is set,
	 * unless $NO_COLOR is set.
	 */
	TERMINAL_COLOR_AUTO,
	TERMINAL_COLOR_ALWAYS,
	TERMINAL_COLOR_NEVER,
};

struct terminal {
	/* $COLUMNS, else the terminal's width, else 80. */
	unsigned int width;
	/*
	 * The width at which lines wrap. 0: they do not wrap, because there is neither a terminal
	 * nor $COLUMNS.
	 */
	unsigned int wrap;
	/* $LINES, else the terminal's height; 0: no limit. */
	unsigned int height;
	/* Text may have colours: 256, unless `basic` is set. */
	bool color;
	/* The terminal has only the eight basic colours. */
	bool basic;
	/* The locale is UTF-8. */
	bool unicode;
};

/* Parses "auto", "always", "never", or NULL for auto. Returns -EINVAL for any other text. */
int terminal_parse_color(const char *text, enum terminal_color *ret_color);
void terminal_read(struct terminal *terminal, int fd, enum terminal_color color);

enum terminal_style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	/* For text that stands out. */
	STYLE_ALERT,
	STYLE_WARNING,
	STYLE_GOOD,
	STYLE_USER,
	STYLE_KERNEL,
	STYLE_IRQ,
};

/* Switches to a style. Does nothing on a terminal without colours. */
void terminal_style(const struct terminal *terminal, enum terminal_style style,
		    struct buffer *text);
/* Tells whether terminal_colors() has an effect. */
static inline bool terminal_has_palette(const struct terminal *terminal)
{
	return terminal->color && !terminal->basic;
}

/* Switches to two of the 256 colours, if the terminal has them; -1 is the terminal's own colour. */
void terminal_colors(const struct terminal *terminal, int foreground, int background,
		     struct buffer *text);
