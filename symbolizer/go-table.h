/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The table that a Go program carries with it to print its own stacks (.gopclntab, of Go 1.2 and
 * later): the start and the name of every function. It is there also in programs that are linked
 * with -s -w. A pure decoder: nothing in it is believed, and nothing reaches beyond its source.
 *
 *        Go 1.2                Go 1.16                     Go 1.18, 1.20 and later
 *    0   magic u32, two zeros, size of an instruction u8, size of a word u8
 *    8   functions             functions, files            functions, files
 *        then the table of     offsets of names, units,    start of the text, offsets of names,
 * units, functions             files, counters, functions  files, counters, functions
 *
 * The table of functions has two numbers a function, where it starts and where more about it is,
 * and then the end of the last one: words until Go 1.16, then 32 bits and relative to the start of
 * the text. What is more begins with its start again and, in 32 bits, where its name is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/file-window.h"

#define GO_HEADER_MAX 72

struct go_table {
	/* their table */
	struct window functions;
	struct window details;
	struct window names;
	/* of the functions */
	uint64_t count;
	/* what starts are relative to */
	uint64_t text;
	/* of a start in the table: 4 or 8 */
	uint8_t start_size;
	/* of a start in what is more about a function */
	uint8_t entry_size;
	bool relative;
};

/* true when a source begins with such a table; go_table_done() only then. The text of a relative
 * one may have to be set: it is 0 since Go 1.26. */
bool go_table_open(struct go_table *table, const struct file_window *source);
void go_table_done(struct go_table *table);
/* Where the function at an address starts and its name, living until the next call; false when none
 * is known. */
bool go_table_find(struct go_table *table, uint64_t address, uint64_t *ret_start,
		   const char **ret_name);
