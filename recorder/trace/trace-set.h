/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The trace events to record: the standard ones that this kernel has, and those that the user
 * requested. trace_set_open() reads their formats from tracefs.
 */

#include "base/bytes.h"
#include "base/error.h"
#include "recorder/perf/perf-events.h"
#include "recorder/trace/trace-format.h"

/* The use of an event, besides the tape. */
enum trace_role {
	/* no other use */
	TRACE_PLAIN,
	/* a cgroup was made */
	TRACE_MADE,
	TRACE_REMOVED,
	/* the cgroup is gone for good */
	TRACE_RELEASED,
	/* the kernel chose a process to kill because memory is short */
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
	/* the ids of the standard events, and of the requested events */
	array_of(uint16_t) always, asked;
};

/* Returns whether the text is "SYSTEM:EVENT", or several such names with commas between them. */
bool trace_set_check(const char *asked);

/*
 * Reads the formats below `root` ("" for this host). `asked` may be NULL. `lacks` names each event
 * of the standard set that is not available, as "tracefs" or "oom:mark_victim". Returns 0 or
 * -ENOMEM; -ENOENT when this kernel lacks an event in `asked`; -EACCES when this process may not
 * read its format. The error names the event.
 */
int trace_set_open(const char *root, const char *asked, struct trace_set **ret_set,
		   struct buffer *lacks, struct error *error);
struct trace_set *trace_set_close(struct trace_set *set);
DEFINE_CLEANUP(trace_set, struct trace_set *, trace_set_close)

/*
 * Finds an event by the id in its first bytes. Returns NULL when the set does not have the event.
 */
const struct trace_event *trace_set_find(const struct trace_set *set, uint16_t id);
