/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A pattern describes a line like the kernel's format string does: text stands for itself, a blank
 * matches any number of blanks, and braces match
 *
 *   {name}         a number: {qid} takes 5 and -62
 *   {name:age}     a number: how long a state has lasted; the name ends with its unit (_us, _ms)
 *   {name:hex}     hexadecimal digits
 *   {name:name}    letters, digits, _ and .
 *   {name:word}    no blanks
 *   {name:item}    no blanks and no commas
 *   {name:part}    no commas
 *   {name:text}    any text, as short as possible
 *   {name:most}    any text, as long as possible
 *   {name:line}    the rest of the line
 *   {name:comm}    the name of a task: at most 15 bytes, without quotation marks
 *   {name=a|b}     one of these texts
 *   {=a|b}         one of these texts, without a field
 *   {*}            any text, without a field
 *   {?...}         an optional part
 *   {$}            the end of the line
 *   {ena}          the prefix of the ENA driver's messages, or nothing
 *   {ena:bdf}      the same prefix, which must name the device
 *   {{             a brace
 *
 * A line that ends before its pattern does matches too, because logs are cut at any column. It must
 * contain all of the pattern's anchor: the longest text that every matching line contains. A number
 * or name at the end of such a line is omitted, because it may be incomplete.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

#define FIELDS_MAX 16
#define ANCHOR_MIN 6 /* in bytes; shorter texts are in every other line */

/* A field of a match. The pointers are valid as long as the pattern and the line. */
struct field {
	const char *name;
	const char *value;
	size_t size;
	/* The value consists of decimal digits, with an optional sign or point. */
	bool number;
};

struct fields {
	struct field list[FIELDS_MAX];
	size_t count;
	bool has_age;
	uint64_t age_ns;
	/* The line ended before the pattern did. */
	bool truncated;
	/* Where the match begins in the message. */
	size_t begin;
	/* The match begins within words that a user may have chosen; see kernel-words.h. */
	bool quoted;
};

enum piece_type {
	PIECE_LITERAL,
	PIECE_NUMBER,
	PIECE_AGE,
	PIECE_HEX,
	PIECE_NAME,
	PIECE_WORD,
	PIECE_ITEM,
	PIECE_PART,
	PIECE_TEXT,
	PIECE_MOST,
	PIECE_LINE,
	PIECE_COMM,
	PIECE_CHOICE,
	PIECE_OPTION,
	PIECE_END,
	PIECE_ENA,
	PIECE_ENA_BDF,
};

/*
 * A part of a pattern. After a PIECE_OPTION, the pieces up to index `after` form an optional part.
 */
struct piece {
	enum piece_type type;
	/* PIECE_LITERAL: the text. PIECE_CHOICE: the choices, separated by |. */
	const char *text;
	size_t size;
	/* The field's name, or NULL. */
	const char *name;
	/* PIECE_AGE: the unit of the number. */
	uint64_t unit_ns;
	size_t after;
};

struct pattern {
	/* A copy of the pattern's text; the pieces point into it. */
	char *text;
	array_of(struct piece) pieces;
	/* The longest text that every matching line contains. */
	const char *anchor;
	size_t anchor_size;
	size_t anchor_piece;
	/*
	 * The name of a task stands before the anchor, and all pieces before the anchor have a
	 * bounded length. So text that the kernel quotes cannot reach the anchor.
	 */
	bool near;
};

/* Parses `text`. Returns 0, -ENOMEM, or -EINVAL with a message that names the faulty place. */
int pattern_init(struct pattern *pattern, const char *text, struct error *error);
void pattern_done(struct pattern *pattern);

/*
 * Finds the pattern in one message: at its beginning, and with `anywhere` also after each blank and
 * punctuation mark. With `truncated`, also accepts a message that ends too early. Returns false
 * without a match; then *ret_fields is unchanged.
 */
bool pattern_match(const struct pattern *pattern, const char *text, size_t size, bool anywhere,
		   bool truncated, struct fields *ret_fields);

/* Returns the field of this name, or NULL. */
const struct field *fields_find(const struct fields *fields, const char *name);
