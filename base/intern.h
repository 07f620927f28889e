/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Strings, each kept once and known by a number. Number 0 is the empty string and always there.
 * Zeroed is empty. Numbers are given in order of first use, so a dump of the strings in order is
 * enough to rebuild them.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/table.h"

struct strings {
	/* each string and a NUL */
	struct buffer text;
	array_of(uint32_t) starts;
	struct table table;
	/* how many of them the table has: all, but for those of strings_fill() */
	uint32_t tabled;
};

void strings_done(struct strings *strings);
/* The number of a text of size bytes (cut at a NUL in it). 0 or -ENOMEM; -E2BIG beyond 4 GB of
 * text. */
int strings_add(struct strings *strings, const char *text, size_t size, uint32_t *ret_id);
/*
 * Fills empty strings with texts one behind the other, each up to its NUL, without looking whether
 * one comes twice: of those, a number is as good as another. 0; -EBADMSG where one is empty or the
 * last has no NUL; -E2BIG; -ENOMEM.
 */
int strings_fill(struct strings *strings, const void *texts, size_t size);
/* The number of a text that was added; 0 when it was not, and of the empty one. */
uint32_t strings_find(const struct strings *strings, const char *text, size_t size);
/* The text of a number, NUL-terminated, valid until the next strings_add(); "" for a number that is
 * not there. */
const char *strings_at(const struct strings *strings, uint32_t id);
/* How many there are, the empty one included. */
uint32_t strings_count(const struct strings *strings);
