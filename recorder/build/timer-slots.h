/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The timer slots of one CPU. An event of a fixed period fires on a grid; a slot in which no sample
 * came though the CPU was busy is skipped: code that had interrupts off, or a hypervisor that ran
 * somebody else, held the timer up, and the kernel counts no loss then.
 *
 * An idle CPU has a sample in each slot on one kernel and none for seconds on another, so an empty
 * slot alone says nothing. Two things do:
 *
 *   - the sample behind it came off the grid: the timer's interrupt was held up, which happens to
 * nobody who idles. One sample off the grid may also be the first of a new grid, which begins when
 * others open events on the CPU: the next sample tells;
 *   - more slots were empty than the time that the CPU idled has room for, and more than chance
 * explains, as idle time is cut into pieces that each may hit a slot or not. Of one settling alone,
 * chance explains some slots even of a CPU that did not idle; so what it explains is added up over
 * half a minute, and judged again.
 *
 * Slots of samples that the kernel said it had no room for are not skipped but lost.
 */

#include <stdbool.h>
#include <stdint.h>

/* Empty slots, and from when to when they lay. */
struct timer_slots_hole {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t count;
};

/* What lay between settlings. */
struct timer_slots_span {
	struct timer_slots_hole empty;
	uint64_t length_ns;
	uint64_t idle_ns;
	uint64_t idle_samples;
};

struct timer_slots {
	/* 0: there is no grid, and nothing is ever skipped */
	uint64_t period_ns;
	/* the rest is slots.c's */
	/* the slot of the last sample, or the last that was settled; 0: none is known */
	uint64_t grid_ns;
	/* the last sample */
	uint64_t last_ns;
	/* it lay off the grid */
	bool last_late;
	/* told before the sample behind them, which is of the same time */
	uint64_t lost_ahead;
	/* ended by a late sample: the next one tells */
	struct timer_slots_hole held;
	/* since the last settling, which idling may explain */
	struct timer_slots_hole empty;
	/* for sure */
	struct timer_slots_hole skipped;
	/* since the last settling */
	uint64_t idle_samples;
	uint64_t settled_ns;
	/* before that and without samples, when a hole began that is still open */
	uint64_t open_idle_ns;
	/* of settlings that chance explained */
	struct timer_slots_span past;
};

/* Idle time of a CPU is known to this: what /proc/stat counts in. */
#define TIMER_SLOTS_IDLE_UNIT_NS 10000000ull
#define TIMER_SLOTS_IDLE_UNKNOWN UINT64_MAX

/* Samples come in time order; one from before the last settling changes nothing. */
void timer_slots_sample(struct timer_slots *slots, uint64_t time_ns, bool idle);
/* So many samples were lost in the ring, before the last sample or, as the kernel tells of it just
 * before or behind that, the next. */
void timer_slots_lost(struct timer_slots *slots, uint64_t count);
/* The timer stops, or starts anew: the next sample begins another grid. */
void timer_slots_restart(struct timer_slots *slots);

/*
 * All samples up to that moment were there, and of the time since the last such moment the CPU
 * idled for so long, or SLOTS_IDLE_UNKNOWN. What is skipped by now; count 0: nothing.
 */
struct timer_slots_hole timer_slots_settle(struct timer_slots *slots, uint64_t until_ns,
					   uint64_t idle_ns);
