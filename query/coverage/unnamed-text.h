/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Why frames have no name, as segments tell it: each of all its frames, not of those in a window.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* There are nine whys; more are of a newer perftape. */
#define UNNAMED_TEXT_MAX 16

struct unnamed_text {
	struct {
		/* "gone before they were opened" */
		char why[48];
		uint64_t frames;
	} items[UNNAMED_TEXT_MAX];
	size_t count;
};

/* Adds what the fact "unnamed" of a segment says; what it does not say as docs/FORMAT.md has it is
 * passed over. */
void unnamed_text_add(struct unnamed_text *nameless, const char *fact);
/* "956 without symbols, 12 gone before they were opened"; nothing where there are none. */
void unnamed_text_describe(const struct unnamed_text *nameless, struct buffer *text);
/* The same as an object. */
void unnamed_text_put_json(const struct unnamed_text *nameless, struct buffer *json);
