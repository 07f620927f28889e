/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds whether a recorder records this host, and if not, why: the first line of `status`. */

#include "cli/status/store-status.h"

enum recording_state {
	RECORDING_GOOD,
	/* The recorder has not reported for seconds. */
	RECORDING_STALLED,
	/* The store cannot be written, so samples wait in memory. */
	RECORDING_BLOCKED,
	/* Another command of perftape holds the store. */
	RECORDING_HELD,
	RECORDING_NOT,
	/* The store is a snapshot: a file that was cut out of a store. */
	RECORDING_SNAPSHOT,
};

enum recording_state recording_state_of(const struct store_status *status);
/* Returns "recording", "NOT RECORDING" and so on. */
const char *recording_state_name(enum recording_state state);
/*
 * Appends the explanation of the state. For a running recorder, this is the process and its start.
 * Otherwise it is since when and why no recorder runs, and the command that starts one.
 */
void recording_state_explain(const struct store_status *status, bool utc, struct buffer *text);
