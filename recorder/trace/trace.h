/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What becomes of trace events, each in its turn: they are put into the tape with their fields
 * named, and what follows from them is told now and then. A storm is bounded: of one kind so many a
 * second are kept, the rest is counted, in the ledger of losses and in the tape (TAPE_EVENT_COUNT).
 * Programs that start are only counted, by path.
 */

#include "base/cleanup.h"
#include "recorder/trace/dead-cgroups.h"
#include "recorder/build/tape-builder.h"
#include "recorder/build/losses.h"
#include "recorder/trace/trace-set.h"

/* Of one kind. */
#define TRACE_KEPT_A_SECOND 500

/* Different paths of programs in a minute; the rest counts as one. */
#define TRACE_PATHS_MAX 256

struct trace;

struct trace_options {
	/* borrowed */
	const struct trace_set *set;
	/* A network queue did not send for too long: a line as the kernel's log might have it. May
	 * be NULL. */
	void (*timeout)(void *context, uint64_t time_ns, const char *line);
	void *context;
};

/* 0 or -ENOMEM. */
int trace_new(const struct trace_options *options, struct trace **ret_trace);
struct trace *trace_free(struct trace *trace);
DEFINE_CLEANUP(trace, struct trace *, trace_free)

/* A SAMPLE record with raw bytes, into the filler's tape. 0; -EBADMSG when they are not what the
 * format says; -ENOMEM. */
int trace_take(struct trace *trace, const struct perf_record *record, struct tape_builder *filler);
/* The kernel had no room for so many of the events that are always recorded. */
void trace_lost(struct trace *trace, uint64_t count, uint64_t time_ns);

/*
 * Puts into the tape what is told now and then, up to a moment in it or its end; the last time of
 * this tape all that there is. 0 or -ENOMEM.
 */
int trace_give(struct trace *trace, struct tape *tape, struct losses *losses, uint64_t until_ns,
	       bool last);

/* Which cgroups are dying, as it knows. */
const struct dead_cgroups *trace_dying(const struct trace *trace);
