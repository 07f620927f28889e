/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Helpers for commands that print in the terminal. */

#include "base/clock.h"
#include "cli/options/command.h"
#include "draw/terminal.h"
#include "query/coverage/coverage.h"
#include "query/window/filter.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/* Reads the properties of standard output and --color. Returns EXIT_DONE or EXIT_USAGE. */
int screen_read(const struct invocation *invocation, struct terminal *ret_terminal);

/*
 * Reads the properties of standard output for lines and tables, which keep their characters in any
 * locale. Without an invocation, the output does not use colours.
 */
void screen_read_lines(const struct invocation *invocation, struct terminal *ret_terminal);
/* Shortens "2026-11-18T03:12:07.123Z" to "11-18 03:12:07.123". Returns other texts unchanged. */
const char *screen_short_time(const char *time, bool fractions, char text[TIME_TEXT_SIZE]);

/* Formats "03:12:07", or "11-18 03:12:07" if the day is not that of `day_ns`. Returns `text`. */
const char *screen_time_of_day(uint64_t ns, uint64_t day_ns, bool utc, char text[TIME_TEXT_SIZE]);

/*
 * Returns the number of lines that say_gaps_and_recorder() may print, if standard error is a
 * terminal.
 */
unsigned int screen_lines_below(const struct invocation *invocation,
				const struct coverage *coverage);

/*
 * Returns the number of threads for reading a store: one for each CPU that this process may use, up
 * to a limit.
 */
unsigned int screen_threads(void);

/* Puts the first lines of an answer: the window, the number of samples, the coverage. */
void screen_put_head(const struct invocation *invocation, const struct window *window,
		     uint64_t samples, const struct coverage *coverage, struct buffer *text);
/* Puts the filter as a line, such as "only comm kube*"; nothing without a filter. */
void screen_put_filter(const struct filter *filter, struct buffer *text);

/*
 * Prints why the answer has no samples; with --json, prints also the coverage. Returns the exit
 * code.
 */
int screen_nothing(const struct invocation *invocation, struct store_reader *reader,
		   const struct window *window, const struct coverage *coverage);

/*
 * Writes a whole answer to standard output, and cleans it in its place (cli/options/print.h).
 * Returns EXIT_DONE, or EXIT_FAILED after a message.
 */
int screen_print(struct buffer *text);
/* Does the same for a drawing, with the colours of the terminal. */
int screen_print_drawing(const struct terminal *terminal, struct buffer *text);
