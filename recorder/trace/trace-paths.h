/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Counts events by path, for a bounded number of paths. Further paths count as TAPE_EVENT_OTHERS.
 */

#include "base/intern.h"
#include "tape/tape.h"

/* A zeroed struct is empty. */
struct trace_paths {
	struct strings paths;
	/* the counts by the number of the path; at 0, the count of all further paths */
	array_of(uint64_t) counts;
	uint64_t total;
	/* time of the first event, or of the last trace_paths_put() */
	uint64_t since_ns;
};

void trace_paths_done(struct trace_paths *paths);

/* Counts a path once. Returns 0 or -ENOMEM. */
int trace_paths_count(struct trace_paths *paths, const char *path, size_t size, uint64_t time_ns);
/*
 * Puts the counts into the tape as one event with the name `name`, highest count first, and starts
 * over. Does not put an event when all counts are 0. Returns 0 or -ENOMEM.
 */
int trace_paths_put(struct trace_paths *paths, const char *name, struct tape *tape,
		    uint64_t time_ns);
