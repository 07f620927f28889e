/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Why frames have no name, as segments tell it: each of all its frames, not of those in a window. */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* There are nine whys; more are of a newer perftape. */
#define NAMELESS_MAX 16

struct nameless {
	struct {
		char why[48]; /* "gone before they were opened" */
		uint64_t frames;
	} items[NAMELESS_MAX];
	size_t count;
};

/* Adds what the fact "unnamed" of a segment says; what it does not say as docs/FORMAT.md has it is passed over. */
void nameless_add(struct nameless *nameless, const char *fact);
/* "956 without symbols, 12 gone before they were opened"; nothing where there are none. */
void nameless_describe(const struct nameless *nameless, struct buffer *text);
/* The same as an object. */
void nameless_put_json(const struct nameless *nameless, struct buffer *json);
