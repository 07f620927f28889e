/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* How often something happened under which path, up to a number of paths; what has no place counts
 * under TAPE_EVENT_OTHERS. */

#include "base/intern.h"
#include "tape/tape.h"

/* Zeroed is empty. */
struct trace_paths {
	struct strings paths;
	/* by the path's number; of 0 those without a place */
	array_of(uint64_t) counts;
	uint64_t total;
	/* the first of them, or when they were put last */
	uint64_t since_ns;
};

void trace_paths_done(struct trace_paths *paths);

/* 0 or -ENOMEM. */
int trace_paths_count(struct trace_paths *paths, const char *path, size_t size, uint64_t time_ns);
/* As one event of that name, the most first, and begins anew. Nothing when there were none. 0 or
 * -ENOMEM. */
int trace_paths_put(struct trace_paths *paths, const char *name, struct tape *tape,
		    uint64_t time_ns);
