/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a segment's samples add up to, per minute: its heaviest stacks of functions, by thread name,
 * and all others as one row.
 */

#include "base/error.h"
#include "fleet/batch-rows.h"
#include "fleet/stack-names.h"
#include "store/read/store-reader.h"

/* The number of stacks of a minute that have rows of their own. */
#define MINUTE_ROWS_HEAVIEST 200

/*
 * Puts the rows of a segment. Reads the segment in slices, so that memory does not grow with the
 * number of CPUs. Returns 0; -ESTALE if the segment changed meanwhile; or the errors of
 * store_reader_load().
 */
int minute_rows_put(struct store_reader *reader, const struct store_segment *segment,
		    const char *host, struct sent_stacks *sent, struct batch_rows *rows,
		    struct error *error);
