// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/timer-slots.h"

#include "base/cleanup.h"

/*
 * Timers fire within 0.2 ms of their slot if nothing delays them. A sample is on the grid if it is
 * at most 1/EARLY_PARTS of the period early, or 1/LATE_PARTS late.
 */
#define EARLY_PARTS 16
#define LATE_PARTS 8

/*
 * The clocks of the timer and of the records drift apart. Each event that another process opens
 * also shifts the grid a little. So each sample moves the grid by 1/FOLLOW_PARTS of its distance.
 */
#define FOLLOW_PARTS 8

/*
 * Standard deviations that chance may explain. With this bound, chance causes one false alarm on a
 * CPU in some years.
 */
#define DEVIATIONS 5

/*
 * Length of the spans in which empty slots are compared with chance. A span does not tell where in
 * it a hole lies, so spans are short.
 */
#define PAST_NS 30000000000ull

static void timer_slots_add_hole(struct timer_slots_hole *to, const struct timer_slots_hole *hole)
{
	if (!hole->count)
		return;
	to->from_ns = to->count ? MIN(to->from_ns, hole->from_ns) : hole->from_ns;
	to->to_ns = to->count ? MAX(to->to_ns, hole->to_ns) : hole->to_ns;
	to->count += hole->count;
}

static void timer_slots_move_hole(struct timer_slots_hole *to, struct timer_slots_hole *hole)
{
	timer_slots_add_hole(to, hole);
	*hole = (struct timer_slots_hole){ 0 };
}

/* Returns whether a sample lies a whole number of periods after the last one. */
static bool timer_slots_follows_last(const struct timer_slots *slots, uint64_t time_ns)
{
	uint64_t off_ns = (time_ns - slots->last_ns) % slots->period_ns;

	return MIN(off_ns, slots->period_ns - off_ns) < slots->period_ns / EARLY_PARTS;
}

/* Returns the slot of a sample: the last one that does not lie after it. */
static uint64_t timer_slots_slot_of(const struct timer_slots *slots, uint64_t time_ns)
{
	uint64_t early_ns = slots->period_ns / EARLY_PARTS;
	uint64_t since_ns = time_ns + early_ns - slots->grid_ns;

	/* The next slot is by far the most frequent; avoid the division. */
	if (since_ns - slots->period_ns < slots->period_ns)
		return slots->grid_ns + slots->period_ns;
	return slots->grid_ns + since_ns / slots->period_ns * slots->period_ns;
}

static bool timer_slots_is_late(const struct timer_slots *slots, uint64_t time_ns, uint64_t slot_ns)
{
	return time_ns > slot_ns && time_ns - slot_ns > slots->period_ns / LATE_PARTS;
}

/*
 * Call it after a late sample. The present sample is either back on the old grid, or both samples
 * lie on a new grid.
 */
static void timer_slots_resolve_late(struct timer_slots *slots, uint64_t time_ns)
{
	if (!timer_slots_is_late(slots, time_ns, timer_slots_slot_of(slots, time_ns)) ||
	    !timer_slots_follows_last(slots, time_ns)) {
		timer_slots_move_hole(&slots->skipped, &slots->unclear);
		return;
	}
	timer_slots_move_hole(&slots->empty, &slots->unclear);
	slots->grid_ns = slots->last_ns;
}

/* Counts the empty slots between the last sample's slot and slot_ns. */
static struct timer_slots_hole timer_slots_hole_before(const struct timer_slots *slots,
						       uint64_t slot_ns, uint64_t end_ns)
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
		timer_slots_resolve_late(slots, time_ns);
	slot_ns = timer_slots_slot_of(slots, time_ns);
	late = timer_slots_is_late(slots, time_ns, slot_ns);
	hole = timer_slots_hole_before(slots, slot_ns, time_ns);
	timer_slots_reduce(&hole, &slots->lost_ahead);
	slots->lost_ahead = 0;
	timer_slots_add_hole(late && !idle ? &slots->unclear : &slots->empty, &hole);
	slots->grid_ns = slot_ns;
	if (!late)
		slots->grid_ns += ((int64_t)(time_ns - slot_ns)) / FOLLOW_PARTS;
	slots->last_ns = time_ns;
	slots->last_late = late;
}

void timer_slots_lost(struct timer_slots *slots, uint64_t count)
{
	timer_slots_reduce(&slots->unclear, &count);
	timer_slots_reduce(&slots->empty, &count);
	slots->lost_ahead += count;
}

void timer_slots_restart(struct timer_slots *slots)
{
	timer_slots_move_hole(&slots->empty, &slots->unclear);
	slots->grid_ns = slots->last_ns = slots->open_idle_ns = slots->lost_ahead = 0;
	slots->last_late = false;
}

static uint64_t timer_slots_square_root(uint64_t value)
{
	uint64_t result = 0;

	while ((result + 1) * (result + 1) <= value)
		result++;
	return result;
}

