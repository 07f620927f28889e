/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The samples of a window as lines of JSON, in the order of time, as the cursor gives them: nothing
 * is held but the segments that are open. The last line is the coverage.
 *
 * {"time": RFC 3339 in UTC with microseconds, "cpu", "pid", "tid", "comm", "cgroup", "period",
 * "frames": [{"symbol", "module", "address", "offset"}, ...]}, leaf first. What is not known is
 * null. Addresses are texts, as perf has them: numbers of 64 bits do not survive every reader of
 * JSON. A thread without a name is ":TID", as in all other answers.
 */

#include "query/read/cursor.h"
#include "query/text/output.h"
#include "query/window/window.h"

/* Also how many samples there were. 0, or a negative errno of the cursor with its text. What output
 * does not take ends it too. */
int json_samples_write(struct cursor *cursor, const struct window *window, struct output *output,
		       uint64_t *ret_samples, struct error *error);
