/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the commands that draw in the terminal share. */

#include "cli/options/command.h"
#include "draw/terminal.h"
#include "query/coverage/coverage.h"
#include "query/window/filter.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/* What standard output is, and --color. EXIT_DONE or EXIT_USAGE. */
int screen_read(const struct invocation *invocation, struct terminal *ret_terminal);

/* How wide a table may be that need not fit in 80 columns: 0, as wide as it is, where it goes to a
 * file and $COLUMNS is not set. */
unsigned int screen_width(const struct terminal *terminal);

/* How many lines say_gaps_and_recorder() will take on standard error, about, if that is a terminal.
 */
unsigned int screen_lines_below(const struct invocation *invocation,
				const struct terminal *terminal, const struct coverage *coverage);

/* How many threads to read a store with: one for each CPU that we may run on, up to a limit. */
unsigned int screen_threads(void);

/* The first lines: the window as it was understood, the samples, how much is covered. */
void screen_put_head(const struct invocation *invocation, const struct window *window,
		     uint64_t samples, const struct coverage *coverage, struct buffer *text);
/* "only comm kube*" on a line of its own, where not all passes. */
void screen_put_filter(const struct filter *filter, struct buffer *text);

/* Why there is no sample, with --json the coverage too; the exit code of that. */
int screen_nothing(const struct invocation *invocation, struct store_reader *reader,
		   const struct window *window, const struct coverage *coverage);

/* Writes a whole answer to standard output. EXIT_DONE, or EXIT_FAILED with the reason said. */
int screen_print(const struct buffer *text);
