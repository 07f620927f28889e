/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Patterns for names: * ? [...] and \ for the whole of a name; * and ? stand for a slash too. What
 * a shell takes for text when it is no pattern, as a [ that is never closed, is refused: it would
 * only ever find nothing, and nobody would know why.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* 0, or -EINVAL with a text that quotes the pattern and says what is wrong in it. */
int glob_check(const char *pattern, struct error *error);

/* NULL passes all. */
bool glob_passes(const char *pattern, const char *text);

/* Several, of which one has to pass; of none, all does. The patterns are borrowed. */
#define GLOBS_MAX 33

struct globs {
	const char *list[GLOBS_MAX];
	size_t count;
};

bool globs_pass(const struct globs *globs, const char *text);
