/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds and reads the events of a tape. Names the events and fields that the recorder creates
 * itself.
 */

#include "tape/tape.h"

/*
 * An event whose first field is TAPE_EVENT_COUNT stands for several events. TAPE_EVENT_COUNT events
 * with this name happened in the TAPE_EVENT_SINCE nanoseconds before the event's time. The tape
 * does not contain these events one by one. The other fields count the events by kind, such as the
 * paths of execs, as far as the recorder had room.
 */
#define TAPE_EVENT_COUNT ".count"
#define TAPE_EVENT_SINCE ".since_ns"
/* The number of events that the other fields do not count. */
#define TAPE_EVENT_OTHERS ".others"

/*
 * An event for each kind of path under which cgroups are dying: they are removed, but something
 * charged to them keeps kernel memory in use. The recorder writes the event at the begin of each
 * tape and once a minute. It also does so when the number of cgroups has doubled or their maker has
 * changed. The gauge TAPE_GAUGE_DYING with the prefix is the number of these cgroups over time.
 * With TAPE_GAUGE_OLDEST behind that name, a gauge is the seconds for which the oldest cgroup has
 * been dying.
 */
#define TAPE_EVENT_DYING "perftape:dying_cgroups"
#define TAPE_DYING_PREFIX "prefix"
#define TAPE_DYING_COUNT "count"
#define TAPE_DYING_OLDEST "oldest_s"
/* The comm that made most of the cgroups, or "" if the recorder did not see any maker. */
#define TAPE_DYING_MADE_BY "made_by"
#define TAPE_DYING_REMOVED_BY "removed_by"
/* One process of that name. Absent without a name, and in older tapes. */
#define TAPE_DYING_MADE_BY_PID "made_by_pid"
#define TAPE_DYING_REMOVED_BY_PID "removed_by_pid"
/*
 * The seconds for which the recorder has counted. The recorder does not count cgroups that were
 * removed earlier.
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
 * Ends the names of gauges "unit/NAME/made" and "containers/PATH/made". These gauges count the
 * cgroups that somebody made for the unit or container, according to the kernel's trace events.
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
 * Appends an event that stands for several (TAPE_EVENT_COUNT). It lacks the fields that only a
 * single event of its kind has. Returns 0 or -ENOMEM.
 */
int tape_add_count(struct tape *tape, const struct tape_event *event, const char *name,
		   uint64_t count, uint64_t since_ns);
/* Adds the thread for events without a thread: pid and tid 0, and an empty name. */
int tape_add_no_thread(struct tape *tape, uint32_t *ret_thread);

/* Returns the value of an event's field, or NULL if the event does not have it. */
const char *tape_event_field(const struct tape *tape, const struct tape_event *event,
			     const char *key);
/* Returns the number in an event's field, at most INT64_MAX; 0 if the event does not have it. */
uint64_t tape_event_number(const struct tape *tape, const struct tape_event *event,
			   const char *key);
/* Copies an event's field as far as it fits; "" if the event does not have it. */
void tape_event_copy(const struct tape *tape, const struct tape_event *event, const char *key,
		     char *to, size_t size);
/* Sorts the events by time; the sort is stable. Returns 0 or -ENOMEM. */
int tape_sort_events(struct tape *tape);
