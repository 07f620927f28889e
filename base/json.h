/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * JSON out and in.
 *
 * Out: values put into a buffer one after the other, with commas where they belong: the last byte
 * that is there tells. Text that is not UTF-8 is written with U+FFFD for each byte that is wrong,
 * so that what comes out is always JSON.
 *
 * In: a tokenizer over bytes that others made. It allocates nothing, remembers no more than the
 * depth, and takes text that ends too early for what it has: logs are cut anywhere.
 */

#include "base/bytes.h"

void json_open(struct buffer *out, char bracket);
void json_close(struct buffer *out, char bracket);
void json_key(struct buffer *out, const char *key);
void json_text(struct buffer *out, const char *text, size_t size);
void json_string(struct buffer *out, const char *text);
void json_u64(struct buffer *out, uint64_t value);
void json_i64(struct buffer *out, int64_t value);
void json_bool(struct buffer *out, bool value);
void json_null(struct buffer *out);
/* Billionths, written as the units that they are: 1371911339996000 is 1371911.339996. */
void json_nano(struct buffer *out, uint64_t value);
/* A key and the time in UTC, to the microsecond; json_time_or_null writes null where it is 0. */
void json_time(struct buffer *out, const char *key, uint64_t realtime_ns);
void json_time_or_null(struct buffer *out, const char *key, uint64_t realtime_ns);

#define JSON_DEPTH_MAX 64

enum json_type {
	/* { or [, which is text[0] */
	JSON_OPEN,
	/* } or ] */
	JSON_CLOSE,
	JSON_KEY,
	JSON_STRING,
	/* a number, true, false, null */
	JSON_OTHER,
};

struct json_token {
	enum json_type type;
	/* of keys and strings what is between the quotes, as it is written there */
	const char *text;
	size_t size;
	/* the text ended within it */
	bool truncated;
};

struct json_reader {
	const char *at, *end;
	unsigned int depth;
	/* a bit for each depth: it is an array and not an object */
	uint64_t arrays;
	bool after_key;
};

void json_reader_init(struct json_reader *reader, const char *text, size_t size);
/* 1 a token, 0 the end, -EBADMSG this is not JSON: the reader then stands before what is wrong. */
int json_next(struct json_reader *reader, struct json_token *ret_token);
/* Puts the text of a key or a string into out, its escapes replaced; a lone surrogate or a broken
 * escape is U+FFFD. */
void json_unescape(const struct json_token *token, struct buffer *out);
bool json_is(const struct json_token *token, const char *text);