/* Returns the number of empty slots that idle time does not explain. */
static uint64_t timer_slots_unexplained(uint64_t period_ns, const struct timer_slots_span *span)
{
	uint64_t idle_ns = span->idle_ns, seen_ns = span->idle_samples * period_ns;
	uint64_t idle = (idle_ns + TIMER_SLOTS_IDLE_UNIT_NS) / period_ns + 1;
	uint64_t all = MAX(span->length_ns / period_ns, idle);
	uint64_t explained = (idle_ns - MIN(idle_ns, seen_ns)) / period_ns;
	/*
	 * Variance of the binomial distribution: it is small for a CPU that is always idle or never
	 * idle.
	 */
	uint64_t chance =
		timer_slots_square_root(DEVIATIONS * DEVIATIONS * (idle * (all - idle) / all + 1));
	uint64_t bound =
		(idle_ns + TIMER_SLOTS_IDLE_UNIT_NS - MIN(idle_ns, seen_ns)) / period_ns + chance;

	return span->empty.count > bound ? span->empty.count - explained : 0;
}

/*
 * Handles the hole that is open at the time of a settling. If no sample came since the last
 * settling, adds the hole to the empty slots and returns false. Otherwise a late sample may still
 * end the hole, so returns true and leaves it open.
 */
static bool timer_slots_settle_open_hole(struct timer_slots *slots, uint64_t until_ns)
{
	uint64_t half_ns = slots->period_ns / 2, slot_ns;
	struct timer_slots_hole hole;

	if (!slots->grid_ns || until_ns < slots->grid_ns + slots->period_ns + half_ns)
		return false;
	if (slots->last_ns >= slots->settled_ns)
		return true;
	/* A slot whose sample may still come belongs to the next settling. */
	slot_ns = timer_slots_slot_of(slots, until_ns - half_ns) + slots->period_ns;
	hole = timer_slots_hole_before(slots, slot_ns, until_ns);
	timer_slots_add_hole(&slots->empty, &hole);
	/*
	 * The last sample lies before this hole. If the next sample found a new grid since then,
	 * the hole would count twice.
	 */
	timer_slots_move_hole(&slots->empty, &slots->unclear);
	slots->last_late = false;
	slots->grid_ns = slot_ns - slots->period_ns;
	return false;
}

static void timer_slots_judge(struct timer_slots *slots, struct timer_slots_span *span)
{
	span->empty.count = timer_slots_unexplained(slots->period_ns, span);
	timer_slots_add_hole(&slots->skipped, &span->empty);
}

static void timer_slots_judge_past(struct timer_slots *slots, const struct timer_slots_span *span)
{
	struct timer_slots_span *past = &slots->past;

	timer_slots_add_hole(&past->empty, &span->empty);
	past->length_ns += span->length_ns;
	past->idle_ns += span->idle_ns;
	/*
	 * Interrupts of an idle CPU are sampled as idle, but their time does not count as idle
	 * time. So do not let such samples reduce later idle time.
	 */
	past->idle_samples += MIN(span->idle_samples, span->idle_ns / slots->period_ns);
	if (!timer_slots_unexplained(slots->period_ns, past) && past->length_ns < PAST_NS)
		return;
	timer_slots_judge(slots, past);
	/* The slots of the open hole are counted when it ends. */
	*past = (struct timer_slots_span){ .idle_ns = slots->open_idle_ns };
}

/*
 * Judges the span since the last settling, and if idle time and chance explain it, the past spans
 * together. Idle time during an open hole counts again when the hole ends. The sum over several
 * settlings counts that time once.
 */
static void timer_slots_judge_all(struct timer_slots *slots, uint64_t length_ns, uint64_t idle_ns,
				  bool open)
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
	timer_slots_judge_past(slots, &span);
}

struct timer_slots_hole timer_slots_settle(struct timer_slots *slots, uint64_t until_ns,
					   uint64_t idle_ns)
{
	uint64_t length_ns = until_ns - MIN(until_ns, slots->settled_ns);
	struct timer_slots_hole skipped;
	/* A CPU that was never sampled does not have a grid or a period. */
	bool known = idle_ns != TIMER_SLOTS_IDLE_UNKNOWN && slots->settled_ns && slots->period_ns;
	bool open = timer_slots_settle_open_hole(slots, until_ns);

	if (known) {
		timer_slots_judge_all(slots, length_ns, idle_ns, open);
	} else {
		/*
		 * Without the idle time, the part of an open hole before this moment could not be
		 * explained later, so start the grid anew here.
		 */
		if (open)
			slots->grid_ns =
				timer_slots_slot_of(slots, until_ns - slots->period_ns / 2);
		slots->open_idle_ns = 0;
		slots->past = (struct timer_slots_span){ 0 };
	}
	skipped = slots->skipped;
	slots->skipped = slots->empty = (struct timer_slots_hole){ 0 };
	slots->idle_samples = 0;
	slots->settled_ns = until_ns;
	return skipped;
}
