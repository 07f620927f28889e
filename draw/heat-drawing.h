/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The state of a heat map while perftape draws it: the parts that both kinds of rows share. */

#include "draw/heat-map.h"

#define HEAT_SATURATED 0.9

/* The numbers of the CPUs with samples, sorted. */
struct drawing_cpus {
	/* Owned by the caller. */
	uint32_t *numbers;
	size_t count;
	/* The number of CPUs in a row. */
	size_t each;
	/* The number of lines of a row. */
	unsigned int row_lines;
};

struct drawing {
	const struct heat_picture *picture;
	const struct heat *heat;
	const struct terminal *terminal;
	struct buffer *text;
	unsigned int label_width, cell_width;
	/* The number of lines available for rows; 0: no limit. */
	unsigned int lines;
	struct drawing_cpus cpus;
	/* The greatest number of incidents to list. */
	size_t listed;
	/* The largest number of busy CPUs in a cell. */
	double most;
};

/* The signs for cells from idle to hottest, in ASCII. */
#define HEAT_LETTERS 10
extern const char *const heat_letters[HEAT_LETTERS];

/* Returns the level of a value, 0 to levels - 1. A value above 0 never gets level 0. */
size_t drawing_level(const struct drawing *drawing, double value, size_t levels);
void drawing_put_cell(const struct drawing *drawing, const char *symbol);
/* Puts the sign for a cell that was not recorded. */
void drawing_put_unknown(const struct drawing *drawing);
/* Ends a line and removes the blanks at its end. */
void drawing_end_line(const struct drawing *drawing);

/* Finds the CPUs with samples, and puts one into each row. Returns 0 or -ENOMEM. */
int drawing_find_cpus(const struct heat *heat, struct drawing_cpus *cpus);
/* Returns how many CPUs a row must hold so that `count` CPUs fit into `lines` lines. */
size_t drawing_cpus_of_row(size_t count, size_t lines);
void drawing_put_cpus(const struct drawing *drawing);
/* Explains rows of several CPUs, and names the saturated CPUs. */
void drawing_put_cpu_note(const struct drawing *drawing);
