/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Decodes what a server says of a host's window (sql/window-*.sql) into tapes. The bytes come from
 * outside: every length is checked, and a row that no host can have shipped is refused.
 */

#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

struct window_answer {
	/* Whole answers in the format RowBinary. */
	struct buffer spans, samples, stacks, losses;
};

/*
 * Appends a segment for each span of [from, to), as in a .tape file. Returns the number of spans,
 * or -EBADMSG if an answer is damaged, or -ENOMEM.
 */
int window_answer_encode(const struct window_answer *answer, uint64_t from_ns, uint64_t to_ns,
			 struct buffer *tapes, struct error *error);
