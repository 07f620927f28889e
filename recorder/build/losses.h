/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What was not recorded, and of which CPU: collected while records are added and applied, and given
 * to the tapes, to each its share by time. Nothing is told twice, and nothing is left untold when a
 * tape ends.
 *
 *   - lost: the kernel had no room. It tells with the first record for which there is room again;
 * what it has not told by the end of a tape is known from its own count (PERF_FORMAT_LOST), and is
 * not counted again when it does tell;
 *   - missing: timer slots of a busy CPU without a sample (recorder/build/timer-slots.h), and those
 * in which the kernel throttled it (tape_is_throttled());
 *   - throttled, offline, lowered: last from one moment to another, and are told of piece by piece.
 * Of a CPU that is throttled at every tick, the pieces are one, and its count says how often;
 *   - cut callchains: the samples are there.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "recorder/build/cpu-idle.h"
#include "recorder/perf/perf-record.h"
#include "recorder/build/timer-slots.h"
#include "tape/tape.h"

struct losses_counts {
	/* samples that the kernel had no room for */
	uint64_t lost;
	uint64_t lost_sideband;
	/* trace events */
	uint64_t lost_events;
	/* slots of busy and of throttled CPUs without a sample */
	uint64_t missed;
	/* times */
	uint64_t throttled;
	/* times that a CPU went */
	uint64_t offline;
	/* records that could not be decoded */
	uint64_t damaged;
	/* callchains */
	uint64_t cut;
};

/* What is kept of each CPU. */
struct losses_cpu {
	/* 0: it is not */
	uint64_t throttled_ns;
	/* the pieces since the last tape or block; count 0: none */
	struct tape_loss throttled;
	/* of these pieces */
	uint64_t throttled_slots;
	/* of these: its end was lost in a full ring */
	uint64_t unsure_slots;
	/* told while it was throttled, before the sample that ends that */
	uint64_t lost_ahead;
	/* throttled, and less than a slot so far */
	uint64_t stood_still_ns;
	/* 0: it is not */
	uint64_t offline_ns;
	/* count 0: none */
	struct tape_loss truncated;
	struct timer_slots slots;
	/* lost samples that LOST records told of */
	uint64_t told;
	/* and by the kernel's own count: what of it is more than told was counted in advance */
	uint64_t counted;
};

struct losses {
	struct losses_counts counts;
	/* of the timer; 0: there is none */
	uint64_t period_ns;
	/* the rest is losses.c's */
	uint64_t begin_ns;
	array_of(struct losses_cpu) cpus;
	/* that no tape has yet */
	array_of(struct tape_loss) list;
	/* that waits to be settled, and the last that was */
	struct cpu_idle idle, idle_before;
	/* count: the limit, 0: there is none */
	struct tape_loss lowered;
};

void losses_done(struct losses *losses);
/* The recording begins: the rings lost samples before that, too, which nobody asked for. */
void losses_begin(struct losses *losses, uint64_t begin_ns);

/* Each 0 or -ENOMEM. A CPU of a number that no CPU has changes nothing. */
int losses_add(struct losses *losses, enum tape_loss_kind kind, uint32_t cpu, uint64_t from_ns,
	       uint64_t to_ns, uint64_t count);
int losses_damaged(struct losses *losses, uint64_t time_ns);
/* A LOST record of so many, the last record before it in its ring being of since_ns. */
int losses_lost(struct losses *losses, bool samples, uint32_t cpu, uint64_t since_ns,
		uint64_t time_ns, uint64_t count);
/* So many trace events of a CPU, or TAPE_ALL_CPUS. */
int losses_events(struct losses *losses, uint32_t cpu, uint64_t since_ns, uint64_t time_ns,
		  uint64_t count);
/* All that the kernel counted as lost samples of a CPU's event since it was opened, by that moment.
 */
int losses_counted(struct losses *losses, uint32_t cpu, uint64_t since_ns, uint64_t time_ns,
		   uint64_t count);
/* A sample, in its turn. */
void losses_sample(struct losses *losses, uint32_t cpu, uint64_t time_ns, bool idle);
/* The LOST record in its turn: what it tells of is not missing. */
void losses_lost_slots(struct losses *losses, uint32_t cpu, uint64_t count);
/* A sample's callchain was cut. */
void losses_truncated(struct losses *losses, uint32_t cpu, uint64_t time_ns);
/* A THROTTLE or UNTHROTTLE record, in its turn. */
int losses_throttle(struct losses *losses, const struct perf_record *record);
/* The CPU went, or is there again, with new events that have lost nothing. */
int losses_online(struct losses *losses, uint32_t cpu, bool online, uint64_t time_ns);
/* How many are gone now. */
uint64_t losses_offline(const struct losses *losses);
/* The kernel allows only so many samples a second and CPU; 0: as many as were asked for. */
int losses_limit(struct losses *losses, uint64_t limit, uint64_t time_ns);

/* How long each CPU has idled by that moment. Replaces a reading that is not settled yet. Copies
 * it. */
int losses_idle(struct losses *losses, const struct cpu_idle *idle);
/* The moment up to which samples must be applied before losses_settle(); 0: there is nothing to be
 * settled. */
uint64_t losses_waiting(const struct losses *losses);
/* All samples up to losses_waiting() were applied: what is missing until then is known now. */
int losses_settle(struct losses *losses);

/* Gives a tape all that happened up to a moment and in it. */
int losses_give(struct losses *losses, struct tape *tape, uint64_t until_ns);
/* When the last of what no tape has yet ends; 0: there is nothing. */
uint64_t losses_end(const struct losses *losses);
