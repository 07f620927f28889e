/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The function table that a Go program carries to print its own stacks (.gopclntab, from Go 1.2
 * on): the start and the name of every function. Programs linked with -s -w keep it. A pure
 * decoder: it does not trust the bytes and never reads beyond its source.
 *
 *         Go 1.2                Go 1.16                     Go 1.18, 1.20 and later
 *     0   magic u32, two zeros, size of an instruction u8, size of a word u8
 *     8   functions             functions, files            functions, files
 *         then the table of     offsets of names, units,    start of the text, offsets of
 *         functions             files, counters,            names, units, files, counters,
 *                               functions                   functions
 *
 * The function table has two numbers for each function: its start and the offset of its details;
 * then the end of the last function. In the formats of Go 1.2 and 1.16, both numbers are words.
 * Later they have 32 bits, and starts are relative to the start of the text. The details begin with
 * the start again, and the offset of the name in 32 bits.
 */

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/file-window.h"

#define GO_HEADER_MAX 72

struct go_table {
	/* The function table. */
	struct window functions;
	struct window details;
	struct window names;
	/* The number of functions. */
	uint64_t count;
	/* The address to which starts are relative. */
	uint64_t text;
	/* The size of a start in the function table: 4 or 8. */
	uint8_t start_size;
	/* The size of a start in a function's details. */
	uint8_t entry_size;
	bool relative;
};

/*
 * Returns true if a source begins with such a table; then the caller calls go_table_done(). From Go
 * 1.26 on, tables do not state the text's start: table->text is 0, and the caller sets it.
 */
bool go_table_open(struct go_table *table, const struct file_window *source);
void go_table_done(struct go_table *table);
/*
 * Finds the start and the name of the function at an address; the name is valid until the next
 * call. Returns false if the function is unknown.
 */
bool go_table_find(struct go_table *table, uint64_t address, uint64_t *ret_start,
		   const char **ret_name);
