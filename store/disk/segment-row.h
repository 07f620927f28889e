/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Descriptions of segments: those that the store has, and the times of those that it had. The
 * index, the folders and both sides of the store pass them on.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* What is known of one segment before it is loaded. Times are of the wall clock. */
struct store_segment {
	/* in segments/, or in spool/ */
	char name[64];
	char boot_id[40];
	uint64_t sequence;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t perf_begin_ns;
	uint64_t perf_end_ns;
	uint64_t samples;
	/* samples that are known to be lost */
	uint64_t lost;
	uint64_t incidents;
	uint64_t bytes;
	/* in a file of several */
	uint64_t offset;
	/* it is being recorded, or its recorder was killed */
	bool unsealed;
	/* "" or why its header cannot be read; its times may then be those that its neighbours
	 * leave free */
	char damage[160];
	/* its file is gone, and not by retention: that is its damage */
	bool vanished;
};

struct store_segments {
	array_of(struct store_segment) list;
};

/* A stretch of the wall clock of which there were segments that are gone. */
struct store_gone {
	uint64_t from_ns;
	uint64_t to_ns;
	/* their files were taken away, and not by retention */
	bool vanished;
};

struct store_gone_list {
	array_of(struct store_gone) list;
};
