/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes the samples of a window as JSON Lines in time order. Only the segments that the cursor has
 * open are in memory. The last line is the coverage.
 *
 * {"time": RFC 3339 in UTC with microseconds, "cpu", "pid", "tid", "comm", "cgroup", "period",
 * "frames": [{"symbol", "module", "address", "offset"}, ...]}, leaf first. Unknown values are null.
 * Addresses are strings, because many JSON readers cannot represent 64-bit numbers. A thread
 * without a name is ":TID", as in all other answers.
 */

#include "query/read/cursor.h"
#include "query/text/output.h"
#include "query/window/window.h"

/*
 * Writes all lines and counts the samples. Returns 0, or a negative errno of the cursor with its
 * message. If writing fails, stops and returns 0, because output_commit() reports that failure.
 */
int json_samples_write(struct cursor *cursor, const struct window *window, struct output *output,
		       uint64_t *ret_samples, struct error *error);
