// SPDX-License-Identifier: GPL-2.0-only
/* Parses the text of a pattern into pieces, and chooses its anchor. match.c matches the pieces. */
#include "incidents/patterns/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/*
 * {ena:bdf} requires this text, because on every known EC2 instance the device is in PCI domain 0.
 */
#define ENA_ANCHOR "ena 0000:"

struct parser {
	struct pattern *pattern;
	char *at;
	struct error *error;
	/* The depth of nested {?...} at this place. */
	unsigned int depth;
};

static int pattern_refuse(struct parser *parser, const char *what)
{
	return error_set(parser->error, -EINVAL, "%s at \"%.24s\"", what, parser->at);
}

static int pattern_add(struct parser *parser, struct piece piece)
{
	return array_push(&parser->pattern->pieces, piece);
}

static const struct type {
	const char *name;
	enum piece_type type;
} types[] = {
	{ "age", PIECE_AGE },	{ "hex", PIECE_HEX },	{ "name", PIECE_NAME },
	{ "word", PIECE_WORD }, { "item", PIECE_ITEM }, { "part", PIECE_PART },
	{ "text", PIECE_TEXT }, { "most", PIECE_MOST }, { "line", PIECE_LINE },
	{ "comm", PIECE_COMM },
};

/* Returns the unit at the end of a name, in nanoseconds; 0 without a unit. */
static uint64_t unit_of(const char *name)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 },	       { "us", NSEC_PER_USEC },	 { "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC }, { "secs", NSEC_PER_SEC },
	};
	const char *last = strrchr(name, '_');

	last = last ? last + 1 : name;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(last, units[i].name))
			return units[i].ns;
	return 0;
}

/* Parses {name}, {name:type} or {name=a|b}. `text` is the part between the braces. */
static int parse_hole(struct parser *parser, char *text)
{
	size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
	struct piece piece = { .type = PIECE_NUMBER, .name = size ? text : NULL };
	char *rest = text + size;
	char mark = *rest;

	if (mark == '=') {
		*rest = 0;
		piece.type = PIECE_CHOICE;
		piece.text = rest + 1;
		piece.size = strlen(piece.text);
		return pattern_add(parser, piece);
	}
	if (!size || (mark && mark != ':'))
		return pattern_refuse(parser, "unknown placeholder");
	if (mark) {
		const struct type *type = types, *end = types + ARRAY_SIZE(types);

		*rest = 0;
		while (type < end && strcmp(type->name, rest + 1))
			type++;
		if (type == end)
			return pattern_refuse(parser, "unknown field type");
		piece.type = type->type;
	}
	piece.unit_ns = piece.type == PIECE_AGE ? unit_of(text) : 0;
	if (piece.type == PIECE_AGE && !piece.unit_ns)
		return pattern_refuse(parser,
				      "the name of an age must end with _ns, _us, _ms or _s");
	return pattern_add(parser, piece);
}

static int parse_braces(struct parser *parser)
{
	static const struct piece special[] = {
		{ .type = PIECE_TEXT, .text = "*" },
		{ .type = PIECE_END, .text = "$" },
		{ .type = PIECE_ENA, .text = "ena" },
		{ .type = PIECE_ENA_BDF, .text = "ena:bdf" },
	};
	char *text = parser->at + 1, *end = strchr(text, '}');
	int r;

	if (!end)
		return pattern_refuse(parser, "missing }");
	*end = 0;
	for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
		if (strcmp(special[i].text, text))
			continue;
		parser->at = end + 1;
		return pattern_add(parser, special[i]);
	}
	r = parse_hole(parser, text);
	if (r < 0)
		return r;
	parser->at = end + 1;
	return 0;
}

static int parse_pieces(struct parser *parser);

/* Parses {?...}, which may contain braces. */
static int pattern_parse_option(struct parser *parser)
{
	struct pattern *pattern = parser->pattern;
	size_t option = pattern->pieces.count;
	int r;

	if (++parser->depth > 8)
		return pattern_refuse(parser, "{?...} nested more than 8 deep");
	r = pattern_add(parser, (struct piece){ .type = PIECE_OPTION });
	parser->at += 2;
	if (r < 0)
		return r;
	r = parse_pieces(parser);
	if (r < 0)
		return r;
	if (*parser->at != '}')
		return pattern_refuse(parser, "missing }");
	parser->depth--;
	parser->at++;
	pattern->pieces.items[option].after = pattern->pieces.count;
	return 0;
}

