/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Chooses quiet windows: stretches of the recording of one length, evenly spread, apart from the
 * window in question and from incidents.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "store/disk/segment-row.h"
#include "store/read/store-reader.h"

struct quiet_span {
	uint64_t from_ns, to_ns;
};

struct quiet_spans {
	array_of(struct quiet_span) list;
};

static inline void quiet_spans_done(struct quiet_spans *spans)
{
	array_done(&spans->list);
}

struct quiet_window {
	/* index of the segment that contains it */
	size_t segment;
	uint64_t from_ns, to_ns;
};

struct quiet_windows {
	array_of(struct quiet_window) list;
};

/* Returns whether [from, to) overlaps one of the spans. */
bool quiet_overlaps(const struct quiet_spans *spans, uint64_t from_ns, uint64_t to_ns);
/*
 * Adds the times that are not quiet: the stall, and all incidents between the moments, each with a
 * margin. Returns 0 or a negative errno.
 */
int quiet_exclude(struct store_reader *reader, struct quiet_span stall, struct quiet_span around,
		  struct quiet_spans *spans, struct error *error);
/*
 * Chooses at most `count` windows of `length_ns`, in the order of time. Returns 0 or -ENOMEM.
 */
int quiet_choose(const struct store_segments *segments, const struct quiet_spans *excluded,
		 uint64_t length_ns, size_t count, struct quiet_windows *ret_windows);
