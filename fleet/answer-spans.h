/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The times of which a server has all samples of a host, as it answers them (sql/window-spans.sql).
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

/* A time of one segment, or of several windows of it that touch each other. */
struct answer_span {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t error_ns;
	uint64_t sequence;
	uint64_t boot;
	/* The place of its facts in the answer. */
	size_t facts;
};

/* In the order of time. No two overlap. */
struct answer_spans {
	array_of(struct answer_span) list;
};

void answer_spans_done(struct answer_spans *spans);
/*
 * Reads the spans of [from, to). Where two segments overlap, which they do by the error of the
 * clock, the first one has that time. Returns 0, -EBADMSG, -EFBIG if there are too many, or
 * -ENOMEM.
 */
int answer_spans_read(struct answer_spans *spans, const struct buffer *bytes, uint64_t from_ns,
		      uint64_t to_ns, struct error *error);
/* Returns the number of the first span that ends after this time, or else of the last one. */
size_t answer_spans_at(const struct answer_spans *spans, uint64_t time_ns);

/* Says which part of an answer is damaged. Returns -EBADMSG. */
int answer_damaged(struct error *error, const char *what);
void answer_skip_text(struct reader *rows);
void answer_skip_texts(struct reader *rows);
