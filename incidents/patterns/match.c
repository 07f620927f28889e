// SPDX-License-Identifier: GPL-2.0-only
/*
 * Matches the pieces of a pattern against a message from left to right. If a piece can also have
 * another length, the matcher goes back and tries that length. The number of steps is limited, so a
 * line that is crafted to take very long does not match.
 */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "incidents/patterns/pattern.h"

#define STEPS_MAX 20000
#define COMM_MAX 15
#define TRUNCATED_ANCHOR_MIN 10 /* a shorter part of an anchor proves too little */

struct match {
	const struct pattern *pattern;
	const char *text, *end;
	bool truncated;
	unsigned int steps;
	struct fields fields;
};

static bool match_from(struct match *match, size_t index, const char *at);

static bool match_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void match_add_field(struct match *match, const char *name, const char *value, size_t size)
{
	if (match->fields.count < FIELDS_MAX)
		match->fields.list[match->fields.count++] =
			(struct field){ .name = name, .value = value, .size = size };
}

static uint64_t age_of(const char *text, const char *end, uint64_t unit_ns)
{
	unsigned __int128 age = 0, unit = unit_ns;

	for (; text < end && *text != '.'; text++)
		age = MIN(age * 10 + (*text - '0') * unit, (unsigned __int128)UINT64_MAX);
	for (text += text < end; text < end && unit; text++) {
		unit /= 10;
		age += (*text - '0') * unit;
	}
	return MIN(age, (unsigned __int128)UINT64_MAX);
}

static bool match_number(struct match *match, size_t index, const char *at)
{
	const struct piece *piece = &match->pattern->pieces.items[index];
	const char *value = at;
	size_t fields = match->fields.count;

	if (piece->type == PIECE_NUMBER && at < match->end && *at == '-')
		at++;
	if (at == match->end || !isdigit((unsigned char)*at))
		return false;
	while (at < match->end && isdigit((unsigned char)*at))
		at++;
	if (piece->type == PIECE_AGE && match->end - at > 1 && *at == '.' &&
	    isdigit((unsigned char)at[1]))
		for (at++; at < match->end && isdigit((unsigned char)*at);)
			at++;
	match_add_field(match, piece->name, value, at - value);
	if (match->fields.count > fields)
		match->fields.list[fields].number = true;
	if (!match_from(match, index + 1, at)) {
		match->fields.count = fields;
		return false;
	}
	if (piece->type == PIECE_AGE && !(match->fields.truncated && at == match->end)) {
		match->fields.has_age = true;
		match->fields.age_ns = age_of(value, at, piece->unit_ns);
	}
	return true;
}

static bool match_accepts(enum piece_type type, char c)
{
	switch (type) {
	case PIECE_HEX:
		return isxdigit((unsigned char)c);
	case PIECE_NAME:
		return isalnum((unsigned char)c) || c == '_' || c == '.';
	case PIECE_WORD:
		return !match_is_blank(c);
	case PIECE_ITEM:
		return !match_is_blank(c) && c != ',';
	case PIECE_PART:
		return c != ',' && c != '\n';
	case PIECE_COMM:
		/* a task's name may contain any bytes, so only the words behind the name end it */
		return true;
	default:
		return c != '\n';
	}
}

/* Matches a field of variable length, and tries the longest or the shortest length first. */
static bool match_run(struct match *match, size_t index, const char *at)
{
	const struct piece *piece = &match->pattern->pieces.items[index];
	bool shortest_first = piece->type == PIECE_TEXT || piece->type == PIECE_COMM;
	size_t least = piece->type == PIECE_LINE || !piece->name ? 0 : 1, most = 0;
	size_t fields = match->fields.count;

	while (at + most < match->end && match_accepts(piece->type, at[most]))
		most++;
	if (piece->type == PIECE_COMM)
		most = MIN(most, (size_t)COMM_MAX);
	if (most < least)
		return false;
	for (size_t i = 0; i <= most - least; i++) {
		size_t size = shortest_first ? least + i : most - i;

		if (piece->name)
			match_add_field(match, piece->name, at, size);
		if (match_from(match, index + 1, at + size))
			return true;
		match->fields.count = fields;
	}
	return false;
}

