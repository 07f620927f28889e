/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Threads and functions of many hosts, by the sums of their minutes. The sums have the heaviest
 * stacks of each minute and host; the rest counts as samples without a name.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "fleet/ask/ask-rows.h"
#include "fleet/server.h"

struct name_question {
	/* For name_top_ask(): "function", "thread" or "host". */
	const char *by;
	/* Only this host; "": all. */
	const char *host;
	/* Only hosts with this value of a label; "": all. For name_diff_ask(): hosts inside. */
	const char *label;
	const char *value;
	/* Whole minutes count. */
	uint64_t from_ns;
	uint64_t to_ns;
};

struct name_top_row {
	const char *name;
	uint64_t samples;
	uint64_t hosts;
	/* The host with most of it. */
	const char *most_host;
	uint64_t most;
};

struct name_top {
	/* The heaviest name comes first. */
	array_of(struct name_top_row) list;
	uint64_t samples;
	/* Samples of idle CPUs, and of stacks that are not among the heaviest. */
	uint64_t unnamed;
	struct ask_rows rows;
};

/* Both return 0 or a negative errno with a text. Call the function "done" in either case. */
int name_top_ask(struct server *server, const struct name_question *question, struct name_top *top,
		 struct error *error);
void name_top_done(struct name_top *top);

struct name_diff_row {
	/* Without the letter of its kind. */
	const char *name;
	bool thread;
	/* Mean shares of all samples of a host. */
	double inside;
	double outside;
	/* Hosts whose share is above the mean of all hosts. */
	uint64_t inside_above;
	uint64_t outside_above;
	/* By Fisher's exact test over these hosts, two-sided, times the number of names. */
	double chance;
};

struct name_diff {
	uint64_t inside_hosts;
	uint64_t outside_hosts;
	uint64_t tries;
	/* Differences by more than chance come first, the greatest before others. */
	array_of(struct name_diff_row) list;
	struct ask_rows rows;
};

int name_diff_ask(struct server *server, const struct name_question *question,
		  struct name_diff *diff, struct error *error);
void name_diff_done(struct name_diff *diff);
