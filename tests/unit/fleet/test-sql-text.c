// SPDX-License-Identifier: GPL-2.0-only
/* Values in SQL: no text can leave its quotes. */
#include "tests/check.h"

#include <errno.h>

#include "fleet/sql-text.h"

static struct buffer out;

static const char *filled(const char *statement, const struct sql_value *values, size_t count)
{
	buffer_done(&out);
	CHECK_EQ(sql_fill(statement, values, count, &out), 0);
	return buffer_shown(&out);
}

static void test_values(void)
{
	const struct sql_value values[] = { { "host", "web-1", 0 },
					    { "from", NULL, 18446744073709551615ull } };

	CHECK_STR(filled("SELECT {from:UInt64}, {host:String}", values, 2),
		  "SELECT 18446744073709551615, 'web\\x2D1'");
}

static void test_hostile(void)
{
	const struct sql_value values[] = { { "a", "'; DROP TABLE samples; --\\", 0 },
					    { "b", "{a:String}", 0 } };
	const char *text = filled("{a:String}{b:String}", values, 2);
	size_t quotes = 0;

	for (const char *at = text; *at; at++) {
		quotes += *at == '\'';
		CHECK(!strchr(";-{} \n", *at));
	}
	CHECK_EQ(quotes, 4);
	CHECK(strstr(text, "\\x27\\x3B\\x20DROP"));
	CHECK(strstr(text, "\\x5C'"));
}

static void test_all_bytes(void)
{
	char name[256];
	const struct sql_value value = { "n", name, 0 };

	for (int i = 1; i < 256; i++)
		name[i - 1] = (char)i;
	name[255] = 0;
	filled("{n:String}", &value, 1);
	for (size_t i = 1; i < out.size - 2; i++)
		CHECK(strchr("\\x0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
			     out.data[i]));
}

static void test_unknown(void)
{
	const struct sql_value values[] = { { "host", "a", 0 }, { "n", NULL, 1 } };

	buffer_done(&out);
	CHECK_EQ(sql_fill("{hos:String}", values, 2, &out), -EINVAL);
	CHECK_EQ(sql_fill("{host:UInt64}", values, 2, &out), -EINVAL);
	CHECK_EQ(sql_fill("{n:String}", values, 2, &out), -EINVAL);
	CHECK_STR(filled("a{1,2} {host} {host:} {:String}", values, 2),
		  "a{1,2} {host} {host:} {:String}");
	buffer_done(&out);
}

CHECK_MAIN({ "values stand in their places", test_values },
	   { "no text leaves its quotes", test_hostile },
	   { "each byte is a letter, a digit or encoded", test_all_bytes },
	   { "a placeholder without a value of its type is refused", test_unknown })
