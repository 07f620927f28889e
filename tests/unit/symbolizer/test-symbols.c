// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbolizer/symbols.h"
#include "symbolizer/work-limit.h"

struct given {
	uint64_t start;
	uint64_t size;
	enum symbol_binding binding;
	const char *name;
};

static struct symbols *make(const struct given *given, size_t count)
{
	struct symbols *symbols = NULL;

	CHECK_EQ(symbols_new(&symbols), 0);
	for (size_t i = 0; i < count; i++)
		CHECK_EQ(symbols_add(symbols, given[i].start, given[i].size, given[i].binding,
				     given[i].name, strlen(given[i].name)),
			 0);
	CHECK_EQ(symbols_finish(symbols), 0);
	return symbols;
}

#define MAKE(...)                                   \
	make((const struct given[]){ __VA_ARGS__ }, \
	     ARRAY_SIZE(((const struct given[]){ __VA_ARGS__ })))

/* Returns the name at an address, or "". */
static const char *name_at(const struct symbols *symbols, uint64_t address)
{
	struct symbol symbol;

	return symbols_find(symbols, address, &symbol) ? symbol.name : "";
}

static void test_empty(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = make(NULL, 0);

	CHECK_EQ(symbols_count(symbols), 0);
	CHECK_STR(name_at(symbols, 0), "");
	CHECK_STR(name_at(symbols, UINT64_MAX), "");
	CHECK(!symbols_free(NULL));
}

static void test_edges(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = MAKE(
		{ 0x200, 0x10, SYMBOL_GLOBAL, "second" }, { 0x100, 0x10, SYMBOL_GLOBAL, "first" });
	struct symbol symbol;

	CHECK_EQ(symbols_count(symbols), 2);
	CHECK_STR(name_at(symbols, 0xff), "");
	CHECK_STR(name_at(symbols, 0x100), "first");
	CHECK_STR(name_at(symbols, 0x10f), "first");
	CHECK_STR(name_at(symbols, 0x110), "");
	CHECK_STR(name_at(symbols, 0x1ff), "");
	CHECK_STR(name_at(symbols, 0x200), "second");
	CHECK_STR(name_at(symbols, 0x210), "");
	symbols_at(symbols, 1, &symbol);
	CHECK_EQ(symbol.start, 0x200);
	CHECK_EQ(symbol.end, 0x210);
}

static void test_without_size(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols =
		MAKE({ 0x1100, 0, SYMBOL_LOCAL, "label" }, { 0x1234, 0, SYMBOL_LOCAL, "last" });

	CHECK_STR(name_at(symbols, 0x1233), "label");
	CHECK_STR(name_at(symbols, 0x1234), "last");
	/* the symbol reaches to the end of the page after its own */
	CHECK_STR(name_at(symbols, 0x2fff), "last");
	CHECK_STR(name_at(symbols, 0x3000), "");
}

static void test_huge(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols =
		MAKE({ 0x1000, UINT64_MAX, SYMBOL_LOCAL, "huge" },
		     { UINT64_MAX - 0x10, 0x100, SYMBOL_LOCAL, "wraps" },
		     { UINT64_MAX - 0x08, 0, SYMBOL_LOCAL, "end of the world" });
	struct symbol symbol;

	CHECK_EQ(symbols_find(symbols, 0x2000, &symbol), 1);
	CHECK_EQ(symbol.end, 0x1000 + (uint64_t)UINT32_MAX);
	CHECK_STR(name_at(symbols, UINT64_MAX - 0x0a), "wraps");
	CHECK_STR(name_at(symbols, 0x1000 + (1ull << 33)), "");
}

static void test_nested(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = MAKE(
		{ 0x100, 0x100, SYMBOL_GLOBAL, "outer" }, { 0x120, 0x40, SYMBOL_LOCAL, "middle" },
		{ 0x130, 0x10, SYMBOL_LOCAL, "inner" }, { 0x150, 0x100, SYMBOL_LOCAL, "across" });
	struct symbol symbol;

	CHECK_STR(name_at(symbols, 0x11f), "outer");
	CHECK_STR(name_at(symbols, 0x120), "middle");
	CHECK_STR(name_at(symbols, 0x13f), "inner");
	CHECK_STR(name_at(symbols, 0x140), "middle");
	CHECK_STR(name_at(symbols, 0x150), "across");
	CHECK_STR(name_at(symbols, 0x1ff), "across");
	CHECK_STR(name_at(symbols, 0x250), "");
	/* the answer for 0x145 is valid until the next symbol begins */
	CHECK_EQ(symbols_find(symbols, 0x145, &symbol), 1);
	CHECK_EQ(symbol.start, 0x120);
	CHECK_EQ(symbol.end, 0x150);
}

static void test_deep(void)
{
	struct given given[200];
	struct symbols *symbols;

	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		given[i] = (struct given){ i, 1000 - 2 * i, SYMBOL_LOCAL, "deep" };
	symbols = make(given, ARRAY_SIZE(given));
	CHECK_STR(name_at(symbols, 600), "deep");
	/* limited: an absurd table costs names, not time */
	CHECK_STR(name_at(symbols, 990), "");
	symbols_free(symbols);
}

/* Checks which of two symbols at one address wins, in both orders. */
static void check_best(struct given good, struct given bad)
{
	struct symbols *a = MAKE(good, bad), *b = MAKE(bad, good);

	CHECK_EQ(symbols_count(a), 1);
	CHECK_STR(name_at(a, good.start), good.name);
	CHECK_STR(name_at(b, good.start), good.name);
	symbols_free(a);
	symbols_free(b);
}

