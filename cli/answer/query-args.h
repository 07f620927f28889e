/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The arguments of a reading command: a window and a filter. */

#include "cli/options/command.h"
#include "cli/window/live-names.h"
#include "query/sums/fold.h"
#include "query/read/loader.h"

/*
 * The arguments of a command. After parsing, the struct contains pointers to itself, so it must not
 * move. Zeroed is empty.
 */
struct query_args {
	struct question question;
	struct filter filter;
	struct live_names names;
};

/* Returns EXIT_DONE, or another exit code after a message. */
int query_args_parse(const struct invocation *invocation, struct query_args *args);
/* Does the same without the window, which the caller sets. */
int query_args_parse_filter(const struct invocation *invocation, struct query_args *args);
void query_args_done(struct query_args *args);

/* Tunes the allocator for answers that read many segments: freed memory stays in large pages. */
void query_args_keep_memory(void);

/*
 * Adds up the samples of the window by stack, shows progress, and prints the coverage. Sets the
 * question, threads and progress of `options`. Returns EXIT_DONE, or another exit code after a
 * message. Prints a message also for a window without samples.
 */
int query_args_fold(const struct invocation *invocation, const struct query_args *args,
		    struct store_reader *reader, struct fold_options options,
		    struct fold *ret_fold);
