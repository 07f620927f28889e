// SPDX-License-Identifier: GPL-2.0-only
/* Rules that were found last, beside a search in the tables. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/check.h"
#include "tests/unwinds.h"
#include "unwind/rule-cache.h"

#define FUNCTIONS 64

/* A table whose functions have different frames. */
struct made {
	struct unwinds_frame frame;
	struct buffer bytes;
	struct unwind_table table;
};

static void made_done(struct made *made)
{
	unwinds_frame_done(&made->frame);
	buffer_done(&made->bytes);
}

static void made_init(struct made *made, uint32_t number, unsigned int depth)
{
	*made = (struct made){ 0 };
	unwinds_common_x86_64(&made->frame);
	for (unsigned int i = 0; i < FUNCTIONS; i++)
		unwinds_function(&made->frame, 0x100 * i, 0x100,
				 UNWINDS_PROGRAM(0x0e, 8 + 8 * (i % depth)));
	unwinds_make(&made->frame, UNWIND_X86_64, &made->bytes, &made->table);
	made->table.number = number;
}

static void check_same(struct rule_cache *cache, const struct unwind_table *table, uint64_t offset)
{
	struct unwind_rule one, other;

	rule_cache_find(cache, table, offset, &one);
	unwind_table_find(table, offset, &other);
	CHECK_EQ(one.kind, other.kind);
	CHECK_EQ(one.number, other.number);
	CHECK_EQ(one.offset, other.offset);
}

/* Offsets before, in and behind the table, each twice, in two tables that take turns. */
static void check_tables(struct made *one, struct made *other)
{
	_cleanup_free_ struct rule_cache *cache = calloc(1, sizeof(*cache));

	CHECK(cache);
	for (int turn = 0; turn < 2; turn++)
		for (uint64_t offset = 0; offset < 0x20000; offset += 7) {
			check_same(cache, &one->table, offset);
			check_same(cache, &other->table, offset);
		}
	check_same(cache, &one->table, UINT64_MAX);
	check_same(cache, &one->table, 1ull << 40);
}

static void test_tables(void)
{
	_cleanup_(made_done) struct made one, other;

	made_init(&one, 1, 5);
	made_init(&other, 2, 9);
	check_tables(&one, &other);
}

static void test_without_number(void)
{
	_cleanup_(made_done) struct made one, other;

	made_init(&one, 0, 5);
	made_init(&other, 0, 9);
	check_tables(&one, &other);
}

CHECK_MAIN({ "two tables keep their rules apart", test_tables },
	   { "tables without a number are searched", test_without_number })
