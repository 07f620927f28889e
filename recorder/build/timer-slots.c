// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/timer-slots.h"

#include "base/cleanup.h"

/* Timers fire within 0.2 ms of their slot where nothing holds them up. By how much of a period a
 * sample may be off the grid: */
#define EARLY_PARTS 16
#define LATE_PARTS 8

/* The clocks of timer and events drift apart, and each event that others open shifts the grid a
 * little. */
#define FOLLOW_PARTS 8

/* Standard deviations that are no chance any more: one false alarm in some years of one CPU. */
#define DEVIATIONS 5

/* A hole may lie anywhere in it, and is told then: not long before. */
#define PAST_NS 30000000000ull

static void add_hole(struct timer_slots_hole *to, const struct timer_slots_hole *hole)
{
	if (!hole->count)
		return;
	to->from_ns = to->count ? MIN(to->from_ns, hole->from_ns) : hole->from_ns;
	to->to_ns = to->count ? MAX(to->to_ns, hole->to_ns) : hole->to_ns;
	to->count += hole->count;
}

static void take_hole(struct timer_slots_hole *to, struct timer_slots_hole *hole)
{
	add_hole(to, hole);
	*hole = (struct timer_slots_hole){ 0 };
}

/* Does a sample lie whole periods behind the last one? */
static bool follows_last(const struct timer_slots *slots, uint64_t time_ns)
{
	uint64_t off_ns = (time_ns - slots->last_ns) % slots->period_ns;

	return MIN(off_ns, slots->period_ns - off_ns) < slots->period_ns / EARLY_PARTS;
}

/* The slot that a sample belongs to: the last one that it is not before. */
static uint64_t slot_of(const struct timer_slots *slots, uint64_t time_ns)
{
	uint64_t early_ns = slots->period_ns / EARLY_PARTS;
	uint64_t since_ns = time_ns + early_ns - slots->grid_ns;

	/* the next one, as nearly always: spared the division */
	if (since_ns - slots->period_ns < slots->period_ns)
		return slots->grid_ns + slots->period_ns;
	return slots->grid_ns + since_ns / slots->period_ns * slots->period_ns;
}

static bool is_late(const struct timer_slots *slots, uint64_t time_ns, uint64_t slot_ns)
{
	return time_ns > slot_ns && time_ns - slot_ns > slots->period_ns / LATE_PARTS;
}

/* The sample before was late. This one is back on the grid, or both lie on a new one. */
static void judge_late(struct timer_slots *slots, uint64_t time_ns)
{
	if (!is_late(slots, time_ns, slot_of(slots, time_ns)) || !follows_last(slots, time_ns)) {
		take_hole(&slots->skipped, &slots->held);
		return;
	}
	take_hole(&slots->empty, &slots->held);
	slots->grid_ns = slots->last_ns;
}

/* Empty slots between the last one and that of a sample, or the moment of a settling. */
static struct timer_slots_hole hole_before(const struct timer_slots *slots, uint64_t slot_ns,
					   uint64_t end_ns)
{
	struct timer_slots_hole hole = { slots->grid_ns + slots->period_ns, end_ns, 0 };

	if (slot_ns > slots->grid_ns + slots->period_ns)
		hole.count = (slot_ns - slots->grid_ns) / slots->period_ns - 1;
	return hole;
}

static void timer_slots_reduce(struct timer_slots_hole *hole, uint64_t *count)
{
	uint64_t less = MIN(hole->count, *count);

	hole->count -= less;
	*count -= less;
}

void timer_slots_sample(struct timer_slots *slots, uint64_t time_ns, bool idle)
{
	struct timer_slots_hole hole;
	uint64_t slot_ns;
	bool late;

	if (!slots->period_ns || time_ns < slots->settled_ns || time_ns <= slots->last_ns)
		return;
	slots->idle_samples += idle;
	if (!slots->grid_ns) {
		slots->grid_ns = slots->last_ns = time_ns;
		return;
	}
	if (slots->last_late)
		judge_late(slots, time_ns);
	slot_ns = slot_of(slots, time_ns);
	late = is_late(slots, time_ns, slot_ns);
	hole = hole_before(slots, slot_ns, time_ns);
	timer_slots_reduce(&hole, &slots->lost_ahead);
	slots->lost_ahead = 0;
	add_hole(late && !idle ? &slots->held : &slots->empty, &hole);
	slots->grid_ns = slot_ns;
	if (!late)
		slots->grid_ns += ((int64_t)(time_ns - slot_ns)) / FOLLOW_PARTS;
	slots->last_ns = time_ns;
	slots->last_late = late;
}

void timer_slots_lost(struct timer_slots *slots, uint64_t count)
{
	timer_slots_reduce(&slots->held, &count);
	timer_slots_reduce(&slots->empty, &count);
	slots->lost_ahead += count;
}

void timer_slots_restart(struct timer_slots *slots)
{
	take_hole(&slots->empty, &slots->held);
	slots->grid_ns = slots->last_ns = slots->open_idle_ns = slots->lost_ahead = 0;
	slots->last_late = false;
}

