/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes and reads JSON.
 *
 * Writing: each function appends a value to a buffer, with a comma if the last byte requires one.
 * U+FFFD replaces each byte that is not UTF-8, so the output is always valid JSON.
 *
 * Reading: a tokenizer for bytes from outside. It does not allocate, stores only the nesting, and
 * accepts truncated text, because logs are truncated anywhere.
 */

#include "base/bytes.h"

void json_open(struct buffer *out, char bracket);
void json_close(struct buffer *out, char bracket);
void json_key(struct buffer *out, const char *key);
void json_text(struct buffer *out, const char *text, size_t size);
void json_string(struct buffer *out, const char *text);
/*
 * Puts a quoted string without a comma. Use it for texts that are not JSON and only quote like
 * JSON.
 */
void json_quote(struct buffer *out, const char *text);
void json_u64(struct buffer *out, uint64_t value);
void json_i64(struct buffer *out, int64_t value);
void json_bool(struct buffer *out, bool value);
void json_null(struct buffer *out);
/* Writes a number of billionths as a decimal number: 1371911339996000 as 1371911.339996. */
void json_nano(struct buffer *out, uint64_t value);
/* The same for a number that may be negative. */
void json_signed_nano(struct buffer *out, int64_t value);
/* Writes a key and a time in UTC with microseconds. json_time_or_null() writes null for 0. */
void json_time(struct buffer *out, const char *key, uint64_t realtime_ns);
void json_time_or_null(struct buffer *out, const char *key, uint64_t realtime_ns);

#define JSON_DEPTH_MAX 64

enum json_type {
	/* { or [; text[0] is this character. */
	JSON_OPEN,
	/* } or ]. */
	JSON_CLOSE,
	JSON_KEY,
	JSON_STRING,
	/* A number, true, false or null. */
	JSON_OTHER,
};

struct json_token {
	enum json_type type;
	/* Keys and strings: the text between the quotes, with its escapes. */
	const char *text;
	size_t size;
	/* The text ended before the end of the token. */
	bool truncated;
};

struct json_reader {
	const char *at, *end;
	unsigned int depth;
	/* A bit for each depth: 1 for an array, 0 for an object. */
	uint64_t arrays;
	bool after_key;
};

void json_reader_init(struct json_reader *reader, const char *text, size_t size);
/*
 * Returns 1 with a token, 0 at the end, or -EBADMSG if the next bytes are not JSON. A token is
 * valid as long as the text.
 */
int json_next(struct json_reader *reader, struct json_token *ret_token);
/*
 * Appends the text of a key or a string with decoded escapes. U+FFFD replaces a lone surrogate or a
 * broken escape.
 */
void json_unescape(const struct json_token *token, struct buffer *out);
bool json_is(const struct json_token *token, const char *text);
