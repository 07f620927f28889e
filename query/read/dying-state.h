/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the cgroups that were dying at the end of a window, and the programs that made and removed
 * them. The source is the recorder's events (tape/tape-events.h), so the recorder need not run any
 * more.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"
#include "tape/tape.h"

/* A larger number is unusual even on a host that starts containers (docs/AUDIT.md). */
#define DYING_STATE_MANY 2000

/* The dying cgroups of one kind. Users choose the names, so the names are not clean. */
struct dying_state_kind {
	char prefix[256];
	uint64_t count, oldest_s;
	/* programs and their processes; "" and 0: not known */
	char made_by[64], removed_by[64];
	uint64_t made_by_pid, removed_by_pid;
};

/* A zeroed state is empty. */
struct dying_state {
	/* wall clock of the events; 0: nothing was dying */
	uint64_t at_ns;
	/* sum over all kinds */
	uint64_t count;
	/* highest count first */
	array_of(struct dying_state_kind) kinds;
	/* the seconds for which the recorder has counted; it does not count earlier removals */
	uint64_t counted_s;
	/* the largest error of the counts */
	uint64_t unsure;
};

void dying_state_done(struct dying_state *state);
/*
 * Reads the state at the end of what is recorded in [from, to). Segments that cannot be read are
 * left out. Returns 0 or a negative errno.
 */
int dying_state_read(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		     struct dying_state *ret_state, struct error *error);
