// SPDX-License-Identifier: GPL-2.0-only
#include "base/json.h"

#include <errno.h>

#include "base/clock.h"
#include "base/foreign.h"

#define REPLACEMENT 0xfffd

/*
 * Puts a comma before a value. Omits it if the value is the first of its object or array, follows a
 * key, or begins a line.
 */
static void json_comma(struct buffer *out)
{
	uint8_t last = out->size ? out->data[out->size - 1] : '\n';

	if (last != '{' && last != '[' && last != ':' && last != '\n')
		buffer_u8(out, ',');
}

void json_open(struct buffer *out, char bracket)
{
	json_comma(out);
	buffer_u8(out, bracket);
}

void json_close(struct buffer *out, char bracket)
{
	buffer_u8(out, bracket);
}

/*
 * Escapes a character that a terminal must not show. A JSON parser restores it. JSON writes a
 * character beyond U+FFFF as two surrogates.
 */
static void put_hidden(struct buffer *out, uint32_t code)
{
	if (code > 0xffff)
		buffer_printf(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
			      0xdc00 + (code & 0x3ff));
	else
		buffer_printf(out, "\\u%04x", code);
}

static void put_escaped(struct buffer *out, const char *text, size_t size)
{
	const uint8_t *at = (const uint8_t *)text, *end = at + size;

	while (at < end) {
		const uint8_t *plain = at;
		uint32_t code;
		size_t wide;

		while (at < end && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\')
			at++;
		buffer_bytes(out, plain, at - plain);
		if (at == end)
			break;
		wide = foreign_take((const char *)at, end - at, &code);
		if (*at == '"' || *at == '\\')
			buffer_printf(out, "\\%c", *at);
		else if (code == FOREIGN_BROKEN)
			buffer_text(out, "\xef\xbf\xbd");
		else if (foreign_is_hidden(code))
			put_hidden(out, code);
		else
			buffer_bytes(out, at, wide);
		at += wide;
	}
}

void json_text(struct buffer *out, const char *text, size_t size)
{
	json_comma(out);
	buffer_u8(out, '"');
	put_escaped(out, text, size);
	buffer_u8(out, '"');
}

void json_quote(struct buffer *out, const char *text)
{
	buffer_u8(out, '"');
	put_escaped(out, text, strlen(text));
	buffer_u8(out, '"');
}

void json_string(struct buffer *out, const char *text)
{
	json_text(out, text, strlen(text));
}

void json_key(struct buffer *out, const char *key)
{
	json_string(out, key);
	buffer_u8(out, ':');
}

void json_u64(struct buffer *out, uint64_t value)
{
	json_comma(out);
	buffer_printf(out, "%llu", (unsigned long long)value);
}

void json_i64(struct buffer *out, int64_t value)
{
	json_comma(out);
	buffer_printf(out, "%lld", (long long)value);
}

void json_bool(struct buffer *out, bool value)
{
	json_comma(out);
	buffer_text(out, value ? "true" : "false");
}

void json_null(struct buffer *out)
{
	json_comma(out);
	buffer_text(out, "null");
}

static void put_nano(struct buffer *out, uint64_t value)
{
	buffer_printf(out, "%llu", (unsigned long long)(value / 1000000000));
	value %= 1000000000;
	if (!value)
		return;
	buffer_printf(out, ".%09llu", (unsigned long long)value);
	while (!buffer_failed(out) && out->data[out->size - 1] == '0')
		out->size--;
}

void json_nano(struct buffer *out, uint64_t value)
{
	json_comma(out);
	put_nano(out, value);
}

void json_signed_nano(struct buffer *out, int64_t value)
{
	json_comma(out);
	if (value < 0)
		buffer_u8(out, '-');
	put_nano(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_time(struct buffer *out, const char *key, uint64_t realtime_ns)
{
	char shown[TIME_TEXT_SIZE];

	json_key(out, key);
	json_string(out, time_format(realtime_ns, true, 6, shown));
}

void json_time_or_null(struct buffer *out, const char *key, uint64_t realtime_ns)
{
	if (realtime_ns) {
		json_time(out, key, realtime_ns);
	} else {
		json_key(out, key);
		json_null(out);
	}
}

void json_reader_init(struct json_reader *reader, const char *text, size_t size)
{
	*reader = (struct json_reader){ .at = text, .end = text + size };
}

static bool in_object(const struct json_reader *reader)
{
	return reader->depth && !(reader->arrays >> (reader->depth - 1) & 1);
}

static void skip_blanks(struct json_reader *reader)
{
	while (reader->at < reader->end && *reader->at && strchr(" \t\r\n,", *reader->at))
		reader->at++;
}

static int json_take_bracket(struct json_reader *reader, struct json_token *token)
{
	bool array = *reader->at == '[' || *reader->at == ']';

	token->text = reader->at;
	token->size = 1;
	if (*reader->at == '{' || *reader->at == '[') {
		if (reader->depth == JSON_DEPTH_MAX || (in_object(reader) && !reader->after_key))
			return -EBADMSG;
		token->type = JSON_OPEN;
		reader->arrays &= ~(1ull << reader->depth);
		reader->arrays |= (uint64_t)array << reader->depth++;
	} else {
		if (!reader->depth || in_object(reader) == array)
			return -EBADMSG;
		token->type = JSON_CLOSE;
		reader->depth--;
	}
	reader->after_key = false;
	reader->at++;
	return 1;
}

/* Reads a string. In the place of a key, a colon must follow the string. */
static int json_take_string(struct json_reader *reader, struct json_token *token)
{
	const char *at = reader->at + 1;

	token->text = at;
	while (at < reader->end && *at != '"')
		at += *at == '\\' && at + 1 < reader->end ? 2 : 1;
	token->size = at - token->text;
	token->truncated = at >= reader->end;
	token->type = in_object(reader) && !reader->after_key ? JSON_KEY : JSON_STRING;
	reader->at = at + !token->truncated;
	reader->after_key = false;
	if (token->type == JSON_STRING)
		return 1;
	skip_blanks(reader);
	if (reader->at < reader->end && *reader->at != ':')
		return -EBADMSG;
	reader->at += reader->at < reader->end;
	reader->after_key = true;
	return 1;
}

static int json_take_other(struct json_reader *reader, struct json_token *token)
{
	const char *at = reader->at;

	while (at < reader->end && ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
				    *at == '-' || *at == '+' || *at == '.' || *at == 'E'))
		at++;
	if (at == reader->at || (in_object(reader) && !reader->after_key))
		return -EBADMSG;
	token->type = JSON_OTHER;
	token->text = reader->at;
	token->size = at - reader->at;
	token->truncated = at == reader->end && reader->depth;
	reader->at = at;
	reader->after_key = false;
	return 1;
}

int json_next(struct json_reader *reader, struct json_token *ret_token)
{
	struct json_token token = { 0 };
	int r;

	skip_blanks(reader);
	if (reader->at == reader->end)
		return 0;
	if (strchr("{}[]", *reader->at) && *reader->at)
		r = json_take_bracket(reader, &token);
	else
		r = *reader->at == '"' ? json_take_string(reader, &token)
				       : json_take_other(reader, &token);
	if (r == 1)
		*ret_token = token;
	return r;
}

static void put_utf8(struct buffer *out, uint32_t code)
{
	if (code < 0x80) {
		buffer_u8(out, code);
	} else if (code < 0x800) {
		buffer_u8(out, 0xc0 | code >> 6);
		buffer_u8(out, 0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		buffer_u8(out, 0xe0 | code >> 12);
		buffer_u8(out, 0x80 | (code >> 6 & 0x3f));
		buffer_u8(out, 0x80 | (code & 0x3f));
	} else {
		buffer_u8(out, 0xf0 | code >> 18);
		buffer_u8(out, 0x80 | (code >> 12 & 0x3f));
		buffer_u8(out, 0x80 | (code >> 6 & 0x3f));
		buffer_u8(out, 0x80 | (code & 0x3f));
	}
}

/* Reads the four digits after \u. If there are fewer, reads these and returns REPLACEMENT. */
static uint32_t take_hex(const char **at, const char *end)
{
	uint32_t code = 0;

	for (int i = 0; i < 4; i++, (*at)++) {
		char c = *at < end ? **at : 0, letter = c | 0x20;

		if (c >= '0' && c <= '9')
			code = code << 4 | (c - '0');
		else if (letter >= 'a' && letter <= 'f')
			code = code << 4 | (letter - 'a' + 10);
		else
			return REPLACEMENT;
	}
	return code;
}

static void put_unicode(struct buffer *out, const char **at, const char *end)
{
	uint32_t code = take_hex(at, end);

	if (code >= 0xd800 && code < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' &&
	    (*at)[1] == 'u') {
		const char *second = *at + 2;
		uint32_t low = take_hex(&second, end);

		if (low >= 0xdc00 && low < 0xe000) {
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
			*at = second;
		}
	}
	put_utf8(out, code >= 0xd800 && code < 0xe000 ? REPLACEMENT : code);
}

void json_unescape(const struct json_token *token, struct buffer *out)
{
	static const char letters[] = "bfnrt\"\\/", decoded[] = "\b\f\n\r\t\"\\/";
	const char *at = token->text, *end = at + token->size;

	while (at < end) {
		const char *plain = at, *letter;

		at = memchr(at, '\\', end - at);
		at = at ? at : end;
		buffer_bytes(out, plain, at - plain);
		if (at == end || ++at == end)
			break;
		letter = *at ? strchr(letters, *at) : NULL;
		if (letter) {
			buffer_u8(out, decoded[letter - letters]);
			at++;
		} else if (*at == 'u') {
			at++;
			put_unicode(out, &at, end);
		} else {
			put_utf8(out, REPLACEMENT);
			at++;
		}
	}
}

bool json_is(const struct json_token *token, const char *text)
{
	return strlen(text) == token->size && memcmp(token->text, text, token->size) == 0;
}