/* Returns the end of a literal in the text, or NULL. The end of the text may truncate a literal. */
static const char *take_literal(const struct match *match, const char *literal, size_t size,
				const char *at)
{
	const char *literal_end = literal + size;

	while (literal < literal_end && at < match->end) {
		if (*literal == ' ') {
			if (!match_is_blank(*at))
				return NULL;
			while (at < match->end && match_is_blank(*at))
				at++;
			literal++;
			while (literal < literal_end && *literal == ' ')
				literal++;
		} else if (*literal++ != *at++) {
			return NULL;
		}
	}
	return literal == literal_end || (match->truncated && at == match->end) ? at : NULL;
}

/*
 * Returns whether the text may end within this piece, after the bytes before `done` have matched.
 */
static bool match_may_end(const struct match *match, size_t index, const char *done)
{
	const struct pattern *pattern = match->pattern;

	return match->truncated && pattern->anchor_size >= TRUNCATED_ANCHOR_MIN &&
	       (index > pattern->anchor_piece ||
		(index == pattern->anchor_piece && done >= pattern->anchor + pattern->anchor_size));
}

static bool end_truncated(struct match *match)
{
	struct fields *fields = &match->fields;

	fields->truncated = true;
	/* the end of the text may have truncated the last field */
	if (fields->count &&
	    fields->list[fields->count - 1].value + fields->list[fields->count - 1].size ==
		    match->end)
		fields->count--;
	return true;
}

static bool match_literal(struct match *match, size_t index, const char *at)
{
	const struct piece *piece = &match->pattern->pieces.items[index];
	const char *after = take_literal(match, piece->text, piece->size, at);

	if (!after)
		return false;
	if (after == match->end && match->truncated) {
		/*
		 * count what the pattern requires, because one blank of it may match several blanks
		 */
		size_t matched = MIN((size_t)(after - at), piece->size);

		if (match_may_end(match, index, piece->text + matched))
			return match_from(match, index + 1, after) || end_truncated(match);
		if (matched < piece->size)
			return false;
	}
	return match_from(match, index + 1, after);
}

static bool match_choice(struct match *match, size_t index, const char *at)
{
	const struct piece *piece = &match->pattern->pieces.items[index];
	const char *choice = piece->text, *end = piece->text + piece->size;
	size_t fields = match->fields.count;

	for (;;) {
		size_t size = strcspn(choice, "|");

		if (match->end - at >= (ptrdiff_t)size && !memcmp(choice, at, size)) {
			if (piece->name)
				match_add_field(match, piece->name, at, size);
			if (match_from(match, index + 1, at + size))
				return true;
			match->fields.count = fields;
		}
		choice += size + 1;
		if (choice > end)
			return false;
	}
}

/*
 * Returns the end of a PCI address, [domain:]bus:device.function, or NULL. The address may have
 * lost its first digits.
 */
static const char *take_pci(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && (isxdigit((unsigned char)*at) || *at == ':'))
		at++;
	if (at == start || end - at < 2 || *at != '.' || at[1] < '0' || at[1] > '7')
		return NULL;
	return at + 2;
}

/*
 * Takes the prefix of a network device's messages, such as "ena 0000:00:05.0 eth0: ". The interface
 * may be absent.
 */
static const char *match_take_device(struct match *match, const char *at)
{
	const char *address, *after, *colon;
	bool named = match->end - at > 4 && !memcmp(at, "ena ", 4);

	address = named ? at + 4 : at;
	after = take_pci(address, match->end);
	/*
	 * without the driver's name, accept the address only at the beginning of the text:
	 * elsewhere it may belong to another driver
	 */
	if (!after || (!named && at != match->text))
		return NULL;
	colon = memmem(after, MIN(match->end - after, 64), ": ", 2);
	if (!colon || (colon > after && *after != ' '))
		return NULL;
	if (named && after - address >= 10)
		match_add_field(match, "bdf", address, after - address);
	/* "(unnamed net_device) (uninitialized)" may replace the interface */
	if (colon > after + 1 && after[1] == '(') {
		match_add_field(match, "ifname", after + 1, colon - after - 1);
	} else if (colon > after + 1) {
		const char *name = after + 1, *blank = memchr(name, ' ', colon - name);

		if (blank && blank[1] != '(')
			return NULL;
		match_add_field(match, "ifname", name, (blank ? blank : colon) - name);
	}
	return colon + 2;
}

/* Returns whether the preceding word is a PCI address. Another driver's interface then follows. */
static bool follows_pci_address(const struct match *match, const char *at)
{
	const char *word = at;

	while (word > match->text && match_is_blank(word[-1]))
		word--;
	while (word > match->text && !match_is_blank(word[-1]))
		word--;
	return take_pci(word, at) != NULL;
}

