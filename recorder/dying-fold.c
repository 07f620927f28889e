// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/dying.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

/* Slices, a pod, a container: what is deeper is made by what runs in it. */
#define DEPTH 4

/* Fewer hexadecimal digits may be a word: "cafe", "decade". */
#define HEX_MIN 8

/* Of those right behind a word: "ec2", "user9". */
#define NUMBER_MIN 2

static bool is_end(char c)
{
	return !c || strchr("/-_.:@", c);
}

/* "6f1e2c3a-09d4-..." and, in names of systemd's units, "6f1e2c3a_09d4_..." */
static size_t uuid_size(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)text[i])
				   : text[i] != '-' && text[i] != '_')
			return 0;
	return sizeof(form) - 1;
}

/* Of a whole id, which may stand right behind a word: "run-r0f7f...", "pod" and the 32 of a static pod. */
static bool is_usual_size(size_t hex)
{
	return hex == 16 || hex == 32 || hex == 40 || hex == 64;
}

static bool is_hex_id(const char *text, bool in_word)
{
	size_t hex = strspn(text, "0123456789abcdefABCDEF");

	if (hex < HEX_MIN || !is_end(text[hex]) || strcspn(text, "0123456789") >= hex)
		return false;
	return !in_word || isdigit((unsigned char)*text) || is_usual_size(hex);
}

/*
 * How many characters there are an id or a number; 0: none. It fills what stands between separators, or its end: of "pod6f1e2c3a-..." the uuid, of
 * "task17" the number, if it has two digits or more. "ec2", "k3s", "user9" and "eth0" are names: a lone digit behind a word, or digits within one, say
 * what it is and not which one.
 */
static size_t id_size(const char *text, bool in_word)
{
	size_t digits = strspn(text, "0123456789"), uuid = uuid_size(text);

	if (uuid && !isalnum((unsigned char)text[uuid]))
		return uuid;
	if (is_hex_id(text, in_word))
		return strspn(text, "0123456789abcdefABCDEF");
	return digits >= (in_word ? NUMBER_MIN : 1) && is_end(text[digits]) ? digits : 0;
}

void dying_fold(const char *path, char prefix[DYING_PREFIX_SIZE])
{
	size_t used = 0, depth = 0;

	while (*path && used + 1 < DYING_PREFIX_SIZE) {
		size_t id = id_size(path, used && !is_end(prefix[used - 1]));

		if (*path == '/' && ++depth > DEPTH)
			break;
		if (!id) {
			prefix[used++] = *path++;
			continue;
		}
		path += id;
		prefix[used++] = '*';
	}
	prefix[used] = 0;
}
