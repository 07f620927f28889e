// SPDX-License-Identifier: GPL-2.0-only
/*
 * The symbols that the prefilter keeps must give the same answers as all symbols, however they
 * overlap.
 */
#include "tests/check.h"

#include <errno.h>
#include <stdint.h>

#include "symbolizer/symbol-prefilter.h"
#include "symbolizer/symbols.h"

enum { COUNT = 300, SPACE = 20000 };

struct given {
	uint64_t start;
	uint64_t size;
	enum symbol_binding binding;
	char name[16];
};

static uint64_t random_state = 7;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

/* Labels, functions, nested functions, several symbols at one address, and ends without a name. */
static void make_given(struct given *given)
{
	for (size_t i = 0; i < COUNT; i++) {
		given[i] = (struct given){ next_random(SPACE), next_random(3) * next_random(300),
					   next_random(3), "" };
		if (i && next_random(4) == 0)
			given[i].start = given[i - 1].start;
		if (next_random(8))
			snprintf(given[i].name, sizeof(given[i].name), "f%03zu", i);
	}
}

static struct symbols *make_symbols(const struct given *given,
				    const struct symbol_prefilter *prefilter)
{
	struct symbols *symbols = NULL;

	CHECK_EQ(symbols_new(&symbols), 0);
	for (size_t i = 0; i < COUNT; i++)
		if (!prefilter || symbol_prefilter_keeps(prefilter, given[i].start))
			CHECK_EQ(symbols_add(symbols, given[i].start, given[i].size,
					     given[i].binding, given[i].name,
					     strlen(given[i].name)),
				 0);
	CHECK_EQ(symbols_finish(symbols), 0);
	return symbols;
}

static void check_same(const struct symbols *few, const struct symbols *all, uint64_t address)
{
	struct symbol one = { .name = "" }, other = { .name = "" };

	CHECK_EQ(symbols_find(few, address, &one), symbols_find(all, address, &other));
	CHECK_STR(one.name, other.name);
	CHECK_EQ(one.start, other.start);
}

static void check_wanted(const struct given *given, const struct symbols *all, size_t wanted_count)
{
	_cleanup_(cleanup_symbols) struct symbols *few = NULL;
	_cleanup_(symbol_prefilter_done) struct symbol_prefilter prefilter = { 0 };
	_cleanup_(addresses_done) struct addresses addresses = { 0 };

	for (size_t i = 0; i < wanted_count; i++)
		CHECK_EQ(addresses_add(&addresses, next_random(SPACE + 10000)), 0);
	addresses_sort(&addresses);
	CHECK_EQ(symbol_prefilter_init(&prefilter, &addresses), 0);
	for (size_t i = 0; i < COUNT; i++)
		symbol_prefilter_note(&prefilter, given[i].start, given[i].size);
	CHECK_EQ(symbol_prefilter_sort(&prefilter), 0);
	few = make_symbols(given, &prefilter);
	for (size_t i = 0; i < addresses.list.count; i++)
		check_same(few, all, addresses.list.items[i].address);
}

static void test_as_the_whole(void)
{
	static const size_t counts[] = { 0, 1, 2, 5, 30, 400 };

	for (int round = 0; round < 200; round++) {
		_cleanup_(cleanup_symbols) struct symbols *all = NULL;
		struct given given[COUNT];

		make_given(given);
		all = make_symbols(given, NULL);
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
			check_wanted(given, all, counts[i]);
	}
}

/* The number of symbols that the prefilter keeps depends on the number of addresses. */
static void test_few(void)
{
	_cleanup_(symbol_prefilter_done) struct symbol_prefilter prefilter = { 0 };
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	size_t kept = 0;

	CHECK_EQ(addresses_add(&addresses, 5005), 0);
	CHECK_EQ(symbol_prefilter_init(&prefilter, &addresses), 0);
	for (uint64_t start = 0; start < 100000; start += 10)
		symbol_prefilter_note(&prefilter, start, 10);
	CHECK_EQ(symbol_prefilter_sort(&prefilter), 0);
	for (uint64_t start = 0; start < 100000; start += 10)
		kept += symbol_prefilter_keeps(&prefilter, start);
	CHECK_EQ(kept, 2);
	CHECK(symbol_prefilter_keeps(&prefilter, 5000));
}

static void test_addresses(void)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	struct address *found;

	for (uint64_t address = 50; address; address -= 10)
		CHECK_EQ(addresses_add(&addresses, address), 0);
	addresses_sort(&addresses);
	CHECK_EQ(addresses.open, 5);
	CHECK_EQ(addresses_answer(&addresses, 1, 15, "twenty"), 0);
	/* an address that already has a name is not searched again */
	CHECK_EQ(addresses_add(&addresses, 20), 0);
	addresses_sort(&addresses);
	CHECK_EQ(addresses.list.count, 5);
	CHECK_EQ(addresses.open, 4);
	addresses_close(&addresses);
	CHECK_EQ(addresses.open, 0);
	found = addresses_find(&addresses, 20);
	CHECK_STR(addresses_name(&addresses, found), "twenty");
	CHECK_EQ(found->start, 15);
	CHECK_EQ(addresses_find(&addresses, 30)->state, ADDRESSES_UNNAMED);
	CHECK(!addresses_find(&addresses, 21));
	found->used = true;
	CHECK_EQ(addresses_shrink(&addresses), 0);
	CHECK_EQ(addresses.list.count, 1);
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 20)), "twenty");
}

CHECK_MAIN({ "kept symbols give the same answers as all", test_as_the_whole },
	   { "few addresses keep few symbols", test_few },
	   { "sorted addresses have no duplicates", test_addresses })
