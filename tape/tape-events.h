/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The events of a tape: how they are put there, and what the names and fields are that the recorder
 * makes itself. */

#include "tape/tape.h"

/*
 * An event whose first field is TAPE_EVENT_COUNT is no single one. So many of its name happened up
 * to its time, from TAPE_EVENT_SINCE nanoseconds before on, that are not in the tape one by one.
 * Its other fields say of what they were, and how many of each: of execs the paths, as far as there
 * was room.
 */
#define TAPE_EVENT_COUNT ".count"
#define TAPE_EVENT_SINCE ".since_ns"
#define TAPE_EVENT_OTHERS ".others" /* of what there was no room to tell */

/*
 * Once a minute, and earlier where there are twice as many, for each kind of path under which
 * cgroups are removed and not gone: what keeps them still holds memory of the kernel's. The gauges
 * of the same name, TAPE_GAUGE_DYING and the prefix, say how many over time, with TAPE_GAUGE_OLDEST
 * behind it for how many seconds the oldest has been dying.
 */
#define TAPE_EVENT_DYING "perftape:dying_cgroups"
#define TAPE_DYING_PREFIX "prefix"
#define TAPE_DYING_COUNT "count"
#define TAPE_DYING_OLDEST "oldest_s"
#define TAPE_DYING_MADE_BY "made_by" /* the comm that made most of them; "" where none was seen */
#define TAPE_DYING_REMOVED_BY "removed_by"
#define TAPE_DYING_COUNTED "counted_s" /* those removed before are not known */
#define TAPE_DYING_UNSURE "unsure" /* trace events lost since: so many more or fewer it may be */
#define TAPE_GAUGE_DYING "dying-cgroups"
#define TAPE_GAUGE_OLDEST "/oldest_s"

/* Behind "unit/NAME" and "containers/PATH": a counter of the cgroups that were made for it, by the
 * kernel's trace events. */
#define TAPE_GAUGE_MADE "/made"

/* An event without fields, of the time, CPU and thread that are given. 0 or -ENOMEM. */
int tape_add_event(struct tape *tape, const struct tape_event *event, const char *name);
/* One field more for the event that was added last. 0 or -ENOMEM. */
int tape_add_event_field(struct tape *tape, const char *key, const char *value, size_t value_size);
/* The same for a number. */
int tape_add_event_number(struct tape *tape, const char *key, uint64_t value);
/* One that tells of several (TAPE_EVENT_COUNT), without saying of what they were. 0 or -ENOMEM. */
int tape_add_count(struct tape *tape, const struct tape_event *event, const char *name,
		   uint64_t count, uint64_t since_ns);
/* The thread of what no thread did: pid and tid 0, without a name. */
int tape_add_no_thread(struct tape *tape, uint32_t *ret_thread);

/* The value of an event's field; NULL where it has none of that name. */
const char *tape_event_field(const struct tape *tape, const struct tape_event *event,
			     const char *key);
/* Puts the events into time order, stable. 0 or -ENOMEM. */
int tape_sort_events(struct tape *tape);
