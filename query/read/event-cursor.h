/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The trace events of a window that pass a filter, in the order of the wall clock. What tells of
 * several (TAPE_EVENT_COUNT) is of no CPU and no thread: it passes only a filter that asks for
 * none.
 */

#include "query/window/glob.h"
#include "base/intern.h"
#include "query/read/loader.h"

struct event_cursor_row {
	uint64_t realtime_ns;
	const struct tape *tape;
	const struct tape_event *event;
};

struct event_cursor_options {
	/* frames and idle CPUs are no matter of events */
	struct question question;
	/* of none, all */
	struct globs names;
	/* Makes the text of one, in any order. 0 or -ENOMEM. */
	int (*make)(void *context, const struct event_cursor_row *row, struct buffer *text);
	/* Takes texts, in order. A negative answer ends it and is handed on. */
	int (*take)(void *context, const void *text, size_t size);
	void *context;
};

/* Of one name: how many were too many at once, and are only counted, in which time of the wall
 * clock. */
struct event_cursor_over {
	uint64_t count, from_ns, to_ns;
};

struct event_cursor_told {
	/* of texts */
	uint64_t count;
	/*
	 * The coverage's lost events are of all names. Of these, those of the asked names that were
	 * too many at once, and are only counted; and those that the kernel had no room for, which
	 * have no name.
	 */
	uint64_t only_counted, nameless;
	/* of the asked ones, */
	struct strings over_names;
	/* by number, from 1 on */
	array_of(struct event_cursor_over) over;
	struct coverage coverage;
};

void event_cursor_told_done(struct event_cursor_told *told);

/* What is told is the caller's, also on failure. 0 or a negative errno. */
int event_cursor_run(struct store_reader *reader, const struct event_cursor_options *options,
		     struct event_cursor_told *ret_told, struct error *error);

/* Does it tell of several? */
bool event_cursor_is_count(const struct tape *tape, const struct tape_event *event);

/* Does it tell of those that were too many at once? Of programs that start it says which, and none
 * is passed over. */
bool event_cursor_is_passed_over(const struct tape *tape, const struct tape_event *event);

/* How many there are, and of what how many are missing: a line of JSON for the end. */
void event_cursor_put_told_json(const struct event_cursor_told *told, struct buffer *text);
/* What one name's is: "3818 of sched:sched_switch, FROM to TO". */
void event_cursor_describe_over(const struct event_cursor_told *told, uint32_t number, bool utc,
				struct buffer *text);

/* A line of JSON, and one for people. Times of those are local, or in UTC. */
void event_cursor_put_json(const struct event_cursor_row *row, struct buffer *text);
void event_cursor_put_line(const struct event_cursor_row *row, bool utc, struct buffer *text);
