/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Descriptions of the segments of a store, and the times of the segments that are gone. The index,
 * the folders and both sides of the store exchange them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* The description of a segment for a reader that has not loaded it. Times are of the wall clock. */
struct store_segment {
	/* The file's name in segments/ or in spool/. */
	char name[64];
	char boot_id[40];
	uint64_t sequence;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t perf_begin_ns;
	uint64_t perf_end_ns;
	uint64_t samples;
	/* The number of samples that are known to be lost. */
	uint64_t lost;
	uint64_t incidents;
	uint64_t bytes;
	/* The offset of the segment, if the file has several segments. */
	uint64_t offset;
	/* The recorder still fills the tape, or was killed before sealing it. */
	bool unsealed;
	/*
	 * The reason why the segment's header is unreadable, or "". With a reason, the times may be
	 * estimates from the neighbouring segments.
	 */
	char damage[160];
	/* The file disappeared, and retention did not remove it. `damage` then says so, too. */
	bool vanished;
};

struct store_segments {
	array_of(struct store_segment) list;
};

static inline void store_segments_done(struct store_segments *segments)
{
	array_done(&segments->list);
}

/* A range of the wall clock whose segments are gone. */
struct store_removed_range {
	uint64_t from_ns;
	uint64_t to_ns;
	/* The files disappeared, and retention did not remove them. */
	bool vanished;
};

struct store_removed_ranges {
	array_of(struct store_removed_range) list;
};

static inline void store_removed_ranges_done(struct store_removed_ranges *ranges)
{
	array_done(&ranges->list);
}
