/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The index: one row a segment, found by wall clock. SQLite in WAL mode; sqlite3.h is included nowhere else. It is a cache of the
 * segments: what is not in it is put back when the writer opens the store, and it can be thrown away at any time.
 */

#include <stdbool.h>

#include "base/error.h"
#include "store/store-reader.h"

struct index;

/*
 * For writing, the file is made where it is missing. For reading, also where WAL cannot be used (read-only mounts), unless there is
 * something in the WAL that could not be seen. -EPROTONOSUPPORT when a newer perftape made it, -ESTALE when an older one did or
 * when it would say what no longer is so; -EBADMSG when it is damaged.
 */
int index_open(const char *path, bool writing, struct index **ret_index, struct error *error);
struct index *index_close(struct index *index);
DEFINE_CLEANUP(index, struct index *, index_close)

/* Takes away the files of an index. Nobody may have it open for writing. */
void index_discard(const char *path);

/* Adds or replaces the row of that name. */
int index_put(struct index *index, const struct store_segment *segment, struct error *error);
/* Takes out the row of that name, if it is there. */
int index_remove(struct index *index, const char *name, struct error *error);
/* 1 when there is a row of that name, else 0. */
int index_knows(struct index *index, const char *name, struct error *error);
/* Appends the segments that overlap [from, to), by begin and sequence. */
int index_find(struct index *index, uint64_t from_ns, uint64_t to_ns,
	struct store_segments *segments, struct error *error);
int index_near(struct index *index, uint64_t from_ns, uint64_t to_ns, uint64_t *ret_before_ns,
	uint64_t *ret_after_ns, struct error *error);
