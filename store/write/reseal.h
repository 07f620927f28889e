/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Puts a tape in the place of the segment that it was read from: a newer generation of it, which
 * knows more. Beside a recorder, too, which only ever makes new segments and removes old ones: one
 * that was removed meanwhile stays so, and readers have the one or the other.
 */

#include "base/error.h"
#include "store/disk/segment-row.h"
#include "tape/tape.h"

struct store_resealer;

/* -EBUSY while there is another one; -ENOENT where there is no store. */
int store_resealer_open(const char *path, struct store_resealer **ret_resealer,
			struct error *error);
struct store_resealer *store_resealer_close(struct store_resealer *resealer);
DEFINE_CLEANUP(store_resealer, struct store_resealer *, store_resealer_close)

/*
 * The tape, of all of the segment, stays the caller's. 0; 1 when the segment is safe but the index
 * does not have it, as the text says: answers do not depend on it; -ENOENT when the segment is
 * gone.
 */
int store_resealer_put(struct store_resealer *resealer, const struct store_segment *segment,
		       struct tape *tape, struct error *error);

/* Removes a file of the segments that one like us left who was killed; nothing that is another's,
 * and nothing while there is one. */
void store_resealer_sweep(const char *path, const char *name);
