// SPDX-License-Identifier: GPL-2.0-only
#include "query/window/glob.h"

#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>
#include <string.h>
#include <wctype.h>

bool glob_passes(const char *pattern, const char *text)
{
	return !pattern || fnmatch(pattern, text, 0) == 0;
}

/* A position within the brackets of a pattern. */
struct place {
	const char *pattern;
	const char *at;
	struct error *error;
};

static int glob_refuse(const struct place *place, const char *why)
{
	return error_set(place->error, -EINVAL, "\"%.60s\" is not a pattern: %s", place->pattern,
			 why);
}

/*
 * Returns the size of a class such as [:alpha:], [.x.] or [=x=] from its second character on.
 * Returns 0 if the [ is an ordinary character.
 */
static size_t class_size(const char *at)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
	size_t inner;

	if (!*at || !strchr(":.=", *at))
		return 0;
	inner = *at == ':' ? strspn(at + 1, lower) : at[1] != 0;
	return at[1 + inner] == *at && at[2 + inner] == ']' ? inner + 3 : 0;
}

static int take_class(struct place *place, size_t size)
{
	char name[16] = "";

	if (*place->at == ':') {
		memcpy(name, place->at + 1, size - 3 < sizeof(name) ? size - 3 : 0);
		if (!wctype(name))
			return glob_refuse(place,
					   "it has an unknown class; use [:alpha:] or [:digit:]");
	}
	place->at += size;
	return 0;
}

/* Reads one character, which a \ may escape. Never returns 0. */
static unsigned char take_sign(struct place *place)
{
	if (*place->at == '\\' && place->at[1])
		place->at++;
	return *place->at++;
}

/* Reads a character, a range or a class. */
static int glob_take_member(struct place *place)
{
	size_t size = *place->at == '[' ? class_size(place->at + 1) : 0;
	unsigned char first;

	if (size) {
		place->at++;
		return take_class(place, size);
	}
	first = take_sign(place);
	if (*place->at != '-' || !place->at[1] || place->at[1] == ']')
		return 0;
	place->at++;
	if (*place->at == '[' && class_size(place->at + 1))
		return 0;
	return take_sign(place) < first
		       ? glob_refuse(place, "a range in it runs backwards, as in [z-a]")
		       : 0;
}

/* Reads the text after a [ up to its ]. A ] in the first place is an ordinary character. */
static int glob_take_bracket(struct place *place)
{
	bool first = true;
	int r = 0;

	if (*place->at == '!' || *place->at == '^')
		place->at++;
	for (; r == 0 && *place->at && (first || *place->at != ']'); first = false)
		r = glob_take_member(place);
	if (r < 0)
		return r;
	if (!*place->at)
		return glob_refuse(place, "it has a [ without a ]; write \\[ for a plain [");
	place->at++;
	return 0;
}

int glob_check(const char *pattern, struct error *error)
{
	struct place place = { .pattern = pattern, .at = pattern, .error = error };
	int r = 0;

	while (r == 0 && *place.at) {
		char sign = *place.at++;

		if (sign == '[')
			r = glob_take_bracket(&place);
		else if (sign == '\\' && !*place.at)
			r = glob_refuse(&place, "it ends with a \\; write \\\\ for a plain \\");
		else if (sign == '\\')
			place.at++;
	}
	return r;
}

bool globs_pass(const struct globs *globs, const char *text)
{
	bool passes = !globs->count;

	for (size_t i = 0; !passes && i < globs->count; i++)
		passes = glob_passes(globs->list[i], text);
	return passes;
}
