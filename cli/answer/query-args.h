/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What a reading command is asked for, from its options: a window, and which of its samples. */

#include "cli/options/command.h"
#include "cli/window/live-names.h"
#include "query/sums/fold.h"
#include "query/read/loader.h"

/* Refers to itself once it is parsed: it stays where it is. Zeroed at first. */
struct query_args {
	struct question question;
	struct filter filter;
	struct live_names names;
};

/* EXIT_DONE, or another one with the reason said. */
int query_args_parse(const struct invocation *invocation, struct query_args *asked);
void query_args_done(struct query_args *asked);

/* For an answer that takes much memory, segment after segment: it stays the process's, in large
 * pages. */
void query_args_keep_memory(void);

/*
 * All of it added up by stack, with what is to be said of that; progress is shown. EXIT_DONE, or
 * another one with the reason said, as where there are no samples. The options' question, threads
 * and progress are set here.
 */
int query_args_fold(const struct invocation *invocation, const struct query_args *asked,
		    struct store_reader *reader, struct fold_options options,
		    struct fold *ret_fold);
