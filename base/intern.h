/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Interned strings: each is stored once and has a number. Number 0 is the empty string and always
 * exists. A zeroed struct is empty. Numbers follow the order of first use, so the strings in order
 * suffice to rebuild the table.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/table.h"

struct strings {
	/* All strings, each followed by a NUL. */
	struct buffer text;
	array_of(uint32_t) starts;
	struct table table;
	/*
	 * The number of strings in the table. Strings of strings_fill() are not in the table at
	 * first.
	 */
	uint32_t tabled;
};

void strings_done(struct strings *strings);
/*
 * Finds or adds a text, which ends after `size` bytes or at a NUL. *ret_id becomes its number.
 * Returns 0, -ENOMEM, or -E2BIG beyond 4 GB of text.
 */
int strings_add(struct strings *strings, const char *text, size_t size, uint32_t *ret_id);
/*
 * Fills an empty struct strings with texts, each up to its NUL. Does not look for duplicates; for a
 * duplicate text, strings_find() may return any of its numbers. Returns 0, -E2BIG, -ENOMEM, or
 * -EBADMSG if a text is empty or the last one lacks its NUL.
 */
int strings_fill(struct strings *strings, const void *texts, size_t size);
/* Returns the number of a text. Returns 0 if nobody added the text, or if it is empty. */
uint32_t strings_find(const struct strings *strings, const char *text, size_t size);
/*
 * Returns the text of a number, NUL-terminated; "" for an unknown number. Valid until the next
 * strings_add().
 */
const char *strings_at(const struct strings *strings, uint32_t id);
/* Returns the number of strings, including the empty one. */
uint32_t strings_count(const struct strings *strings);
