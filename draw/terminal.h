/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What there is to draw on. */

#include <stdbool.h>

#include "base/bytes.h"

enum terminal_color {
	/* where it is a terminal that has them, and NO_COLOR is not set */
	TERMINAL_COLOR_AUTO,
	TERMINAL_COLOR_ALWAYS,
	TERMINAL_COLOR_NEVER,
};

struct terminal {
	/* $COLUMNS, else the terminal's, else 80 */
	unsigned int width;
	/* $LINES, else the terminal's; 0: as many lines as one likes */
	unsigned int height;
	/* 256 of them */
	bool color;
	/* by the locale */
	bool unicode;
};

/* "auto", "always", "never", or NULL, which is auto; -EINVAL with any other. */
int terminal_parse_color(const char *text, enum terminal_color *ret_color);
void terminal_read(struct terminal *terminal, int fd, enum terminal_color color);

enum terminal_style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	/* what stands out */
	STYLE_ALERT,
	STYLE_USER,
	STYLE_KERNEL,
	STYLE_IRQ,
};

/* From here on; nothing where there are no colours. */
void terminal_style(const struct terminal *terminal, enum terminal_style style,
		    struct buffer *text);
/* Of the 256; -1 is the terminal's own. */
void terminal_colors(const struct terminal *terminal, int foreground, int background,
		     struct buffer *text);
