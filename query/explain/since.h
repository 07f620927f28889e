/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Since when does a function or a thread name take the time that it takes now? The digests of
 * segments (tape/digest.h) show it without samples, and the counts of stacks in segments that are
 * too small for a digest. Within the time limit, the reader takes segments evenly spread over the
 * time before the stall.
 */

#include "base/error.h"
#include "query/explain/evidence.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"

struct since_options {
	const struct question *question;
	/* how far to look before the stall */
	uint64_t around_ns;
	/* limit of the time for reading */
	uint64_t limit_ns;
	/* at least 1 */
	unsigned int threads;
};

/*
 * Sets evidence->since for the function at the end of the worst core's path. Returns 0 or a
 * negative errno.
 */
int since_find(struct store_reader *reader, const struct since_options *options,
	       struct evidence *evidence, struct error *error);

/*
 * Finds the place where the values of a row change for good: the values from it on are on average
 * at least twice those before it, and differ by more than the scatter on both sides explains.
 * Returns the index of the first value after the change, or 0 if there is none.
 */
size_t since_change(const double *values, size_t count);
