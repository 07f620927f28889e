/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Both sides of `diff`: which windows of which stores they are, and their sums. The two sides are
 * read at the same time, because a short window lies in one segment, which one thread reads.
 */

#include "cli/answer/query-args.h"
#include "cli/options/command.h"
#include "draw/terminal.h"
#include "query/diff/changes.h"
#include "query/sums/baseline.h"
#include "query/sums/window-sums.h"

struct diff_side {
	/* The options of this side: its own, and those of both. */
	struct invocation invocation;
	struct query_args args;
	struct store_reader *reader;
	struct window_sums sums;
	/* The result of reading, with its message. */
	int result;
	struct error error;
};

struct diff {
	/* The options about the answer, from both sides of the --, and those of the first window.
	 */
	struct invocation whole;
	/* The earlier one of a command line is that before the word --. */
	struct diff_side before, after;
	/* The length of --baseline, which then stands for the earlier window; 0: two windows. */
	uint64_t around_ns;
	struct baseline baseline;
	bool by_given;
	enum changes_by by;
	bool parts;
	/* Limit of rows; 0: as many as fit, or all for programs. */
	size_t rows;
	struct terminal terminal;
};

void diff_done(struct diff *diff);
/* Opens the stores of both sides. Returns 0, or a negative errno with a message. */
int diff_open(struct diff *diff, struct error *error);
/* Compares and prints both sides. Returns the exit code. */
int diff_answer(struct diff *diff);
/* Prints the coverage of both sides. Returns the exit code of an answer that was printed. */
int diff_end(const struct diff *diff);
/* Returns the earlier side of the comparison, which may be the baseline. */
struct changes_side diff_before(const struct diff *diff);

/* Writes a differential flame graph of both sides. Returns the exit code. */
int diff_picture(struct diff *diff);
