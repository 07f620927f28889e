/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The trace events of a window that pass a filter, in the order of the wall clock. What tells of several (TAPE_EVENT_COUNT) is of no CPU and no
 * thread: it passes only a filter that asks for none.
 */

#include "query/glob.h"
#include "query/loader.h"

struct events_row {
	uint64_t realtime_ns;
	const struct tape *tape;
	const struct tape_event *event;
};

struct events_options {
	struct question question; /* frames and idle CPUs are no matter of events */
	struct globs names; /* of none, all */
	/* Makes the text of one, in any order. 0 or -ENOMEM. */
	int (*make)(void *context, const struct events_row *row, struct buffer *text);
	/* Takes texts, in order. A negative answer ends it and is handed on. */
	int (*take)(void *context, const void *text, size_t size);
	void *context;
};

struct events_told {
	uint64_t count; /* of texts */
	/*
	 * The coverage's lost events are of all names. Of these, those of the asked names that were too many at once, and are only counted; and those
	 * that the kernel had no room for, which have no name.
	 */
	uint64_t only_counted, nameless;
	struct coverage coverage; /* its gaps are the caller's */
};

/* 0 or a negative errno. */
int events_run(struct store_reader *reader, const struct events_options *options,
	struct events_told *ret_told, struct error *error);

/* Does it tell of several? */
bool events_is_count(const struct tape *tape, const struct tape_event *event);

/* A line of JSON, and one for people. Times of those are local, or in UTC. */
void events_put_json(const struct events_row *row, struct buffer *text);
void events_put_line(const struct events_row *row, bool utc, struct buffer *text);
