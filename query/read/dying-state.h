/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Which cgroups were dying at the end of a window, and which programs made and removed them,
 * according to the recorder's events (tape/tape-events.h). The recorder need not run any more.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"
#include "tape/tape.h"

/* Fewer are usual on a host that starts containers (docs/AUDIT.md). */
#define DYING_STATE_MANY 2000

/* Names are those of users and not clean. */
struct dying_state_kind {
	char prefix[256];
	uint64_t count, oldest_s;
	/* "": not seen; a number of 0: not known */
	char made_by[64], removed_by[64];
	uint64_t made_by_pid, removed_by_pid;
};

/* Zeroed is empty. */
struct dying_state {
	/* wall clock of the events; 0: nothing was dying */
	uint64_t at_ns;
	/* sum over all kinds */
	uint64_t count;
	/* highest count first */
	array_of(struct dying_state_kind) kinds;
	/* older removals are not counted */
	uint64_t counted_s;
	/* the counts may be off by this many */
	uint64_t unsure;
};

void dying_state_done(struct dying_state *state);
/*
 * Reads the state at the end of what is recorded in [from, to). Segments that cannot be read are
 * left out. Returns 0 or a negative errno.
 */
int dying_state_read(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		     struct dying_state *ret_state, struct error *error);
