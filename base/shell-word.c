// SPDX-License-Identifier: GPL-2.0-only
#include "base/shell-word.h"

#include <stdio.h>
#include <string.h>

const char *shell_word(const char *name, char text[SHELL_WORD_SIZE])
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-";
	size_t at = 0;

	if (*name && *name != '-' && !name[strspn(name, plain)]) {
		snprintf(text, SHELL_WORD_SIZE, "%s", name);
		return text;
	}
	text[at++] = '\'';
	/*
	 * a quote in the word ends the quoted part; write it escaped, and begin a new quoted part
	 */
	for (; *name && at + 6 < SHELL_WORD_SIZE; name++)
		at += snprintf(text + at, SHELL_WORD_SIZE - at, *name == '\'' ? "'\\''" : "%c",
			       *name);
	snprintf(text + at, SHELL_WORD_SIZE - at, "'");
	return text;
}
