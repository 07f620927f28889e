/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds programs and libraries that changed: files that run in the stall's segment with another
 * build-id than under the same path in quiet segments.
 */

#include "base/array.h"
#include "base/intern.h"
#include "query/explain/evidence.h"
#include "tape/tape.h"

struct binary {
	/* numbers of `texts` */
	uint32_t path, path_and_id;
	bool in_stall, in_quiet;
};

/* A zeroed struct is empty. */
struct binaries {
	struct strings texts;
	/* indexed by path_and_id */
	array_of(struct binary) list;
};

/* Adds the files of a tape that have a build-id. Returns 0 or a negative errno. */
int binaries_add(struct binaries *binaries, const struct tape *tape, bool in_stall);
void binaries_done(struct binaries *binaries);
/* Writes the changed files into the evidence. Returns 0 or a negative errno. */
int binaries_find_changed(const struct binaries *binaries, struct evidence *evidence);
