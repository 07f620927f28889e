/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The functions of one module, sorted by address. Where they overlap, an address belongs to the one
 * that starts nearest before it. Pure: made of bytes or of an open file, no clock, no globals, no
 * log. "Not found" is success with NULL.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbolizer/addresses.h"

struct symbols;

struct symbol {
	uint64_t start;
	/* the first address behind start that is not in it */
	uint64_t end;
	/* demangled; borrowed from the symbols */
	const char *name;
};

struct symbols *symbols_free(struct symbols *symbols);
DEFINE_CLEANUP(symbols, struct symbols *, symbols_free)

size_t symbols_count(const struct symbols *symbols);
/*
 * 1 and *ret_symbol when an address lies in a function, else 0. start is where the function starts,
 * end where the answer stops being the same; another function may lie between start and the
 * address.
 */
int symbols_find(const struct symbols *symbols, uint64_t address, struct symbol *ret_symbol);
/* Names what is open and lies in a function. 0, or as addresses_answer(). */
int symbols_answer(const struct symbols *symbols, struct addresses *addresses);
/* The i-th in address order, i < symbols_count(), with its whole size. */
void symbols_at(const struct symbols *symbols, size_t i, struct symbol *ret_symbol);

/*
 * Building: add in any order, then finish once. symbols_finish() sorts, ends what has no size at
 * its successor, and keeps of several names at one address the one that perf would show.
 *
 * A group is what lies together, such as a kernel module: what has no size reaches to a successor
 * of its own group, else to the end of the next page. All are in group 0 unless symbols_set_group()
 * says otherwise for those added from then on.
 */
enum symbol_binding {
	SYMBOL_LOCAL,
	SYMBOL_WEAK,
	SYMBOL_GLOBAL,
};
int symbols_new(struct symbols **ret_symbols);
void symbols_set_group(struct symbols *symbols, uint32_t group);
/*
 * 0, -ENOMEM, or -E2BIG beyond 4 GB of names. The name is cut at a NUL in it. An empty name is no
 * symbol, but ends what has no size before it, as data behind the last function does.
 */
int symbols_add(struct symbols *symbols, uint64_t start, uint64_t size, enum symbol_binding binding,
		const char *name, size_t name_size);
int symbols_finish(struct symbols *symbols);
