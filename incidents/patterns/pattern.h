/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A pattern says what a line looks like, as the format string of the kernel does: text stands for
 * itself, a blank for any number of blanks, and braces are
 *
 *   {name}         a number: {qid} takes 5 and -62
 *   {name:age}     a number that says for how long it has been so, in the unit that the name ends
 * with: _us, _ms, ns, secs and so on {name:hex}     hexadecimal digits {name:name}    letters,
 * digits, _ and . {name:word}    no blanks        {name:item}   no blanks and no commas {name:part}
 * no commas {name:text}    anything, as little as it can be    {name:most}   as much as it can be
 * {name:line}   all the rest {name:comm}    the name of a task: at most 15 bytes {name=a|b}     one
 * of these texts     {=a|b}   the same, and it is no field     {*}   anything, no field
 *   {?...}         what may be there, or not          {$}  the end of the line
 *   {ena}          what the ENA driver puts before its messages, or nothing; {ena:bdf} must name
 * the device
 *   {{             a brace
 *
 * A line that ends before its pattern does matches too (logs are cut at any column), when all of
 * the pattern's anchor was there: its longest text that every such line has. A number or name that
 * the end may have cut is then left out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

#define FIELDS_MAX 16
#define ANCHOR_MIN 6 /* bytes; shorter ones are in every other line */

/* Borrowed from the pattern and from the line. */
struct field {
	const char *name;
	const char *value;
	size_t size;
	/* value is decimal digits with a sign or a point */
	bool number;
};

struct fields {
	struct field list[FIELDS_MAX];
	size_t count;
	bool has_age;
	uint64_t age_ns;
	/* the line ended before its pattern */
	bool truncated;
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

/* What a pattern is made of, one behind the other; what is optional lies between its PIECE_OPTION
 * and `after`. */
struct piece {
	enum piece_type type;
	/* of literals, and of choices with | between them */
	const char *text;
	size_t size;
	/* of the field, or NULL */
	const char *name;
	/* of ages */
	uint64_t unit_ns;
	size_t after;
};

struct pattern {
	/* its own copy, that the pieces point into */
	char *text;
	array_of(struct piece) pieces;
	/* some bytes that each matching line has */
	const char *anchor;
	size_t anchor_size;
	size_t anchor_piece;
};

/* -EINVAL with a text that says what is wrong where. */
int pattern_init(struct pattern *pattern, const char *text, struct error *error);
void pattern_done(struct pattern *pattern);

/*
 * Finds the pattern in one message. It is tried at its beginning; with `anywhere` also behind each
 * blank and punctuation mark. `cut` allows for what ends too early. False: not there, and
 * *ret_fields is untouched.
 */
bool pattern_match(const struct pattern *pattern, const char *text, size_t size, bool anywhere,
		   bool truncated, struct fields *ret_fields);

/* NULL when there is no such field. */
const struct field *fields_find(const struct fields *fields, const char *name);
