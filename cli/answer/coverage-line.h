/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What is said of an answer beside the answer itself: how much of the window it covers, or why
 * there is none. */

#include "base/bytes.h"
#include "cli/options/command.h"
#include "query/coverage/coverage.h"
#include "query/text/output.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/*
 * With -q too where something is missing: not every format can say it itself, and nothing is
 * silently missing. The window may reach beyond what a recorder that runs has written.
 */
void say_coverage(const struct invocation *invocation, struct store_reader *reader,
		  const struct window *window, uint64_t samples, const struct coverage *coverage);

/*
 * "FROM to TO, in N stretches": what of a store is gone because retention removed it, or because
 * its files are missing. False where there is nothing of that kind.
 */
bool gone_describe(const struct store_gone_list *gone, bool vanished, bool utc,
		   struct buffer *text);

/* Only what is missing, for an answer that has its coverage in it. */
void say_gaps_and_recorder(const struct invocation *invocation, struct store_reader *reader,
			   const struct window *window, const struct coverage *coverage);

/* Says why there is no sample, and gives the exit code of that. */
int coverage_line_nothing(const struct invocation *invocation, struct store_reader *reader,
			  const struct window *window, const struct coverage *coverage);

/* The exit code of an answer that was given: with --strict it must be whole. */
int coverage_line_code(const struct invocation *invocation, const struct coverage *coverage);

/* Closes the output and gives the exit code; r is what came of writing into it. A reader that has
 * seen enough is no failure. */
int coverage_line_commit(const struct invocation *invocation, struct output *output, int r,
			 const struct coverage *coverage);
