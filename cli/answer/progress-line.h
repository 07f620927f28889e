/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* How far long work has come, on a terminal: one line that is written over, some times a second,
 * with the time that is left. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress_line {
	const char *what;
	/* nothing is, where there is no terminal */
	bool shown;
	uint64_t started_ns;
	uint64_t last_ns;
};

void progress_line_start(struct progress_line *progress, const char *what, bool quiet);
/* context is the struct progress_line. */
void progress_line_show(void *context, uint64_t done, uint64_t size);
void progress_line_end(struct progress_line *progress);

/* How much of a line there is room for, in whole parts: they stand two blanks, or a comma and one,
 * apart. */
size_t progress_line_fits(const char *text, size_t width);
/* A line that the next one is written over, no wider than the terminal. */
void progress_line_line(const char *text);
/* Takes it away. */
void progress_line_clear(void);
