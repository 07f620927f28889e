// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/dead-cgroups-fold.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/*
 * The greatest number of path components of a kind: slices, a pod, a container. Programs inside a
 * container make the deeper folders.
 */
#define DEPTH 4

/* The least number of hexadecimal digits of an id. Fewer may be a word: "cafe", "decade". */
#define HEX_MIN 8

/* The suffix that runc appends to its folders: "runc.mJmGmH". */
#define RUNC "runc."
#define RUNC_LETTERS 6

/* systemd's escape for a dash in the name of a unit, where a plain dash means a slash. */
#define DASH "\\x2d"

static const char digits[] = "0123456789", hex_digits[] = "0123456789abcdefABCDEF";

/* Returns the size of the separator at `text`; 0: the text does not begin with a separator. */
static size_t end_size(const char *text)
{
	if (strncmp(text, DASH, strlen(DASH)) == 0)
		return strlen(DASH);
	return *text && strchr("/-_.:@", *text) ? 1 : 0;
}

static bool is_end(const char *text)
{
	return !*text || end_size(text);
}

/*
 * Returns the size of a uuid at `text`; 0: none. A uuid is "6f1e2c3a-09d4-...", and in the names of
 * systemd's units "6f1e2c3a_09d4_..." or "6f1e2c3a\x2d09d4\x2d...".
 */
static size_t uuid_size(const char *text)
{
	static const unsigned char groups[] = { 8, 4, 4, 4, 12 };
	const char *at = text;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		size_t between = i ? end_size(at) : 0;

		if (i && (!between || (*at != '-' && *at != '_' && *at != *DASH)))
			return 0;
		at += between;
		if (strspn(at, hex_digits) < groups[i])
			return 0;
		at += groups[i];
	}
	return isalnum((unsigned char)*at) ? 0 : at - text;
}

/*
 * Returns whether an id usually has this number of digits. Such an id may follow a word directly:
 * "run-r0f7f...", or "pod" and 32 digits for a static pod.
 */
static bool is_usual_size(size_t hex)
{
	return hex == 16 || hex == 32 || hex == 40 || hex == 64;
}

static size_t hex_size(const char *text, bool in_word)
{
	size_t hex = strspn(text, hex_digits);

	if (hex < HEX_MIN || !is_end(text + hex))
		return 0;
	return !in_word || isdigit((unsigned char)*text) || is_usual_size(hex) ? hex : 0;
}

/*
 * Returns the size of a number that stands alone; 0: none. The second half of "x86_64" or
 * "python3.11" does not stand alone.
 */
static size_t number_size(const char *text, const char *done, size_t used)
{
	size_t number = strspn(text, digits);

	if (!is_end(text + number))
		return 0;
	if (used > 1 && strchr("_.", done[used - 1]) && isdigit((unsigned char)done[used - 2]))
		return 0;
	return number;
}

static size_t runc_size(const char *text, const char *done, size_t used)
{
	size_t letters = 0;

	if (used < strlen(RUNC) || memcmp(done + used - strlen(RUNC), RUNC, strlen(RUNC)) != 0)
		return 0;
	while (isalnum((unsigned char)text[letters]))
		letters++;
	return letters == RUNC_LETTERS && is_end(text + letters) ? letters : 0;
}

/*
 * Returns the size of the number or id at `text`; 0: neither. `done` is the folded form of the text
 * before `text`.
 */
static size_t id_size(const char *text, const char *done, size_t used, bool in_word)
{
	size_t size = uuid_size(text);

	if (!size)
		size = hex_size(text, in_word);
	if (!size && !in_word)
		size = number_size(text, done, used);
	return size ? size : runc_size(text, done, used);
}

void dead_cgroups_fold(const char *path, char prefix[DYING_PREFIX_SIZE])
{
	size_t used = 0, depth = 0;
	bool in_word = false;

	while (*path && used + 1 < DYING_PREFIX_SIZE) {
		size_t size = id_size(path, prefix, used, in_word), end = end_size(path);

		if (*path == '/' && ++depth > DEPTH)
			break;
		in_word = !size && !end;
		if (size) {
			path += size;
			prefix[used++] = '*';
			continue;
		}
		for (end = end ? end : 1; end && used + 1 < DYING_PREFIX_SIZE; end--)
			prefix[used++] = *path++;
	}
	prefix[used] = 0;
}

/* Returns the begin of number `at` in the text; NULL: the text has fewer numbers. */
static const char *find_number(const char *prefix, size_t at)
{
	while (*prefix) {
		size_t number = strspn(prefix, digits), end = number ? 0 : end_size(prefix);

		if (number && !at--)
			return prefix;
		prefix += number ? number : MAX(end, (size_t)1);
	}
	return NULL;
}

bool dead_cgroups_fold_number(const char *prefix, size_t at, char folded[DYING_PREFIX_SIZE])
{
	const char *number = find_number(prefix, at);

	if (!number)
		return false;
	/* the result fits: the star that replaces the number is not longer than the number */
	snprintf(folded, DYING_PREFIX_SIZE, "%.*s*%s", (int)(number - prefix), prefix,
		 number + strspn(number, digits));
	return true;
}
