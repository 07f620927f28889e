/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* All samples of a window as rows, with the window itself and the stacks. */

#include "base/error.h"
#include "fleet/outbox.h"
#include "fleet/stack-names.h"
#include "store/read/store-reader.h"

struct sample_rows {
	struct store_reader *reader;
	const char *host;
	struct sent_stacks *sent;
	struct batch_rows *rows;
	/* Takes rows away while the window is read. */
	struct outbox *outbox;
};

/*
 * Puts the samples of a segment in [from, to) of the wall clock, and a row of the window. Returns 0
 * or the errors of store_reader_load() and outbox_take().
 */
int sample_rows_put(const struct sample_rows *put, const struct store_segment *segment,
		    uint64_t from_ns, uint64_t to_ns, struct error *error);
