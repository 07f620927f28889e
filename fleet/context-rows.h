/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Puts rows of a segment into batches: figures of the host per minute, and losses. No samples. */

#include "base/error.h"
#include "fleet/batch-rows.h"
#include "store/read/store-reader.h"

/* Kinds of losses that only a fleet has: the host never shipped this time. */
#define LOSS_ROW_REMOVED 1000
#define LOSS_ROW_DAMAGED 1001

/* Puts a row for a time that was lost. */
void loss_row_put(struct batch_rows *rows, const char *host, uint64_t from_ns, uint64_t to_ns,
		  uint32_t kind, uint32_t cpu, uint64_t count);
/* Puts the losses that a segment notes. Returns 0 or the errors of store_reader_load(). */
int loss_rows_put(struct store_reader *reader, const struct store_segment *segment,
		  const char *host, struct batch_rows *rows, struct error *error);
/* Puts low, mean and high of each figure in each minute of a segment. */
int gauge_minutes_put(struct store_reader *reader, const struct store_segment *segment,
		      const char *host, struct batch_rows *rows, struct error *error);
