// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reasons why frames of a window lack names, added up over segments. Some segments come from an
 * older or newer perftape.
 */
#include "tests/tapes.h"

#include "query/coverage/unnamed-text.h"

#define MODULES 4

static struct tape *tape_of(const char *totals)
{
	struct tape *tape = tapes_bare(0, NSEC_PER_SEC);
	static const char *const paths[MODULES] = { "", "/bin/a", "/bin/b", "/bin/c" };

	for (uint32_t i = 1, id; i < MODULES; i++) {
		struct tape_module module = { .path = tapes_string(tape, paths[i]),
					      .kind = TAPE_MODULE_ELF };

		CHECK_EQ(tape_add_module(tape, &module, &id), 0);
		CHECK_EQ(id, i);
	}
	CHECK_EQ(tape_add_fact(tape, "unnamed", totals), 0);
	return tape;
}

static void add(struct unnamed_text *unnamed, const struct tape *tape, uint64_t a, uint64_t b,
		uint64_t c, uint64_t d)
{
	const uint64_t frames[MODULES] = { a, b, c, d };

	CHECK_EQ(unnamed_text_add(unnamed, tape, frames), 0);
}

static void check_sum(const struct unnamed_text *unnamed, const char *text, const char *json_text)
{
	_cleanup_(buffer_done) struct buffer shown = { 0 }, json = { 0 };

	unnamed_text_describe(unnamed, &shown);
	buffer_u8(&shown, 0);
	CHECK_STR((const char *)shown.data, text);
	unnamed_text_put_json(unnamed, &json);
	buffer_u8(&json, 0);
	CHECK_STR((const char *)json.data, json_text);
}

static void test_by_module(void)
{
	_cleanup_(cleanup_tape) struct tape *tape =
		tape_of("900 without symbols, 500 made at run time, 7 in no known mapping");
	struct unnamed_text unnamed = { 0 }, sum = { 0 };

	check_sum(&unnamed, "", "{}");
	CHECK_EQ(tape_add_fact(tape, "unnamed without symbols", "/bin/a"), 0);
	CHECK_EQ(tape_add_fact(tape, "unnamed made at run time", "/bin/b"), 0);
	add(&unnamed, tape, 1, 2, 3, 0);
	check_sum(&unnamed, "1 in no known mapping, 2 without symbols, 3 made at run time",
		  "{\"in no known mapping\":1,\"without symbols\":2,\"made at run time\":3}");
	add(&unnamed, tape, 0, 10, 0, 4);
	unnamed_text_merge(&sum, &unnamed);
	unnamed_text_merge(&sum, &unnamed);
	check_sum(&sum,
		  "2 in no known mapping, 24 without symbols, 6 made at run time, 8 for another "
		  "reason",
		  "{\"in no known mapping\":2,\"without symbols\":24,\"made at run time\":6,"
		  "\"for another reason\":8}");
}

static void test_older(void)
{
	_cleanup_(cleanup_tape) struct tape *one =
		tape_of("900 without symbols, 7 in no known mapping");
	_cleanup_(cleanup_tape) struct tape *several =
		tape_of("900 without symbols, 5 of files that changed");
	struct unnamed_text unnamed = { 0 };

	add(&unnamed, one, 1, 2, 3, 4);
	check_sum(&unnamed, "1 in no known mapping, 9 without symbols",
		  "{\"in no known mapping\":1,\"without symbols\":9}");
	add(&unnamed, several, 1, 2, 3, 4);
	check_sum(&unnamed, "2 in no known mapping, 9 without symbols, 9 for another reason",
		  "{\"in no known mapping\":2,\"without symbols\":9,\"for another reason\":9}");
}

static void test_what_is_odd(void)
{
	static const char *const totals[] = { "",     ", ,x 1,7,8 ,9, 10 ", "2 \033[2J",
					      "-1 b", "3 a, 4 b",	    "5" };
	_cleanup_(cleanup_tape) struct tape *many = tape_of("");
	struct unnamed_text unnamed = { 0 };
	char key[128] = "unnamed ";
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		_cleanup_(cleanup_tape) struct tape *tape = tape_of(totals[i]);

		add(&unnamed, tape, 0, 1, 0, 0);
	}
	check_sum(&unnamed, "6 for another reason", "{\"for another reason\":6}");
	memset(key + 8, 'y', 100);
	CHECK_EQ(tape_add_fact(many, key, "/bin/a"), 0);
	CHECK_EQ(tape_add_fact(many, "unnamed \033[2J", "/bin/b"), 0);
	add(&unnamed, many, 0, 1, 1, 0);
	CHECK_EQ(unnamed.count, 1);
	for (int i = 0; i < 2 * UNNAMED_TEXT_MAX; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = tape_of("");

		snprintf(key, sizeof(key), "unnamed why %d", i);
		CHECK_EQ(tape_add_fact(tape, key, "/bin/c"), 0);
		add(&unnamed, tape, 0, 0, 0, 1);
	}
	CHECK_EQ(unnamed.count, UNNAMED_TEXT_MAX);
	for (size_t i = 0; i < unnamed.count; i++)
		sum += unnamed.items[i].frames;
	CHECK_EQ(sum, 8 + 2 * UNNAMED_TEXT_MAX);
}

CHECK_MAIN({ "the reason of each module counts the window's frames", test_by_module },
	   { "older segments have only sums by reason", test_older },
	   { "odd texts count as another reason", test_what_is_odd })
