/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Explains why nothing was recorded between two segments or after the last. The segments on both
 * sides of a gap report how their recordings ended and began. A killed recorder cannot report its
 * end, so a missing report means that it was killed.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/*
 * Explains the gaps of a finished coverage that have no cause yet. `segments` are those that
 * overlap the window. A segment that cannot be read explains nothing. Returns 0 or a negative
 * errno.
 */
int gap_causes_explain(struct store_reader *reader, const struct store_segments *segments,
		       const struct window *window, struct coverage *coverage, struct error *error);