static void test_aliases(void)
{
	check_best((struct given){ 1, 8, SYMBOL_LOCAL, "local" },
		   (struct given){ 1, 8, SYMBOL_WEAK, "weak_and_long" });
	check_best((struct given){ 1, 8, SYMBOL_GLOBAL, "__global" },
		   (struct given){ 1, 8, SYMBOL_LOCAL, "local_and_long" });
	check_best((struct given){ 1, 8, SYMBOL_GLOBAL, "_open" },
		   (struct given){ 1, 8, SYMBOL_GLOBAL, "__libc_open" });
	check_best((struct given){ 1, 8, SYMBOL_GLOBAL, "open64" },
		   (struct given){ 1, 8, SYMBOL_GLOBAL, "open" });
}

/*
 * Among several labels without a size, only the last label gets a size. symbols_finish() does this
 * before it compares names.
 */
static void test_labels_at_one_address(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = MAKE(
		{ 0x10, 0, SYMBOL_GLOBAL, "first_and_long" }, { 0x10, 0, SYMBOL_WEAK, "__last" },
		{ 0x20, 0, SYMBOL_GLOBAL, "label" }, { 0x20, 1, SYMBOL_LOCAL, "__sized" });

	CHECK_STR(name_at(symbols, 0x1f), "__last");
	CHECK_STR(name_at(symbols, 0x20), "__sized");
	CHECK_STR(name_at(symbols, 0x21), "");
}

static void test_markers(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols =
		MAKE({ 0x10, 0, SYMBOL_LOCAL, "label" }, { 0x18, 0, SYMBOL_GLOBAL, "" },
		     { 0x20, 4, SYMBOL_WEAK, "function" }, { 0x20, 0, SYMBOL_GLOBAL, "" });

	CHECK_EQ(symbols_count(symbols), 2);
	CHECK_STR(name_at(symbols, 0x17), "label");
	CHECK_STR(name_at(symbols, 0x18), "");
	CHECK_STR(name_at(symbols, 0x20), "function");
}

static void test_groups(void)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = NULL;

	CHECK_EQ(symbols_new(&symbols), 0);
	CHECK_EQ(symbols_add(symbols, 0x1000, 0, SYMBOL_LOCAL, "kernel", 6), 0);
	symbols_set_group(symbols, 1);
	CHECK_EQ(symbols_add(symbols, 0x100000, 0, SYMBOL_LOCAL, "module", 6), 0);
	CHECK_EQ(symbols_add(symbols, 0x100800, 0, SYMBOL_LOCAL, "module two", 6), 0);
	CHECK_EQ(symbols_finish(symbols), 0);
	CHECK_STR(name_at(symbols, 0x1fff), "kernel");
	CHECK_STR(name_at(symbols, 0x2000), "");
	CHECK_STR(name_at(symbols, 0x1007ff), "module");
	CHECK_STR(name_at(symbols, 0x101fff), "module");
	CHECK_STR(name_at(symbols, 0x102000), "");
}

/* Compares the answers with a plain walk over all symbols. */
static void test_against_model(void)
{
	enum { COUNT = 200, SPACE = 2000 };
	struct given given[COUNT];
	char names[COUNT][16];
	struct symbols *symbols;
	uint64_t state = 11;

	for (size_t i = 0; i < COUNT; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		snprintf(names[i], sizeof(names[i]), "f%04zu", i);
		given[i] = (struct given){ (state >> 33) % SPACE, 1 + (state >> 50) % 40,
					   SYMBOL_LOCAL, names[i] };
	}
	symbols = make(given, COUNT);
	for (uint64_t address = 0; address < SPACE + 100; address++) {
		const struct given *best = NULL;

		for (size_t i = 0; i < COUNT; i++) {
			bool in = address >= given[i].start &&
				  address < given[i].start + given[i].size;
			bool shadowed = false;

			/*
			 * if the symbols differ only in their order, the first one at an address
			 * stays
			 */
			for (size_t j = 0; j < i; j++)
				shadowed |= given[j].start == given[i].start;
			if (in && !shadowed && (!best || given[i].start > best->start))
				best = &given[i];
		}
		CHECK_STR(name_at(symbols, address), best ? best->name : "");
	}
	symbols_free(symbols);
}

/* A file gets more work for more addresses, but not without a bound. */
static void test_work_limit(void)
{
	struct work_limit one = work_limit_for_names(1), many = work_limit_for_names(1 << 20);

	CHECK(many.left > one.left && many.left < one.left << 16);
	CHECK(work_spend(&one, one.left - 1) && one.left == 1);
	CHECK(!work_spend(&one, 2) && one.left == 0);
	CHECK(work_spend(NULL, UINT64_MAX));
}

CHECK_MAIN({ "an empty table", test_empty }, { "symbols end at their edges", test_edges },
	   { "symbols without a size reach to the next", test_without_size },
	   { "a huge symbol", test_huge }, { "nested symbols", test_nested },
	   { "deeply nested symbols are bounded", test_deep },
	   { "of aliases the best is taken", test_aliases },
	   { "labels at one address", test_labels_at_one_address },
	   { "markers end the symbol before", test_markers }, { "groups of symbols", test_groups },
	   { "answers agree with a plain walk", test_against_model },
	   { "the work for a file is bounded", test_work_limit })
