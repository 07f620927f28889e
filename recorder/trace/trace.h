/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Handles trace events, one after another. It puts events into the tape, with the names of their
 * fields, and regularly also sums of events. In a storm, it keeps a limited number of events of
 * each kind per second. It counts the rest in the losses and in the tape (TAPE_EVENT_COUNT). It
 * only counts starts of programs, by path.
 */

#include "base/cleanup.h"
#include "recorder/trace/dead-cgroups.h"
#include "recorder/build/tape-builder.h"
#include "recorder/build/losses.h"
#include "recorder/trace/trace-set.h"

/* The greatest number of events of one kind that are kept per second. */
#define TRACE_KEPT_A_SECOND 500

/*
 * The greatest number of program paths with separate counts per minute; other paths have one count.
 */
#define TRACE_PATHS_MAX 256

struct trace;

struct trace_options {
	/* borrowed; must outlive the object */
	const struct trace_set *set;
	/*
	 * The object calls it when a network queue did not send for too long. `line` has the form
	 * of the kernel's log. May be NULL.
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
/* Notes that the kernel lost `count` of the standard events. */
void trace_lost(struct trace *trace, uint64_t count, uint64_t time_ns);

/*
 * Puts the sums that are due into the tape, for the time up to `until_ns`. At the end of a tape
 * (`last`), puts all remaining sums. Returns 0 or -ENOMEM.
 */
int trace_give(struct trace *trace, struct tape *tape, struct losses *losses, uint64_t until_ns,
	       bool last);

/* Returns the object that counts dying cgroups. Valid as long as `trace`. */
const struct dead_cgroups *trace_dying(const struct trace *trace);
