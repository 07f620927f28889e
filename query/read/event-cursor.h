/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads the trace events of a window that pass a filter, in the order of the wall clock. An event
 * that counts others (TAPE_EVENT_COUNT) has no CPU and no thread. It passes only a filter that
 * restricts neither.
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
	/* the filter's options for frames and idle CPUs do not apply to events */
	struct question question;
	/* an empty list passes all */
	struct globs names;
	/* Appends the text of one event. Called in any order. Returns 0 or -ENOMEM. */
	int (*make)(void *context, const struct event_cursor_row *row, struct buffer *text);
	/*
	 * Receives the texts in time order. A negative return value ends the run and becomes its
	 * result.
	 */
	int (*take)(void *context, const void *text, size_t size);
	void *context;
};

/*
 * The events of one name that came too fast to be kept: their number, and the time on the wall
 * clock in which they came.
 */
struct event_cursor_overflow {
	uint64_t count, from_ns, to_ns;
};

struct event_cursor_totals {
	/* number of texts passed to take() */
	uint64_t count;
	/*
	 * The lost events of the coverage include all names. `only_counted` is the number of events
	 * with the selected names that came too fast and were only counted. `lost` is the number of
	 * events for which the kernel had no room; their names are unknown.
	 */
	uint64_t only_counted, lost;
	/* names of `overflows` */
	struct strings overflow_names;
	/* indexed by the number of the name, which is at least 1 */
	array_of(struct event_cursor_overflow) overflows;
	struct coverage coverage;
};

void event_cursor_totals_done(struct event_cursor_totals *totals);

/*
 * Runs the query. The caller frees *ret_totals with event_cursor_totals_done(), also after a
 * failure. Returns 0 or a negative errno.
 */
int event_cursor_run(struct store_reader *reader, const struct event_cursor_options *options,
		     struct event_cursor_totals *ret_totals, struct error *error);

/* Returns true if the event is a count of several other events. */
bool event_cursor_is_count(const struct tape *tape, const struct tape_event *event);

/*
 * Returns true if the event counts others that came too fast to be kept. The count of program
 * starts is different: it names each program and misses none.
 */
bool event_cursor_is_overflow(const struct tape *tape, const struct tape_event *event);

/* Appends a closing line of JSON: how many events were shown and how many are missing. */
void event_cursor_put_totals_json(const struct event_cursor_totals *totals, struct buffer *text);
/* Appends a text about the lost events of one name: "3818 of sched:sched_switch, FROM to TO". */
void event_cursor_describe_overflow(const struct event_cursor_totals *totals, uint32_t number,
				    bool utc, struct buffer *text);

/*
 * Appends the event as a line of JSON, or as a line for people. The line for people shows local
 * time unless `utc` is set.
 */
void event_cursor_put_json(const struct event_cursor_row *row, struct buffer *text);
void event_cursor_put_line(const struct event_cursor_row *row, bool utc, struct buffer *text);
