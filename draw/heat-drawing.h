/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A grid while it is drawn: what its rows of either kind share. */

#include "draw/heat-map.h"

#define HEAT_SATURATED 0.9

/* Those that were seen, by their number. */
struct drawing_cpus {
	/* the caller frees */
	uint32_t *numbers;
	size_t count;
	/* of a row */
	size_t each;
};

struct drawing {
	const struct heat_picture *picture;
	const struct heat *heat;
	const struct terminal *terminal;
	struct buffer *text;
	unsigned int label_width, cell_width;
	/* that there are for rows; 0: as many as one likes */
	unsigned int lines;
	struct drawing_cpus cpus;
	/* incidents, at most */
	size_t listed;
	/* CPUs, of the hottest cell */
	double most;
};

/* From nothing to the hottest, in ASCII. */
#define HEAT_LETTERS 10
extern const char *const heat_letters[HEAT_LETTERS];

/* Which of so many levels a value is; what is there at all is not drawn as nothing. */
size_t drawing_level(const struct drawing *drawing, double value, size_t levels);
void drawing_put_cell(const struct drawing *drawing, const char *symbol);
/* A cell of which nothing was recorded. */
void drawing_put_unknown(const struct drawing *drawing);
/* Ends a line, without the blanks at its end. */
void drawing_end_line(const struct drawing *drawing);

/* All in rows of their own, at first. 0 or -ENOMEM. */
int drawing_find_cpus(const struct heat *heat, struct drawing_cpus *cpus);
/* How many are in a row where there are to be no more than so many. */
size_t drawing_cpus_of_row(size_t count, size_t lines);
void drawing_put_cpus(const struct drawing *drawing);
/* Of rows of several: what one is, and which CPUs it was that are full. */
void drawing_put_cpu_note(const struct drawing *drawing);
