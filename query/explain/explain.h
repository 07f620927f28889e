/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Explains a stall: reads the evidence from the store and judges it. The caller sets the question,
 * the incident and the stall; everything else follows.
 */

#include "base/error.h"
#include "query/explain/evidence.h"
#include "query/explain/rules.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"

/* Without an incident, the answer is about at most this much of a window. */
#define EXPLAIN_STALL_MAX_NS 60000000000ull

struct explain_options {
	struct question question;
	/* how far to look for quiet windows before and after the stall */
	uint64_t around_ns;
	/* limit of the time for reading quiet windows */
	uint64_t limit_ns;
	/* at least 1 */
	unsigned int threads;
};

struct explain {
	/* set `incident`, `stall_from_ns` and `stall_to_ns` before explain_run() */
	struct evidence evidence;
	struct verdicts verdicts;
};

/*
 * Returns 0 or a negative errno; evidence.samples is 0 if the stall has no samples. Free the result
 * with explain_done() in either case.
 */
int explain_run(struct store_reader *reader, const struct explain_options *options,
		struct explain *explain, struct error *error);
void explain_done(struct explain *explain);

/*
 * Narrows a stall that is longer than EXPLAIN_STALL_MAX_NS to the worst full CPU in it, or to the
 * end of what is recorded in it. Prefers parts that can be read, and notes in evidence->unread the
 * segments that cannot. Returns 0 or a negative errno.
 */
int explain_narrow(struct store_reader *reader, const struct question *question,
		   struct evidence *evidence, struct error *error);

/* Appends the answer as an object of JSON on one line. */
void explain_put_json(const struct explain *explain, struct buffer *json);
