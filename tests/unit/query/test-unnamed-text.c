// SPDX-License-Identifier: GPL-2.0-only
/* Why frames have no name, added up over segments, of which some may be of a newer perftape. */
#include "tests/check.h"

#include <string.h>

#include "query/coverage/unnamed-text.h"

static void check_sum(const struct unnamed_text *nameless, const char *text, const char *json_text)
{
	_cleanup_(buffer_done) struct buffer shown = { 0 }, json = { 0 };

	unnamed_text_describe(nameless, &shown);
	buffer_u8(&shown, 0);
	CHECK_STR((const char *)shown.data, text);
	unnamed_text_put_json(nameless, &json);
	buffer_u8(&json, 0);
	CHECK_STR((const char *)json.data, json_text);
}

static void test_added(void)
{
	struct unnamed_text nameless = { 0 };

	check_sum(&nameless, "", "{}");
	unnamed_text_add(&nameless, "");
	unnamed_text_add(&nameless, "12 gone before they were opened");
	unnamed_text_add(&nameless, "5 without symbols, 3 gone before they were opened");
	check_sum(&nameless, "15 gone before they were opened, 5 without symbols",
		  "{\"gone before they were opened\":15,\"without symbols\":5}");
}

static void test_what_is_odd(void)
{
	struct unnamed_text nameless = { 0 };
	char text[128] = "1 ";

	unnamed_text_add(&nameless, ", ,x 1,7,8 ,9, 10 a,-1 b,\n2 b,3 \033[2J,1  c");
	check_sum(&nameless, "10 a, 1  c", "{\"a\":10,\" c\":1}");
	memset(text + 2, 'y', 100);
	unnamed_text_add(&nameless, text);
	CHECK_EQ(nameless.count, 2);
	for (int i = 0; i < 2 * UNNAMED_TEXT_MAX; i++) {
		snprintf(text, sizeof(text), "1 why %d", i);
		unnamed_text_add(&nameless, text);
	}
	CHECK_EQ(nameless.count, UNNAMED_TEXT_MAX);
}

CHECK_MAIN({ "added", test_added }, { "what is odd", test_what_is_odd })
