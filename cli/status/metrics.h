/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The metrics of a store and its recorder. Families of the recorder exist only while a recorder
 * runs, so a monitoring system sees when the recorder ends.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/status/metrics-text.h"
#include "store/read/store-reader.h"

/* The part of one text's knowledge of the store that the next text need not read again. */
struct metrics_kept;
/* Returns NULL without memory. */
struct metrics_kept *metrics_kept_new(void);
struct metrics_kept *metrics_kept_free(struct metrics_kept *kept);
DEFINE_CLEANUP(metrics_kept, struct metrics_kept *, metrics_kept_free)

/*
 * Appends all metrics, of one moment. `kept` is for texts of one store. Returns 0 or a negative
 * errno.
 */
int metrics_put(struct metrics_kept *kept, struct store_reader *reader, enum metrics_form form,
		struct buffer *text, struct error *error);