static int parse_literal(struct parser *parser)
{
	char *text = parser->at + (*parser->at == '{'); /* {{ stands for one brace */
	size_t size = *text == '{' ? 1 : strcspn(text, parser->depth ? "{}" : "{");

	parser->at = text + size;
	return pattern_add(parser,
			   (struct piece){ .type = PIECE_LITERAL, .text = text, .size = size });
}

static int parse_pieces(struct parser *parser)
{
	int r = 0;

	while (r == 0 && *parser->at && !(parser->depth && *parser->at == '}')) {
		if (*parser->at != '{' || parser->at[1] == '{')
			r = parse_literal(parser);
		else if (parser->at[1] == '?')
			r = pattern_parse_option(parser);
		else
			r = parse_braces(parser);
	}
	return r;
}

/*
 * Makes the longest run of bytes in a text the anchor, if the run is longer than the present
 * anchor. A run excludes the bytes that JSON escapes, because a log in JSON contains them only
 * escaped.
 */
static void offer_anchor(struct pattern *pattern, size_t index, const char *text, size_t size)
{
	static const char other_in_json[] = "\"\\/<>&'";

	while (size) {
		size_t run = 0, anchor_size;

		if (*text == ' ') { /* a line may contain several blanks here, or end here */
			text++;
			size--;
			continue;
		}
		while (run < size && !strchr(other_in_json, text[run]) && text[run] > 0)
			run++;
		anchor_size = run;
		while (anchor_size && text[anchor_size - 1] == ' ')
			anchor_size--;
		if (anchor_size > pattern->anchor_size) {
			pattern->anchor = text;
			pattern->anchor_size = anchor_size;
			pattern->anchor_piece = index;
		}
		run += run < size;
		text += run;
		size -= run;
	}
}

static void find_anchor(struct pattern *pattern)
{
	for (size_t i = 0; i < pattern->pieces.count; i++) {
		const struct piece *piece = &pattern->pieces.items[i];

		if (piece->type == PIECE_OPTION)
			i = piece->after - 1;
		else if (piece->type == PIECE_LITERAL ||
			 (piece->type == PIECE_CHOICE && !memchr(piece->text, '|', piece->size)))
			offer_anchor(pattern, i, piece->text, piece->size);
		else if (piece->type == PIECE_ENA_BDF)
			offer_anchor(pattern, i, ENA_ANCHOR, strlen(ENA_ANCHOR));
	}
}

static bool pattern_is_near(const struct pattern *pattern)
{
	bool names_task = false;

	for (size_t i = 0; i < pattern->anchor_piece; i++) {
		switch (pattern->pieces.items[i].type) {
		case PIECE_COMM:
			names_task = true;
			break;
		case PIECE_LITERAL:
		case PIECE_NUMBER:
		case PIECE_AGE:
		case PIECE_CHOICE:
		case PIECE_OPTION:
			break;
		default:
			return false;
		}
	}
	return names_task;
}

int pattern_init(struct pattern *pattern, const char *text, struct error *error)
{
	struct parser parser = { .pattern = pattern, .error = error };
	int r;

	*pattern = (struct pattern){ .text = strdup(text) };
	if (!pattern->text)
		return -ENOMEM;
	parser.at = pattern->text;
	r = parse_pieces(&parser);
	if (r == 0) {
		find_anchor(pattern);
		pattern->near = pattern_is_near(pattern);
		if (pattern->anchor_size < ANCHOR_MIN)
			r = error_set(error, -EINVAL,
				      "pattern needs at least %d consecutive bytes of fixed text",
				      ANCHOR_MIN);
	}
	if (r < 0)
		pattern_done(pattern);
	return r;
}

void pattern_done(struct pattern *pattern)
{
	array_done(&pattern->pieces);
	free(pattern->text);
	*pattern = (struct pattern){ 0 };
}
