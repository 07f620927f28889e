/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Replaces a segment with a newer version of its tape, with more names. Works beside a recorder,
 * because a recorder only adds and removes segments. A segment that the recorder removed meanwhile
 * stays removed. Readers see the old or the new version.
 */

#include "base/error.h"
#include "store/disk/segment-row.h"
#include "tape/tape.h"

struct store_resealer;

/*
 * Opens a store for resealing. Returns 0, -EBUSY if another process reseals it, or -ENOENT if the
 * store does not exist.
 */
int store_resealer_open(const char *path, struct store_resealer **ret_resealer,
			struct error *error);
struct store_resealer *store_resealer_close(struct store_resealer *resealer);
DEFINE_CLEANUP(store_resealer, struct store_resealer *, store_resealer_close)

/*
 * Replaces a segment with `tape`, which must contain the whole segment. The caller keeps the tape.
 * Returns 0; 1 with a text if the segment is safe but not indexed, which does not affect answers;
 * -ENOENT if the segment is gone; or another negative errno.
 */
int store_resealer_put(struct store_resealer *resealer, const struct store_segment *segment,
		       struct tape *tape, struct error *error);

/*
 * Removes a file that a killed resealer left in the folder of segments. Does nothing for other
 * names, or while a resealer runs.
 */
void store_resealer_sweep(const char *path, const char *name);
