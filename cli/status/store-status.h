/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The state of a store and its recorder at one moment, for `status` and for metrics. */

#include "cli/answer/recorder-text.h"
#include "query/coverage/coverage.h"
#include "query/read/dying-state.h"
#include "store/read/store-reader.h"

struct store_status {
	/* Borrows from the reader. */
	const char *path;
	uint64_t now_ns;
	/* The store is a .tape file, into which nobody records. */
	bool is_file;
	/* The pid of the recorder; 0: no recorder runs. */
	int pid;
	uint64_t since_ns;
	struct recorder_text recorder;
	struct store_totals totals;
	struct store_limits limits;
	struct store_removed_ranges gone;
	/* The next three members count segments that began within the last day. */
	uint64_t day_lost;
	uint64_t day_bytes;
	uint64_t day_ns;
	/* The coverage of the last day, with its gaps; empty if nothing was recorded. */
	struct coverage day;
	/* Read only if no recorder runs: a recorder knows more. */
	struct dying_state dying;
	struct recorded_facts facts;
};

/*
 * Reads the members up to `limits`, and `day_lost`, `day_bytes` and `day_ns`, without opening
 * segments. The caller frees the status with store_status_done(), also after a failure. Returns 0
 * or a negative errno.
 */
int store_status_read_figures(struct store_reader *reader, struct store_status *ret_status,
			      struct error *error);
/*
 * Reads the whole status. The caller frees the status with store_status_done(), also after a
 * failure. Returns 0 or a negative errno.
 */
int store_status_read(struct store_reader *reader, struct store_status *ret_status,
		      struct error *error);
void store_status_done(struct store_status *status);

/*
 * Returns the gap that lasts until now, or NULL. If a recorder runs, no gap lasts until now, even
 * if the recorder has not written anything yet.
 */
const struct coverage_gap *store_status_last_gap(const struct store_status *status);
/* Returns the bytes per day at the rate of the last day; 0: unknown. */
uint64_t store_status_bytes_a_day(const struct store_status *status);
