/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * An answer of `top`: the sums of a window, the usual values, and the screen or the JSON of both.
 */

#include "cli/answer/query-args.h"
#include "cli/options/command.h"
#include "draw/terminal.h"
#include "query/read/dying-state.h"
#include "query/sums/baseline.h"
#include "query/sums/ranking.h"
#include "query/sums/spikes.h"
#include "query/sums/window-sums.h"

struct top {
	struct query_args args;
	/* The start of the answer, on CLOCK_MONOTONIC. */
	uint64_t started_ns;
	uint64_t around_ns;
	enum tally_by by;
	/* The screen is redrawn each second. */
	bool live;
	/* Limit of rows; 0: as many as fit, or all for programs. */
	size_t rows;
	struct terminal terminal;
	unsigned int threads;
	struct window_sums sums;
	struct baseline baseline;
	struct ranking ranking;
	/* The CPUs that were full. */
	struct spikes full;
	struct dying_state dying;
};

/* The names of the groupings in the order of `enum tally_by`; NULL ends the list. */
extern const char *const top_by_names[];

/* Frees the results. Keeps the arguments and the baseline. */
void top_reset(struct top *top);
void top_done(struct top *top);
/*
 * Reads the window. Afterwards `sums` tells whether it has samples. Shows progress unless
 * `quiet`. Returns 0 or a negative errno.
 */
int top_read_window(struct top *top, struct store_reader *reader, bool quiet, struct error *error);
/*
 * Compares a window that has samples with the usual values, and finds the CPUs that were full.
 * Reuses a baseline that was read before. Returns 0 or a negative errno.
 */
int top_compare(struct top *top, struct store_reader *reader, struct error *error);
/* Puts the screen. `lines_below` is the number of lines that the caller puts below. */
int top_put_screen(const struct invocation *invocation, const struct top *top, bool is_file,
		   unsigned int lines_below, struct buffer *text);
void top_put_json(struct top *top, struct buffer *text);