static uint64_t timer_slots_root(uint64_t value)
{
	uint64_t result = 0;

	while ((result + 1) * (result + 1) <= value)
		result++;
	return result;
}

/* How many of the empty slots idling does not explain. */
static uint64_t timer_slots_unexplained(uint64_t period_ns, const struct timer_slots_span *span)
{
	uint64_t idle_ns = span->idle_ns, seen_ns = span->idle_samples * period_ns;
	uint64_t idle = (idle_ns + TIMER_SLOTS_IDLE_UNIT_NS) / period_ns + 1;
	uint64_t all = MAX(span->length_ns / period_ns, idle);
	uint64_t explained = (idle_ns - MIN(idle_ns, seen_ns)) / period_ns;
	/* of the binomial distribution: a CPU that idles all the time or never leaves nothing to
	 * chance */
	uint64_t chance =
		timer_slots_root(DEVIATIONS * DEVIATIONS * (idle * (all - idle) / all + 1));
	uint64_t bound =
		(idle_ns + TIMER_SLOTS_IDLE_UNIT_NS - MIN(idle_ns, seen_ns)) / period_ns + chance;

	return span->empty.count > bound ? span->empty.count - explained : 0;
}

/*
 * What is empty up to the settling itself: judged with the rest when it is all of the time since
 * the last one. Else it may end by a late sample, and waits for that.
 */
static bool take_open(struct timer_slots *slots, uint64_t until_ns)
{
	uint64_t half_ns = slots->period_ns / 2, slot_ns;
	struct timer_slots_hole hole;

	if (!slots->grid_ns || until_ns < slots->grid_ns + slots->period_ns + half_ns)
		return false;
	if (slots->last_ns >= slots->settled_ns)
		return true;
	/* the slot that may still be about to fire belongs to the next time */
	slot_ns = slot_of(slots, until_ns - half_ns) + slots->period_ns;
	hole = hole_before(slots, slot_ns, until_ns);
	add_hole(&slots->empty, &hole);
	/* the last sample lies before this hole: a new grid that begins there would count the hole
	 * again */
	take_hole(&slots->empty, &slots->held);
	slots->last_late = false;
	slots->grid_ns = slot_ns - slots->period_ns;
	return false;
}

static void timer_slots_judge(struct timer_slots *slots, struct timer_slots_span *span)
{
	span->empty.count = timer_slots_unexplained(slots->period_ns, span);
	add_hole(&slots->skipped, &span->empty);
}

static void judge_past(struct timer_slots *slots, const struct timer_slots_span *span)
{
	struct timer_slots_span *past = &slots->past;

	add_hole(&past->empty, &span->empty);
	past->length_ns += span->length_ns;
	past->idle_ns += span->idle_ns;
	/* interrupts of an idle CPU are sampled as idle and are no idle time: that is no debt of
	 * the idle time to come */
	past->idle_samples += MIN(span->idle_samples, span->idle_ns / slots->period_ns);
	if (!timer_slots_unexplained(slots->period_ns, past) && past->length_ns < PAST_NS)
		return;
	timer_slots_judge(slots, past);
	/* its slots are counted when it ends */
	*past = (struct timer_slots_span){ .idle_ns = slots->open_idle_ns };
}

/* Idle time of a hole that is still open explains it when it is whole; in the long run the one
 * settling or the other makes no difference. */
static void judge_all(struct timer_slots *slots, uint64_t length_ns, uint64_t idle_ns, bool open)
{
	uint64_t seen_ns = slots->idle_samples * slots->period_ns;
	struct timer_slots_span span = {
		.empty = slots->empty,
		.length_ns = length_ns,
		.idle_ns = MIN(idle_ns, length_ns) + slots->open_idle_ns,
		.idle_samples = slots->idle_samples,
	};

	slots->open_idle_ns = open ? idle_ns - MIN(idle_ns, seen_ns) : 0;
	if (timer_slots_unexplained(slots->period_ns, &span)) {
		timer_slots_judge(slots, &span);
		slots->past.idle_ns += slots->open_idle_ns;
		return;
	}
	span.idle_ns = MIN(idle_ns, length_ns);
	judge_past(slots, &span);
}

struct timer_slots_hole timer_slots_settle(struct timer_slots *slots, uint64_t until_ns,
					   uint64_t idle_ns)
{
	uint64_t length_ns = until_ns - MIN(until_ns, slots->settled_ns);
	struct timer_slots_hole skipped;
	/* a CPU that was never sampled has no grid, and no period either */
	bool known = idle_ns != TIMER_SLOTS_IDLE_UNKNOWN && slots->settled_ns && slots->period_ns;
	bool open = take_open(slots, until_ns);

	if (known) {
		judge_all(slots, length_ns, idle_ns, open);
	} else {
		/* of what is open now, nothing would explain later what lies before */
		if (open)
			slots->grid_ns = slot_of(slots, until_ns - slots->period_ns / 2);
		slots->open_idle_ns = 0;
		slots->past = (struct timer_slots_span){ 0 };
	}
	skipped = slots->skipped;
	slots->skipped = slots->empty = (struct timer_slots_hole){ 0 };
	slots->idle_samples = 0;
	slots->settled_ns = until_ns;
	return skipped;
}
