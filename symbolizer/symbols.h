/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The functions of one module, sorted by address. If functions overlap, an address belongs to the
 * function with the nearest start before the address. Pure: made from bytes or an open file,
 * without clock, globals or log. A missing function is not an error.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbolizer/addresses.h"

struct symbols;

struct symbol {
	uint64_t start;
	/* The first address after the function. */
	uint64_t end;
	/* The demangled name, valid as long as the symbols. */
	const char *name;
};

struct symbols *symbols_free(struct symbols *symbols);
DEFINE_CLEANUP(symbols, struct symbols *, symbols_free)

size_t symbols_count(const struct symbols *symbols);
/*
 * Returns 1 and *ret_symbol if an address is in a function, else 0. `start` is the function's
 * start. All addresses from the given one up to `end` have the same result. Another function may
 * lie between `start` and the address.
 */
int symbols_find(const struct symbols *symbols, uint64_t address, struct symbol *ret_symbol);
/*
 * Names the unresolved addresses that are in a function. Returns 0, or the errors of
 * addresses_answer().
 */
int symbols_answer(const struct symbols *symbols, struct addresses *addresses);
/* Returns the i-th function in address order with its whole size; i < symbols_count(). */
void symbols_at(const struct symbols *symbols, size_t i, struct symbol *ret_symbol);

/*
 * To build symbols, add them in any order, then call symbols_finish() once. It sorts the symbols,
 * ends symbols without a size at their successor, and keeps the name that perf would show among
 * several at one address.
 *
 * A group is a stretch of code, such as a kernel module. A symbol without a size reaches to its
 * successor in the same group, else to the end of the next page. All symbols are in group 0, unless
 * symbols_set_group() sets another one for the following symbols.
 */
enum symbol_binding {
	SYMBOL_LOCAL,
	SYMBOL_WEAK,
	SYMBOL_GLOBAL,
};
int symbols_new(struct symbols **ret_symbols);
void symbols_set_group(struct symbols *symbols, uint32_t group);
/*
 * Adds a symbol. The name ends at its first NUL. A symbol with an empty name, such as data after
 * the last function, only ends an earlier symbol without a size. Returns 0, -ENOMEM, or -E2BIG
 * beyond 4 GB of names.
 */
int symbols_add(struct symbols *symbols, uint64_t start, uint64_t size, enum symbol_binding binding,
		const char *name, size_t name_size);
int symbols_finish(struct symbols *symbols);
