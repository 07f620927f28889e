/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Compares the stall with quiet windows of the same length, row by row: the machine, the functions,
 * the threads of each name, and the threads of each name on the CPU where they ran most. The last
 * kind shows work that usually spreads over many CPUs and now fills one.
 */

#include "base/error.h"
#include "query/explain/evidence.h"
#include "query/explain/quiet.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"

/* The number of quiet windows, if the store and the time allow. */
#define USUAL_WINDOWS 59
/* Windows have at most this length, because the time to read them grows with it. */
#define USUAL_LENGTH_NS 6000000000ull

/* This number of segments is read without a limit of time. */
#define USUAL_FEW 8

struct usual_options {
	const struct question *question;
	/* how far to look before and after the stall */
	uint64_t around_ns;
	/* limit of the time for reading */
	uint64_t limit_ns;
	/* at least 1 */
	unsigned int threads;
	const struct quiet_spans *excluded;
};

/*
 * Sets the rows of the machine, of the cores' threads and of their functions, and describes the
 * quiet windows. Returns 0 or a negative errno.
 */
int usual_rows_compare(struct store_reader *reader, const struct usual_options *options,
		       struct evidence *evidence, struct error *error);
