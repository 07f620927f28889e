/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The functions of one module, sorted by address, each address in at most one of them. Pure: made of bytes or of an open
 * file, no clock, no globals, no log. "Not found" is success with NULL.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct symbols;

struct symbol {
	uint64_t start;
	uint64_t end; /* the first address that is not in it */
	const char *name; /* demangled; borrowed from the symbols */
};

struct symbols *symbols_free(struct symbols *symbols);
DEFINE_CLEANUP(symbols, struct symbols *, symbols_free)

size_t symbols_count(const struct symbols *symbols);
/* 1 and *ret_symbol when an address lies in a function, else 0. */
int symbols_find(const struct symbols *symbols, uint64_t address, struct symbol *ret_symbol);
/* The i-th in address order, i < symbols_count(). */
void symbols_at(const struct symbols *symbols, size_t i, struct symbol *ret_symbol);

/*
 * Building: add in any order, then finish once. symbols_finish() sorts, keeps of several names at one address the one that
 * perf would show, ends what has no size (end 0) at its successor, and cuts what overlaps its successor.
 */
enum symbol_binding {
	SYMBOL_LOCAL,
	SYMBOL_WEAK,
	SYMBOL_GLOBAL,
};
int symbols_new(struct symbols **ret_symbols);
int symbols_add(struct symbols *symbols, uint64_t start, uint64_t size, enum symbol_binding binding,
	const char *name, size_t name_size);
int symbols_finish(struct symbols *symbols);
