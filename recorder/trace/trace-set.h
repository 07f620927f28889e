/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The trace events that are recorded: the standard ones, as far as this kernel has them, and those
 * that the user asked for. Their formats are read from tracefs once.
 */

#include "base/bytes.h"
#include "base/error.h"
#include "recorder/perf/perf-events.h"
#include "recorder/trace/trace-format.h"

/* How an event is used, apart from being kept. */
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
	/* ids of the events */
	array_of(uint16_t) always, asked;
};

/* Returns whether the text is "SYSTEM:EVENT", or several with commas between them. */
bool trace_set_check(const char *asked);

/*
 * Reads the formats below `root` ("" for this host). `asked` may be NULL. `lacks` names each event
 * of the standard set that is not available, as "tracefs" or "oom:mark_victim". For an event in
 * `asked`, returns -ENOENT when this kernel does not have it and -EACCES when we may not read it;
 * the error names it. Returns -ENOMEM, too.
 */
int trace_set_open(const char *root, const char *asked, struct trace_set **ret_set,
		   struct buffer *lacks, struct error *error);
struct trace_set *trace_set_close(struct trace_set *set);
DEFINE_CLEANUP(trace_set, struct trace_set *, trace_set_close)

/* Finds an event by the id in its first bytes. Returns NULL when it is not in the set. */
const struct trace_event *trace_set_find(const struct trace_set *set, uint16_t id);
