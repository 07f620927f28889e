/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Why nothing was recorded between two segments, or behind the last: what those on both sides of a
 * gap say of how their recordings ended and began. A recorder that is killed cannot say so: it is
 * known from its not having said anything else.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/*
 * Puts what is known into the gaps of a finished coverage of which nothing is known yet. The
 * segments are those that overlap the window. 0 or a negative errno; segments that cannot be read
 * say nothing.
 */
int gap_causes_tell(struct store_reader *reader, const struct store_segments *segments,
		    const struct window *window, struct coverage *coverage, struct error *error);
