/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The event of one CPU that copies user stacks, and its ring. libperf cannot put an event into the
 * group of another list, so this file opens the event itself.
 */

#include <linux/perf_event.h>
#include <stdint.h>

#include "recorder/perf/ring-view.h"

struct dump_event;

/*
 * Opens the event, disabled, and maps its ring of `ring_bytes`, a power of two of pages. `leader`
 * is the descriptor of the event that leads the group of the new event, or -1. The descriptor is
 * not close-on-exec until perf_poll_collect() finds it. Returns 0 or a negative errno.
 */
int dump_event_open(const struct perf_event_attr *attr, uint32_t cpu, int leader, size_t ring_bytes,
		    struct dump_event **ret_event);
struct dump_event *dump_event_close(struct dump_event *event);

void dump_event_enable(const struct dump_event *event);
void dump_event_disable(const struct dump_event *event);
/*
 * Makes the timers of the event and of its leader expire together: stops the group, gives each a
 * whole period, and starts the group. Returns 0 or a negative errno; the leader runs in any case.
 */
int dump_event_align(const struct dump_event *event, int leader, uint64_t period);

/* Returns the records that are in the ring. They stay until dump_event_release(). */
struct ring_view dump_event_view(const struct dump_event *event);
/* Gives the bytes before `tail` back to the kernel. */
void dump_event_release(const struct dump_event *event, uint64_t tail);
