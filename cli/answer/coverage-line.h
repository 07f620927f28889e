/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Messages about an answer: how much of the window it covers, or why it is empty. */

#include "base/bytes.h"
#include "cli/options/command.h"
#include "query/coverage/coverage.h"
#include "query/read/loader.h"
#include "query/text/output.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/*
 * Prints the number of samples and the coverage, then the gaps and the recorder's state. With -q,
 * prints only what is missing, because not every output format can express gaps.
 */
void say_coverage(const struct invocation *invocation, struct store_reader *reader,
		  const struct window *window, uint64_t samples, const struct coverage *coverage);

/*
 * Puts "FROM to TO, in N stretches" for the ranges that retention removed, or, with `vanished`, for
 * the ranges whose files vanished. Returns false without such a range.
 */
bool gone_describe(const struct store_removed_ranges *gone, bool vanished, bool utc,
		   struct buffer *text);

/*
 * Prints the gaps of a window. If the window ends after the stored samples, prints also the
 * recorder's state.
 */
void say_gaps_and_recorder(const struct invocation *invocation, struct store_reader *reader,
			   const struct window *window, const struct coverage *coverage);

/*
 * Prints how the user stacks of each program end, for the programs with most samples of a window:
 * at most `rows`; 0: 20. Returns 0, or a negative errno with a message.
 */
int say_stacks(const struct invocation *invocation, struct store_reader *reader,
	       const struct question *question, unsigned int threads, size_t rows,
	       struct error *error);

/* Returns the number of terminal lines that the messages about gaps take. */
unsigned int gaps_rows(const struct invocation *invocation, const struct coverage *coverage);

/* Prints why the answer has no samples. Returns the exit code. */
int coverage_line_nothing(const struct invocation *invocation, struct store_reader *reader,
			  const struct window *window, const struct coverage *coverage);

/* Returns the exit code of an answer: EXIT_PARTIAL with --strict if the coverage is incomplete. */
int coverage_line_code(const struct invocation *invocation, const struct coverage *coverage);

/*
 * Commits the output. Returns the exit code; `r` is the result of writing into the output. A reader
 * that closed the pipe is not an error.
 */
int coverage_line_commit(const struct invocation *invocation, struct output *output, int r,
			 const struct coverage *coverage);
