/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The progress of long work: one line on a terminal, overwritten a few times a second, with the
 * time that is left.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress_line {
	const char *what;
	/* False without a terminal, and with -q: the line is not shown. */
	bool shown;
	uint64_t started_ns;
	uint64_t last_ns;
};

void progress_line_start(struct progress_line *progress, const char *what, bool quiet);
/* `context` is the struct progress_line. */
void progress_line_show(void *context, uint64_t done, uint64_t size);
void progress_line_end(struct progress_line *progress);

/*
 * Returns how many bytes of a line fit into `width`. Cuts the line between parts, which are
 * separated by two blanks or by a comma and a blank.
 */
size_t progress_line_fits(const char *text, size_t width);
/* Prints a line, at most as wide as the terminal. The next line overwrites it. */
void progress_line_line(const char *text);
/* Erases the line on the terminal. */
void progress_line_clear(void);