static const char *take_other_device(struct match *match, const char *at)
{
	static const char *const names[] = { "eth", "ens", "enp", "eni" };
	const char *colon = memmem(at, MIN(match->end - at, 80), ": ", 2);

	if (!colon)
		return NULL;
	if (colon - at == 3 && !memcmp(at, "ena", 3))
		return colon + 2;
	if (colon - at == 8 && !memcmp(at, "[ENA_COM", 8)) {
		const char *bracket = memmem(colon, match->end - colon, "] ", 2);

		return bracket ? bracket + 2 : NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (colon - at < 4 || memcmp(at, names[i], 3) || memchr(at, ' ', colon - at) ||
		    follows_pci_address(match, at))
			continue;
		match_add_field(match, "ifname", at, colon - at);
		return colon + 2;
	}
	return NULL;
}

static bool match_ena(struct match *match, size_t index, const char *at)
{
	bool needed = match->pattern->pieces.items[index].type == PIECE_ENA_BDF;
	size_t fields = match->fields.count;
	const char *after = match_take_device(match, at);

	if (!after && !needed)
		after = take_other_device(match, at);
	if (after) {
		while (after < match->end && match_is_blank(*after))
			after++;
		if (match_from(match, index + 1, after))
			return true;
	}
	match->fields.count = fields;
	return !needed && at == match->text && match_from(match, index + 1, at);
}

static bool match_end(struct match *match, size_t index, const char *at)
{
	while (at < match->end && match_is_blank(*at))
		at++;
	return at == match->end && match_from(match, index + 1, at);
}

static bool match_from(struct match *match, size_t index, const char *at)
{
	const struct pattern *pattern = match->pattern;

	if (index == pattern->pieces.count)
		return true;
	if (++match->steps > STEPS_MAX)
		return false;
	if (at == match->end && match_may_end(match, index, NULL) &&
	    pattern->pieces.items[index].type != PIECE_OPTION &&
	    pattern->pieces.items[index].type != PIECE_LINE &&
	    pattern->pieces.items[index].type != PIECE_END)
		return end_truncated(match);
	switch (pattern->pieces.items[index].type) {
	case PIECE_LITERAL:
		return match_literal(match, index, at);
	case PIECE_NUMBER:
	case PIECE_AGE:
		return match_number(match, index, at);
	case PIECE_CHOICE:
		return match_choice(match, index, at);
	case PIECE_OPTION: {
		size_t fields = match->fields.count;

		if (match_from(match, index + 1, at))
			return true;
		match->fields.count = fields;
		return match_from(match, pattern->pieces.items[index].after, at);
	}
	case PIECE_END:
		return match_end(match, index, at);
	case PIECE_ENA:
	case PIECE_ENA_BDF:
		return match_ena(match, index, at);
	default:
		return match_run(match, index, at);
	}
}

static bool try_at(struct match *match, const char *at)
{
	match->fields = (struct fields){ .begin = at - match->text };
	return match_from(match, 0, at);
}

static bool is_boundary(const char *text, const char *at)
{
	unsigned char before = at > text ? at[-1] : ' ';

	return !isalnum(before) && before != '_' && before < 0x80;
}

/* any text may precede the name before the anchor, so the name is the nearest word */
static bool search_back(struct match *match)
{
	const struct pattern *pattern = match->pattern;
	const char *anchor = memmem(match->text, match->end - match->text, pattern->anchor,
				    pattern->anchor_size);

	for (const char *at = anchor; at && at > match->text; at--)
		if (match_is_blank(at[-1]) && try_at(match, at))
			return true;
	return false;
}

bool pattern_match(const struct pattern *pattern, const char *text, size_t size, bool anywhere,
		   bool truncated, struct fields *ret_fields)
{
	struct match match = {
		.pattern = pattern, .text = text, .end = text + size, .truncated = truncated
	};
	bool matched = try_at(&match, text);

	if (!matched && anywhere && pattern->pieces.items[0].type == PIECE_COMM)
		matched = search_back(&match);
	else if (!matched && anywhere)
		for (const char *at = text + 1; !matched && at < match.end; at++)
			matched =
				is_boundary(text, at) && !match_is_blank(*at) && try_at(&match, at);
	if (matched)
		*ret_fields = match.fields;
	return matched;
}

const struct field *fields_find(const struct fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (!strcmp(fields->list[i].name, name))
			return &fields->list[i];
	return NULL;
}
