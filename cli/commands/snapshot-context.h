/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The data that a snapshot needs besides the samples of its window, so that one file explains
 * itself. These are the window, the incidents of the store's notes, and the usual load of the host.
 */

#include "base/intern.h"
#include "query/read/loader.h"
#include "query/sums/tally.h"

/* An incident in the store's notes. Other incidents are in the segments. */
struct noted_incident {
	uint64_t id;
	uint64_t time_ns, stall_ns;
	/* The kernel's stamp, in the boot `boot_id`; 0: unknown. */
	uint64_t perf_ns;
	uint32_t severity;
	/* Ids of strings. */
	uint32_t kind, text, source, fields, boot_id;
};

/* Zeroed is empty. */
struct snapshot_context {
	struct strings strings;
	/* Sorted by time. Incidents before index `next` are already in a tape. */
	array_of(struct noted_incident) noted;
	size_t next;
	/* The names in the samples that the snapshot contains. */
	struct tally *names;
};

/* Reads the incidents of the window. Returns 0 or a negative errno. */
int snapshot_context_begin(struct snapshot_context *context, struct store_reader *reader,
			   const struct window *window, struct error *error);
void snapshot_context_done(struct snapshot_context *context);
/*
 * Adds the window and the incidents to a tape of the snapshot. The last tape also gets the
 * baseline. Returns 0 or a negative errno.
 */
int snapshot_context_add(struct snapshot_context *context, const struct loader *loader,
			 struct tape *tape, bool is_last, struct error *error);
