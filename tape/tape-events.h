/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds and reads the events of a tape. Names the events and fields that the recorder creates
 * itself.
 */

#include "tape/tape.h"

/*
 * An event whose first field is TAPE_EVENT_COUNT stands for several events. That number of events
 * with its name happened until its time, within the last TAPE_EVENT_SINCE nanoseconds. The tape
 * does not have them one by one. The other fields count them by kind, such as the paths of execs,
 * as far as there was room.
 */
#define TAPE_EVENT_COUNT ".count"
#define TAPE_EVENT_SINCE ".since_ns"
/* The number of events for which there was no field. */
#define TAPE_EVENT_OTHERS ".others"

/*
 * An event for each kind of path under which cgroups are dying: they are removed, but something
 * charged to them keeps kernel memory in use. The recorder writes it at the begin of each tape and
 * once a minute, and earlier if their number has doubled or their maker has changed. The gauge
 * TAPE_GAUGE_DYING with the prefix counts them over time. With TAPE_GAUGE_OLDEST behind it, the
 * gauge has the seconds for which the oldest has been dying.
 */
#define TAPE_EVENT_DYING "perftape:dying_cgroups"
#define TAPE_DYING_PREFIX "prefix"
#define TAPE_DYING_COUNT "count"
#define TAPE_DYING_OLDEST "oldest_s"
/* The comm that made most of them, or "" if the recorder saw none. */
#define TAPE_DYING_MADE_BY "made_by"
#define TAPE_DYING_REMOVED_BY "removed_by"
/* One process of that name. Absent without a name, and in older tapes. */
#define TAPE_DYING_MADE_BY_PID "made_by_pid"
#define TAPE_DYING_REMOVED_BY_PID "removed_by_pid"
/*
 * The seconds for which the recorder has counted. It does not count cgroups that were removed
 * earlier.
 */
#define TAPE_DYING_COUNTED "counted_s"
/*
 * The number of trace events that were lost during the counting. The count of cgroups may be off by
 * that number.
 */
#define TAPE_DYING_UNSURE "unsure"
#define TAPE_GAUGE_DYING "dying-cgroups"
#define TAPE_GAUGE_OLDEST "/oldest_s"

/*
 * Ends the names of gauges "unit/NAME/made" and "containers/PATH/made". They count the cgroups that
 * were made for the unit or container, from the kernel's trace events.
 */
#define TAPE_GAUGE_MADE "/made"

/*
 * Appends an event without fields, with the time, CPU and thread of `event`. Returns 0 or -ENOMEM.
 */
int tape_add_event(struct tape *tape, const struct tape_event *event, const char *name);
/* Appends a field to the event that was added last. Returns 0 or -ENOMEM. */
int tape_add_event_field(struct tape *tape, const char *key, const char *value, size_t value_size);
/* Appends a numeric field. Returns 0 or -ENOMEM. */
int tape_add_event_number(struct tape *tape, const char *key, uint64_t value);
/*
 * Appends an event that stands for several (TAPE_EVENT_COUNT), without fields by kind. Returns 0 or
 * -ENOMEM.
 */
int tape_add_count(struct tape *tape, const struct tape_event *event, const char *name,
		   uint64_t count, uint64_t since_ns);
/* Adds the thread for events without a thread: pid and tid 0, no name. */
int tape_add_no_thread(struct tape *tape, uint32_t *ret_thread);

/* Returns the value of an event's field, or NULL if the event does not have it. */
const char *tape_event_field(const struct tape *tape, const struct tape_event *event,
			     const char *key);
/* Sorts the events by time; the sort is stable. Returns 0 or -ENOMEM. */
int tape_sort_events(struct tape *tape);
