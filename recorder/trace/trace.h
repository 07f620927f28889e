/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Handles trace events, one after another. It puts them into the tape with their fields named, and
 * from time to time reports what they add up to. It withstands a storm: it keeps a limited number
 * of each kind per second. It counts the rest in the ledger of losses and in the tape
 * (TAPE_EVENT_COUNT). Starts of programs are only counted, by path.
 */

#include "base/cleanup.h"
#include "recorder/trace/dead-cgroups.h"
#include "recorder/build/tape-builder.h"
#include "recorder/build/losses.h"
#include "recorder/trace/trace-set.h"

/* Per kind. */
#define TRACE_KEPT_A_SECOND 500

/* At most this many paths of programs are counted apart per minute; the others count as one. */
#define TRACE_PATHS_MAX 256

struct trace;

struct trace_options {
	/* borrowed; must outlive the object */
	const struct trace_set *set;
	/*
	 * Called when a network queue did not send for too long, with a line in the form of the
	 * kernel's log. May be NULL.
	 */
	void (*timeout)(void *context, uint64_t time_ns, const char *line);
	void *context;
};

/* Creates the object. Returns 0 or -ENOMEM. */
int trace_new(const struct trace_options *options, struct trace **ret_trace);
struct trace *trace_free(struct trace *trace);
DEFINE_CLEANUP(trace, struct trace *, trace_free)

/*
 * Adds a SAMPLE record with raw bytes to the builder's tape. Returns 0; -EBADMSG when the bytes do
 * not match the format; -ENOMEM.
 */
int trace_take(struct trace *trace, const struct perf_record *record, struct tape_builder *builder);
/* Notes that the kernel lost `count` of the events that are always recorded. */
void trace_lost(struct trace *trace, uint64_t count, uint64_t time_ns);

/*
 * Puts into the tape what is due now, for the time up to `until_ns`. At the end of a tape (`last`),
 * puts all that is left. Returns 0 or -ENOMEM.
 */
int trace_give(struct trace *trace, struct tape *tape, struct losses *losses, uint64_t until_ns,
	       bool last);

/* Returns the object that knows the dying cgroups. Valid as long as `trace`. */
const struct dead_cgroups *trace_dying(const struct trace *trace);
