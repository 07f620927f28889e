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

/*
 * How many characters there are an id or a number; 0: none. Digits within a word, as in "ec2" or "v1", are that too. In "pod6f1e2c3a-..." the
 * id begins behind the word.
 */
static size_t id_size(const char *text, bool in_word)
{
	size_t digits = strspn(text, "0123456789"), hex = strspn(text, "0123456789abcdefABCDEF");
	size_t uuid = uuid_size(text);

	if (uuid)
		return uuid;
	if (hex >= HEX_MIN && !isalpha((unsigned char)text[hex]) &&
		strcspn(text, "0123456789") < hex && !(in_word && isalpha((unsigned char)*text)))
		return hex;
	return digits;
}

void dying_fold(const char *path, char prefix[DYING_PREFIX_SIZE])
{
	size_t used = 0, depth = 0;

	while (*path && used + 1 < DYING_PREFIX_SIZE) {
		size_t id = id_size(path, used && isalpha((unsigned char)prefix[used - 1]));

		if (*path == '/' && ++depth > DEPTH)
			break;
		if (!id) {
			prefix[used++] = *path++;
			continue;
		}
		path += id;
		/* a number and an id that meet are one */
		if (!used || prefix[used - 1] != '*')
			prefix[used++] = '*';
	}
	prefix[used] = 0;
}
