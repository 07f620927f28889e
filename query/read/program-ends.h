/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How the user stacks of each program end, added up over a window. A program is all threads of one
 * name. Threads read the segments in turn; all samples of the window are read.
 */

#include "base/error.h"
#include "base/intern.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"
#include "tape/stack-ends.h"

struct program_ends_row {
	/* A string of `names`. */
	uint32_t name;
	struct stack_shares shares;
};

struct program_ends {
	struct strings names;
	/* The programs with a user stack; those with most samples first. */
	array_of(struct program_ends_row) rows;
};

/*
 * Adds up a window. `threads` is at least 1. Returns 0, or a negative errno with a message. Call
 * program_ends_done() also after a failure.
 */
int program_ends_read(struct store_reader *reader, const struct question *question,
		      unsigned int threads, struct program_ends *ends, struct error *error);
void program_ends_done(struct program_ends *ends);

/* Returns the number of samples of a row. */
uint64_t program_ends_samples(const struct program_ends_row *row);
