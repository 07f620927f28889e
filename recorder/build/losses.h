/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Collects the losses of each CPU, and moves them to the tapes by time. Each loss is in exactly one
 * tape. A tape that ends has all its losses.
 *
 *   - lost: samples that did not fit into a ring. The kernel reports their number with the next
 *     record that fits. At the end of a tape, the kernel's own count (PERF_FORMAT_LOST) shows the
 *     losses that it has not reported yet. Its later report does not count them again.
 *   - skipped: timer slots of a busy CPU without a sample (recorder/build/timer-slots.h), and slots
 *     during throttling (tape_is_throttled()).
 *   - throttled, offline, lowered: states that last for some time. Each tape or block gets its
 *     share of that time. If the kernel throttles a CPU at every tick, these throttlings become one
 *     piece with a count.
 *   - refused: side-band records of a process that made too many.
 *   - truncated: the sample is there, but its callchain was cut short.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "recorder/build/cpu-idle.h"
#include "recorder/perf/perf-record.h"
#include "recorder/build/timer-slots.h"
#include "tape/tape.h"

struct losses_counts {
	/* Samples that did not fit into a ring. */
	uint64_t lost;
	uint64_t lost_sideband;
	/* Side-band records of processes that made too many. */
	uint64_t refused;
	/* Trace events. */
	uint64_t lost_events;
	/* Timer slots of busy and of throttled CPUs without a sample. */
	uint64_t skipped;
	/* The number of times that the kernel throttled a CPU. */
	uint64_t throttled;
	/* The number of times that a CPU went offline. */
	uint64_t offline;
	/* Records that cannot be decoded. */
	uint64_t damaged;
	/* Callchains. */
	uint64_t truncated;
};

/* The state of one CPU. */
struct losses_cpu {
	/* Start of the present throttling; 0: not throttled. */
	uint64_t throttled_ns;
	/* Throttled time since the last tape or block; count 0: none. */
	struct tape_loss throttled;
	/* Timer slots in that time. */
	uint64_t throttled_slots;
	/*
	 * The part of `throttled_slots` from throttlings whose UNTHROTTLE record was lost in a full
	 * ring.
	 */
	uint64_t unsure_slots;
	/* Lost samples that were reported during throttling, before the sample that ended it. */
	uint64_t lost_ahead;
	/* Throttled time that is less than a slot so far. */
	uint64_t throttled_rest_ns;
	/* Start of the present offline time; 0: online. */
	uint64_t offline_ns;
	/* Truncated callchains; count 0: none. */
	struct tape_loss truncated;
	struct timer_slots slots;
	/* Lost samples that LOST records reported. */
	uint64_t reported;
	/*
	 * Lost samples by the kernel's own count. The losses already include the excess over
	 * `reported`.
	 */
	uint64_t counted;
};

struct losses {
	struct losses_counts counts;
	/* Period of the timer that takes the samples; 0: the event is not a timer. */
	uint64_t period_ns;
	/* The members below belong to losses.c. */
	uint64_t begin_ns;
	array_of(struct losses_cpu) cpus;
	/* Losses that no tape has yet. */
	array_of(struct tape_loss) list;
	/* The reading that waits for losses_settle(), and the reading before it. */
	struct cpu_idle idle, idle_before;
	/* The present limit of samples per second, in the member `count`; 0: no limit. */
	struct tape_loss lowered;
};

void losses_done(struct losses *losses);
/* Starts the recording: discards losses from before begin_ns. */
void losses_begin(struct losses *losses, uint64_t begin_ns);

/* The functions below that return int return 0 or -ENOMEM. All ignore an impossible CPU number. */
int losses_add(struct losses *losses, enum tape_loss_kind kind, uint32_t cpu, uint64_t from_ns,
	       uint64_t to_ns, uint64_t count);
/* Counts a record that cannot be decoded. */
int losses_damaged(struct losses *losses, uint64_t time_ns);
/*
 * Notes a LOST record that reports `count` lost records. since_ns is the time of the record before
 * the LOST record in its ring.
 */
int losses_lost(struct losses *losses, bool samples, uint32_t cpu, uint64_t since_ns,
		uint64_t time_ns, uint64_t count);
/* Adds lost trace events of a CPU, or of TAPE_ALL_CPUS. */
int losses_events(struct losses *losses, uint32_t cpu, uint64_t since_ns, uint64_t time_ns,
		  uint64_t count);
/* Notes the kernel's count of lost samples of a CPU's event, from its opening to time_ns. */
int losses_counted(struct losses *losses, uint32_t cpu, uint64_t since_ns, uint64_t time_ns,
		   uint64_t count);
/* Notes a sample. Call this function and those for other kinds of records in time order. */
void losses_sample(struct losses *losses, uint32_t cpu, uint64_t time_ns, bool idle);
/* Notes a LOST record in time order: the slots of its samples do not count as skipped. */
void losses_lost_slots(struct losses *losses, uint32_t cpu, uint64_t count);
/* Adds refused records of processes since from_ns, the time of the last call. */
int losses_refused(struct losses *losses, uint64_t from_ns, uint64_t to_ns, uint64_t count);
/* Counts a sample with a truncated callchain. */
void losses_truncated(struct losses *losses, uint32_t cpu, uint64_t time_ns);
/* Notes a THROTTLE or UNTHROTTLE record in time order. */
int losses_throttle(struct losses *losses, const struct perf_record *record);
/* Notes that a CPU went offline, or came back with new events. */
int losses_online(struct losses *losses, uint32_t cpu, bool online, uint64_t time_ns);
/* Returns how many CPUs are offline now. */
uint64_t losses_offline(const struct losses *losses);
/*
 * Notes the kernel's limit of samples per second and CPU; 0: no limit below the requested number.
 */
int losses_limit(struct losses *losses, uint64_t limit, uint64_t time_ns);

/*
 * Notes a reading of the idle times, and copies it. Replaces a reading that losses_settle() has not
 * used yet.
 */
int losses_set_idle(struct losses *losses, const struct cpu_idle *idle);
/*
 * Returns the time up to which samples must be applied before losses_settle(); 0: nothing to
 * settle.
 */
uint64_t losses_settle_at(const struct losses *losses);
/*
 * Finds the samples that were skipped up to losses_settle_at(). Call it when all samples up to that
 * time are applied.
 */
int losses_settle(struct losses *losses);

/* Moves the losses in the tape's time, up to until_ns, to the tape. */
int losses_move_to_tape(struct losses *losses, struct tape *tape, uint64_t until_ns);
/* Returns the end of the last loss that no tape has yet; 0: none. */
uint64_t losses_end(const struct losses *losses);
