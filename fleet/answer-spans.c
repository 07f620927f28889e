// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/answer-spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "fleet/row-binary.h"

/* A window of a day with segments of 10 s has 8,640. */
#define ANSWER_SPANS_MAX 16384

void answer_spans_done(struct answer_spans *spans)
{
	array_done(&spans->list);
}

int answer_damaged(struct error *error, const char *what)
{
	return error_set(error, -EBADMSG, "the server's answer is damaged: %s", what);
}

void answer_skip_text(struct reader *rows)
{
	reader_take(rows, reader_varint(rows));
}

void answer_skip_texts(struct reader *rows)
{
	uint64_t count = row_array(rows, 1);

	for (uint64_t i = 0; i < count && !reader_failed(rows); i++)
		answer_skip_text(rows);
}

/* Joins a window to the last span if both are of one segment and touch. */
static int answer_spans_add(struct answer_spans *spans, const struct answer_span *span)
{
	struct answer_span *last =
		spans->list.count ? &spans->list.items[spans->list.count - 1] : NULL;

	if (last && last->boot == span->boot && last->sequence == span->sequence &&
	    span->begin_ns <= last->end_ns) {
		last->end_ns = MAX(last->end_ns, span->end_ns);
		return 0;
	}
	return array_push(&spans->list, *span);
}

static int answer_spans_take(struct answer_spans *spans, const struct buffer *bytes,
			     uint64_t from_ns, uint64_t to_ns, struct error *error)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct reader rows;
	int r = 0;

	reader_init(&rows, bytes->data, bytes->size);
	while (r == 0 && reader_left(&rows)) {
		struct answer_span span = { 0 };
		uint64_t begin_us = reader_u64(&rows), end_us = reader_u64(&rows);
		const char *boot = row_text(&rows, &text);

		span.boot = hash_bytes(boot, strlen(boot));
		span.sequence = reader_u64(&rows);
		span.error_ns = reader_u64(&rows) % NSEC_PER_SEC * NSEC_PER_USEC;
		span.facts = rows.position;
		answer_skip_texts(&rows);
		answer_skip_texts(&rows);
		if (reader_failed(&rows) || begin_us >= end_us ||
		    end_us > INT64_MAX / NSEC_PER_USEC)
			return answer_damaged(error, "a window");
		span.begin_ns =
			MAX(begin_us * NSEC_PER_USEC, from_ns / NSEC_PER_USEC * NSEC_PER_USEC);
		span.end_ns = MIN(end_us * NSEC_PER_USEC,
				  (to_ns + NSEC_PER_USEC - 1) / NSEC_PER_USEC * NSEC_PER_USEC);
		if (span.begin_ns < span.end_ns)
			r = answer_spans_add(spans, &span);
		if (spans->list.count > ANSWER_SPANS_MAX)
			return error_set(error, -EFBIG,
					 "the answer has more than %d segments; ask for less time",
					 ANSWER_SPANS_MAX);
	}
	return r;
}

static int answer_spans_compare(const void *a, const void *b)
{
	const struct answer_span *first = a, *second = b;

	return (first->begin_ns > second->begin_ns) - (first->begin_ns < second->begin_ns);
}

/*
 * Orders the spans by time, and cuts where they overlap, so that each sample is in one of them. Two
 * segments that follow each other overlap by the error of the clock.
 */
static void answer_spans_part(struct answer_spans *spans)
{
	uint64_t reached_ns = 0;
	size_t kept = 0;

	if (spans->list.count)
		qsort(spans->list.items, spans->list.count, sizeof(*spans->list.items),
		      answer_spans_compare);
	for (size_t i = 0; i < spans->list.count; i++) {
		struct answer_span span = spans->list.items[i];

		span.begin_ns = MAX(span.begin_ns, reached_ns);
		if (span.begin_ns >= span.end_ns)
			continue;
		reached_ns = span.end_ns;
		spans->list.items[kept++] = span;
	}
	spans->list.count = kept;
}

int answer_spans_read(struct answer_spans *spans, const struct buffer *bytes, uint64_t from_ns,
		      uint64_t to_ns, struct error *error)
{
	int r = answer_spans_take(spans, bytes, from_ns, to_ns, error);

	if (r < 0)
		return r;
	answer_spans_part(spans);
	return 0;
}

size_t answer_spans_at(const struct answer_spans *spans, uint64_t time_ns)
{
	size_t low = 0, high = spans->list.count - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans->list.items[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
