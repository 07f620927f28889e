/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Which trace events are recorded: those that always are, as far as this kernel has them, and those
 * that were asked for. Their formats are read from tracefs, once.
 */

#include "base/bytes.h"
#include "base/error.h"
#include "recorder/perf/perf-events.h"
#include "recorder/trace/trace-format.h"

/* What is done with an event, beside keeping it. */
enum trace_role {
	/* nothing */
	TRACE_PLAIN,
	/* a cgroup was made */
	TRACE_MADE,
	TRACE_REMOVED,
	/* it is gone for good */
	TRACE_RELEASED,
	/* somebody was chosen to be killed for want of memory */
	TRACE_VICTIM,
	/* a network queue did not send for too long */
	TRACE_TIMEOUT,
	/* a program starts: counted by path, and kept only when asked for */
	TRACE_EXEC,
};

struct trace_event {
	struct trace_format *format;
	enum trace_role role;
	bool asked;
};

struct trace_set {
	array_of(struct trace_event) events;
	/* their numbers */
	array_of(uint16_t) always, asked;
};

/* Is that "SYSTEM:EVENT", or several with commas between them? */
bool trace_set_check(const char *asked);

/*
 * Of the host below the root, "" for this one; asked may be NULL. What there is none of is named in
 * `lacks`, "tracefs" or "oom:mark_victim", if it was not asked for. Else: -ENOENT where this
 * kernel does not have it, -EACCES where it may not be read, with a text that names it; -ENOMEM.
 */
int trace_set_open(const char *root, const char *asked, struct trace_set **ret_set,
		   struct buffer *lacks, struct error *error);
struct trace_set *trace_set_close(struct trace_set *set);
DEFINE_CLEANUP(trace_set, struct trace_set *, trace_set_close)

/* By the number in its first bytes; NULL for one that nobody wanted. */
const struct trace_event *trace_set_find(const struct trace_set *set, uint16_t id);
