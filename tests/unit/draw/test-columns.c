// SPDX-License-Identifier: GPL-2.0-only
/* Columns change in the order of their turns until rows fit; numbers stay whole. */
#include "tests/check.h"

#include "base/cleanup.h"
#include "draw/columns.h"

static const struct columns_column list[] = {
	{ "time", .yield = COLUMNS_SHORTENS, .turn = 1 },
	{ "lost", .right = true, .yield = COLUMNS_LEAVES, .turn = 3 },
	{ "name", .yield = COLUMNS_SHRINKS, .turn = 2, .least = 6 },
	{ "n", .right = true },
};

static void add_row(struct columns *columns, unsigned int lost, const char *name,
		    const char *remark)
{
	columns_add_brief(columns, "2026-11-18T03:12:07", "03:12:07");
	columns_add(columns, "%u", lost);
	columns_add(columns, "%s", name);
	columns_add(columns, "%u", 7u);
	columns_end_row(columns, remark);
}

static void check_table(const struct columns *columns, unsigned int wrap, const char *expected)
{
	const struct terminal terminal = { .width = 80, .wrap = wrap };
	_cleanup_(buffer_done) struct buffer text = { 0 };

	columns_put(columns, &terminal, &text);
	buffer_u8(&text, 0);
	CHECK(!buffer_failed(&text));
	CHECK_STR((char *)text.data, expected);
}

static void test_turns(void)
{
	_cleanup_(columns_done) struct columns columns = { .list = list,
							   .count = ARRAY_SIZE(list) };

	check_table(&columns, 0, "");
	add_row(&columns, 12345, "kubelet.service", NULL);
	add_row(&columns, 6, "x", "");
	check_table(&columns, 0,
		    "time                  lost  name             n\n"
		    "2026-11-18T03:12:07  12345  kubelet.service  7\n"
		    "2026-11-18T03:12:07      6  x                7\n");
	check_table(&columns, 46,
		    "time                  lost  name             n\n"
		    "2026-11-18T03:12:07  12345  kubelet.service  7\n"
		    "2026-11-18T03:12:07      6  x                7\n");
	check_table(&columns, 45,
		    "time       lost  name             n\n"
		    "03:12:07  12345  kubelet.service  7\n"
		    "03:12:07      6  x                7\n");
	check_table(&columns, 30,
		    "time       lost  name        n\n"
		    "03:12:07  12345  kube..vice  7\n"
		    "03:12:07      6  x           7\n");
	check_table(&columns, 25,
		    "time      name    n\n"
		    "03:12:07  ku..ce  7\n"
		    "03:12:07  x       7\n");
	/* no column can change any more */
	check_table(&columns, 5,
		    "time      name    n\n"
		    "03:12:07  ku..ce  7\n"
		    "03:12:07  x       7\n");
}

static void test_remarks(void)
{
	_cleanup_(columns_done) struct columns columns = { .list = list,
							   .count = ARRAY_SIZE(list),
							   .remark_title = "remark" };

	add_row(&columns, 6, "x", "killed, after a stall of 5 s");
	add_row(&columns, 6, "y", NULL);
	check_table(&columns, 0,
		    "time                 lost  name  n  remark\n"
		    "2026-11-18T03:12:07     6  x     7  killed, after a stall of 5 s\n"
		    "2026-11-18T03:12:07     6  y     7\n");
	check_table(&columns, 36,
		    "time                 lost  name  n\n"
		    "2026-11-18T03:12:07     6  x     7\n"
		    "    killed, after a stall of 5 s\n"
		    "2026-11-18T03:12:07     6  y     7\n");
	check_table(&columns, 25,
		    "time      lost  name  n\n"
		    "03:12:07     6  x     7\n"
		    "    killed,\n"
		    "    after a stall of 5 s\n"
		    "03:12:07     6  y     7\n");
}

static void test_untitled(void)
{
	static const struct columns_column untitled[] = { { .title = "" }, { .title = "" } };
	_cleanup_(columns_done) struct columns columns = { .list = untitled, .count = 2 };

	columns_add(&columns, "a");
	columns_add(&columns, "\033[2J");
	columns_end_row(&columns, NULL);
	columns_add(&columns, "bcd");
	columns_add(&columns, "%s", "");
	columns_end_row(&columns, "(a gap)");
	check_table(&columns, 0,
		    "a    ?[2J\n"
		    "bcd  (a gap)\n");
}

/* Titles are bold, and the cells of some columns have the style of their row. */
static void test_styles(void)
{
	static const struct columns_column styled[] = { { .title = "kind", .styled = true },
							{ .title = "where" } };
	const struct terminal color = { .width = 80, .wrap = 80, .color = true };
	_cleanup_(columns_done) struct columns columns = { .list = styled, .count = 2 };
	_cleanup_(buffer_done) struct buffer text = { 0 };

	columns_style_row(&columns, STYLE_ALERT);
	columns_add(&columns, "x");
	columns_add(&columns, "y");
	columns_end_row(&columns, NULL);
	columns_style_row(&columns, STYLE_ALERT);
	columns_add(&columns, "z");
	columns_add(&columns, "y");
	columns_end_row(&columns, NULL);
	columns_put(&columns, &color, &text);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, "\033[0;1mkind  where\033[0m\n"
				     "\033[0;1;38;5;196mx     \033[0my\n"
				     "z     y\n");
}

CHECK_MAIN({ "rows in colour", test_styles }, { "columns give way in their turns", test_turns },
	   { "remarks stand behind or below", test_remarks },
	   { "a table without titles has no head", test_untitled })
