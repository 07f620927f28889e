/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Patterns for names: * ? [...] and \ match the whole name; * and ? match a slash too. A malformed
 * pattern, such as one with an unclosed [, is an error. A shell would treat it as plain text, and
 * the pattern would silently match nothing.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Returns 0, or -EINVAL with a message that quotes the pattern and names its fault. */
int glob_check(const char *pattern, struct error *error);

/* A NULL pattern matches every text. */
bool glob_passes(const char *pattern, const char *text);

/*
 * A list of patterns. A text passes if at least one pattern matches; an empty list passes every
 * text. The caller keeps the patterns alive.
 */
#define GLOBS_MAX 129

struct globs {
	const char *list[GLOBS_MAX];
	size_t count;
};

bool globs_pass(const struct globs *globs, const char *text);
