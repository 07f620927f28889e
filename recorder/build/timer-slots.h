/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the skipped samples of one CPU. An event with a fixed period fires on a grid. A slot
 * without a sample is skipped if the CPU was busy: code with interrupts off, or the hypervisor,
 * delayed the timer. The kernel does not count that as a loss.
 *
 * Some kernels take a sample of an idle CPU in each slot, others take none for seconds. So an empty
 * slot alone proves nothing. There are two proofs:
 *
 *   - the sample after the hole is off the grid: something delayed the interrupt, and an idle CPU
 *     does not delay interrupts. A sample off the grid may also be the first one of a new grid,
 *     which starts when other processes open events on the CPU. The next sample decides.
 *   - more slots were empty than the CPU's idle time and chance explain. Chance matters because
 *     idle time comes in pieces, and a piece may or may not contain a slot. In a single settling,
 *     chance explains some slots even on a busy CPU. Therefore the code adds these slots up over
 *     half a minute and judges the sum, too.
 *
 * Slots of lost samples do not count as skipped, because the kernel reports lost samples.
 */

#include <stdbool.h>
#include <stdint.h>

/* Empty slots, and the time in which they lie. */
struct timer_slots_hole {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t count;
};

/* The time between settlings. */
struct timer_slots_span {
	struct timer_slots_hole empty;
	uint64_t length_ns;
	uint64_t idle_ns;
	uint64_t idle_samples;
};

struct timer_slots {
	/* 0: there is no grid, so samples never count as skipped. */
	uint64_t period_ns;
	/* The members below belong to timer-slots.c. */
	/* Slot of the last sample, or the last one that was settled; 0: unknown. */
	uint64_t grid_ns;
	/* Time of the last sample. */
	uint64_t last_ns;
	/* The last sample was off the grid. */
	bool last_late;
	/*
	 * Lost samples that the kernel reported since the last sample; the next sample's hole has
	 * their slots.
	 */
	uint64_t lost_ahead;
	/* Hole before a late sample; the next sample decides whether it is skipped. */
	struct timer_slots_hole unclear;
	/* Empty slots since the last settling, which idle time may explain. */
	struct timer_slots_hole empty;
	/* Slots that are certainly skipped. */
	struct timer_slots_hole skipped;
	/* Samples of the idle thread since the last settling, and the time of that settling. */
	uint64_t idle_samples;
	uint64_t settled_ns;
	/*
	 * Idle time without samples in the span before the last settling, if a hole was open then.
	 */
	uint64_t open_idle_ns;
	/* The sum of past settlings whose empty slots idle time and chance explain. */
	struct timer_slots_span past;
};

/* Resolution of a CPU's idle time in /proc/stat. */
#define TIMER_SLOTS_IDLE_UNIT_NS 10000000ull
#define TIMER_SLOTS_IDLE_UNKNOWN UINT64_MAX

/* Notes a sample. Call it in time order; ignores a sample from before the last settling. */
void timer_slots_sample(struct timer_slots *slots, uint64_t time_ns, bool idle);
/*
 * Notes `count` lost samples. Their slots lie before the last sample or before the next one. The
 * kernel reports a loss right before or right after the sample that follows it.
 */
void timer_slots_lost(struct timer_slots *slots, uint64_t count);
/* Notes that the timer stopped or started anew: the next sample starts another grid. */
void timer_slots_restart(struct timer_slots *slots);

/*
 * Judges the empty slots up to until_ns. Call it when all samples up to until_ns were noted.
 * idle_ns is the CPU's idle time since the last settling, or TIMER_SLOTS_IDLE_UNKNOWN. Returns the
 * skipped slots; count 0: none.
 */
struct timer_slots_hole timer_slots_settle(struct timer_slots *slots, uint64_t until_ns,
					   uint64_t idle_ns);
