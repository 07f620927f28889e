// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>

#include "base/json.h"

static const char *text_of(struct buffer *out)
{
	buffer_u8(out, 0);
	return (const char *)out->data;
}

static void test_written(void)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };

	json_open(&out, '{');
	json_key(&out, "a");
	json_u64(&out, 1);
	json_key(&out, "b");
	json_open(&out, '[');
	json_i64(&out, -2);
	json_bool(&out, true);
	json_null(&out);
	json_string(&out, "[");
	json_string(&out, "x");
	json_close(&out, ']');
	json_key(&out, "c");
	json_open(&out, '{');
	json_close(&out, '}');
	json_key(&out, "d");
	json_nano(&out, 1371911339996000);
	json_key(&out, "e");
	json_nano(&out, 120000000000);
	json_close(&out, '}');
	CHECK_STR(text_of(&out), "{\"a\":1,\"b\":[-2,true,null,\"[\",\"x\"],\"c\":{},"
				 "\"d\":1371911.339996,\"e\":120}");
}

static void test_times(void)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };

	json_open(&out, '{');
	json_time(&out, "a", 1371911339996000000);
	json_time_or_null(&out, "b", 0);
	json_time_or_null(&out, "c", 1000);
	json_close(&out, '}');
	CHECK_STR(text_of(&out), "{\"a\":\"2013-06-22T14:28:59.996000Z\",\"b\":null,"
				 "\"c\":\"1970-01-01T00:00:00.000001Z\"}");
}

static void test_escaped(void)
{
	static const struct {
		const char *text, *written;
	} rows[] = {
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "a\xffz\xc3", "\"a\xef\xbf\xbdz\xef\xbf\xbd\"" },
		{ "\xef\xbb\xbf"
		  "a\xe2\x80\xae\xf3\xa0\x81\x81",
		  "\"\\ufeffa\\u202e\\udb40\\udc41\"" },
		{ "\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done) struct buffer out = { 0 };

		json_string(&out, rows[i].text);
		CHECK_STR(text_of(&out), rows[i].written);
	}
}

/*
 * Shows tokens in short: brackets as such, k: and s: with the text of keys and strings, o: for
 * other values, ! for truncated text, # for text that is not JSON.
 */
static const char *tokens_of(const char *text, struct buffer *out)
{
	struct json_reader reader;
	struct json_token token;
	int r;

	json_reader_init(&reader, text, strlen(text));
	while ((r = json_next(&reader, &token)) == 1) {
		if (out->size)
			buffer_u8(out, ' ');
		if (token.type >= JSON_KEY)
			buffer_printf(out, "%c:", "kso"[token.type - JSON_KEY]);
		if (token.type == JSON_KEY || token.type == JSON_STRING)
			json_unescape(&token, out);
		else
			buffer_bytes(out, token.text, token.size);
		if (token.truncated)
			buffer_u8(out, '!');
	}
	if (r == -EBADMSG)
		buffer_u8(out, '#');
	return text_of(out);
}

static void test_read(void)
{
	static const struct {
		const char *text, *tokens;
	} rows[] = {
		{ "{\"a\":1,\"b\":[\"x\",null,-2.5e+3],\"c\":{}}",
		  "{ k:a o:1 k:b [ s:x o:null o:-2.5e+3 ] k:c { } }" },
		{ " { \"a\" : \"b\" } ", "{ k:a s:b }" },
		{ "{\"a\":\"x\\n\\u0041\\ud83d\\ude00\\/\"}", "{ k:a s:x\nA\xf0\x9f\x98\x80/ }" },
		{ "{\"a\":\"\\u00e\x14.\"}", "{ k:a s:\xef\xbf\xbd\x14. }" },
		{ "{\"a\":\"\\u00E4\"}", "{ k:a s:\xc3\xa4 }" },
		{ "{\"a\":\"\\ud800x\\q\"}", "{ k:a s:\xef\xbf\xbdx\xef\xbf\xbd }" },
		{ "{\"a\":\"bc", "{ k:a s:bc!" },
		{ "{\"a\":12", "{ k:a o:12!" },
		{ "{\"a", "{ k:a!" },
		{ "{\"a\":\"b\\", "{ k:a s:b!" },
		{ "{1}", "{#" },
		{ "{\"a\" 1}", "{#" },
		{ "[1}", "[ o:1#" },
		{ "]", "#" },
		{ "{\"a\":1}{\"b\":2}", "{ k:a o:1 } { k:b o:2 }" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done) struct buffer out = { 0 };

		CHECK_STR(tokens_of(rows[i].text, &out), rows[i].tokens);
	}
}

static void test_deep(void)
{
	char deep[JSON_DEPTH_MAX + 2] = { 0 };
	struct json_reader reader;
	struct json_token token;

	memset(deep, '[', JSON_DEPTH_MAX + 1);
	json_reader_init(&reader, deep, strlen(deep));
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		CHECK_EQ(json_next(&reader, &token), 1);
	CHECK_EQ(json_next(&reader, &token), -EBADMSG);
}

CHECK_MAIN({ "values are written with their commas", test_written },
	   { "times are written in UTC, unknown ones as null", test_times },
	   { "written text is escaped UTF-8", test_escaped },
	   { "tokens are read, also from truncated text", test_read },
	   { "deep nesting is refused", test_deep })
