// SPDX-License-Identifier: GPL-2.0-only
#include "store/write/retention-plan.h"

#include "base/cleanup.h"

/* A jump of the wall clock ages a segment by at most this part of the limit of age. */
#define STEP_PART 8

static const char *const reasons[] = {
	[RETENTION_PLAN_STAYS] = "",
	[RETENTION_PLAN_AGE] = "older than the limit",
	[RETENTION_PLAN_BYTES] = "the store is larger than the limit",
	[RETENTION_PLAN_SPACE] = "too little space is free",
	[RETENTION_PLAN_STARVED] = "others fill the disk, so the store may not grow",
};

const char *retention_plan_reason_text(enum retention_plan_reason reason)
{
	return reasons[reason];
}

/*
 * Returns the age by the wall clock. A segment of the future has age 0, because somebody set the
 * clock back.
 */
static uint64_t age_by_clock(const struct retention_plan_item *item, uint64_t now_ns)
{
	return now_ns > item->end_ns ? now_ns - item->end_ns : 0;
}

/*
 * Calls mark() for items beyond an age. The age of an item is the sum of the recorded time and of
 * the gaps after it. Recorded time is by the perf clock, gaps are by the wall clock. Each gap
 * counts for at most a step (limit_ns / STEP_PART).
 */
static void mark_older(struct retention_plan *plan, const struct store_limits *limits,
		       uint64_t now_ns, uint64_t limit_ns,
		       void (*mark)(struct retention_plan_item *item))
{
	uint64_t step_ns = limit_ns / STEP_PART, age_ns = 0, until_ns = now_ns;

	for (size_t i = plan->items.count; i-- > 0;) {
		struct retention_plan_item *item = &plan->items.items[i];
		uint64_t gap_ns = until_ns > item->end_ns ? until_ns - item->end_ns : 0;

		age_ns += MIN(gap_ns, step_ns);
		if (age_by_clock(item, now_ns) > limit_ns &&
		    (limits->age_by_clock || age_ns > limit_ns))
			mark(item);
		age_ns += item->length_ns;
		until_ns = MIN(until_ns, item->begin_ns);
	}
}

static void mark_overdue(struct retention_plan_item *item)
{
	item->overdue = true;
}

/* Marks an item that is older than the limit for pins. A pin without an end does not keep it. */
static void mark_past_pins(struct retention_plan_item *item)
{
	item->past_pins = true;
}

static bool is_pinned(const struct retention_plan_item *item, const struct retention_plan_pin *pin,
		      uint64_t now_ns)
{
	if (item->begin_ns >= pin->to_ns || item->end_ns <= pin->from_ns)
		return false;
	return pin->until_ns == UINT64_MAX ? !item->past_pins : now_ns < pin->until_ns;
}

static void set_ages(struct retention_plan *plan, const struct store_limits *limits,
		     uint64_t now_ns)
{
	mark_older(plan, limits, now_ns, limits->max_age_ns, mark_overdue);
	mark_older(plan, limits, now_ns, limits->pin_ns, mark_past_pins);
	for (size_t i = 0; i < plan->items.count; i++) {
		struct retention_plan_item *item = &plan->items.items[i];

		for (size_t p = 0; p < plan->pins.count && !item->pinned; p++)
			item->pinned = is_pinned(item, &plan->pins.items[p], now_ns);
		item->spared = !item->overdue && !item->pinned && !item->keep &&
			       age_by_clock(item, now_ns) > limits->max_age_ns;
	}
}

static void choose_item(struct retention_plan_item *item, struct retention_plan_figures *figures,
			enum retention_plan_reason reason)
{
	item->reason = reason;
	figures->bytes -= MIN(figures->bytes, item->bytes);
	figures->taken_bytes -= MIN(figures->taken_bytes, item->taken_bytes);
	figures->free_bytes += item->taken_bytes;
}

static bool may_go(const struct retention_plan_item *item, bool pinned)
{
	return !item->keep && !item->reason && item->pinned == pinned;
}

static void choose_by_age(struct retention_plan *plan, struct retention_plan_figures *figures)
{
	for (size_t i = 0; i < plan->items.count; i++) {
		struct retention_plan_item *item = &plan->items.items[i];

		if (item->overdue && may_go(item, false))
			choose_item(item, figures, RETENTION_PLAN_AGE);
	}
}

/*
 * Chooses items until *figure, which decreases with each chosen item, is at most `most`. Chooses
 * pinned items only after all others.
 */
static void choose_down_to(struct retention_plan *plan, struct retention_plan_figures *figures,
			   const uint64_t *figure, uint64_t most, enum retention_plan_reason reason)
{
	for (int pinned = 0; pinned < 2; pinned++)
		for (size_t i = 0; i < plan->items.count; i++) {
			if (*figure <= most)
				return;
			if (may_go(&plan->items.items[i], pinned))
				choose_item(&plan->items.items[i], figures, reason);
		}
}

static void choose_by_space(struct retention_plan *plan, struct retention_plan_figures *figures,
			    uint64_t free_bytes)
{
	for (size_t i = 0; i < plan->items.count && figures->free_bytes < free_bytes; i++)
		if (may_go(&plan->items.items[i], false))
			choose_item(&plan->items.items[i], figures, RETENTION_PLAN_SPACE);
}

static uint64_t removable_bytes(const struct retention_plan *plan,
				const struct retention_plan_figures *figures)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < plan->items.count; i++)
		if (may_go(&plan->items.items[i], false))
			bytes += plan->items.items[i].bytes;
	return MIN(bytes, figures->bytes - MIN(figures->bytes, figures->floor_bytes));
}

static struct retention_plan_hold hold_of(const struct retention_plan_figures *figures)
{
	if (figures->hold.reach_bytes)
		return figures->hold;
	return (struct retention_plan_hold){ figures->taken_bytes,
					     figures->taken_bytes + figures->free_bytes };
}

/*
 * Chooses the oldest items, just enough for new recordings, because other processes fill the disk.
 * Removing months of recordings would not help, because these processes would take that space, too.
 * The store keeps the size that it has when the disk is first full, even if these processes take
 * more.
 */
static void choose_starved(struct retention_plan *plan, struct retention_plan_figures *figures)
{
	const struct retention_plan_hold *hold = &plan->hold;
	uint64_t reach_bytes = figures->taken_bytes + figures->free_bytes, taken_bytes;

	reach_bytes = MAX(hold->reach_bytes, reach_bytes);
	taken_bytes = MIN(hold->taken_bytes, reach_bytes - MIN(reach_bytes, figures->room_bytes));
	choose_down_to(plan, figures, &figures->taken_bytes, taken_bytes, RETENTION_PLAN_STARVED);
}

void retention_plan_make(struct retention_plan *plan, const struct store_limits *limits,
			 const struct retention_plan_figures *figures)
{
	struct retention_plan_figures left = *figures;

	for (size_t i = 0; i < plan->items.count; i++) {
		struct retention_plan_item *item = &plan->items.items[i];

		item->pinned = item->overdue = item->past_pins = false;
		item->reason = RETENTION_PLAN_STAYS;
	}
	set_ages(plan, limits, figures->now_ns);
	choose_by_age(plan, &left);
	choose_down_to(plan, &left, &left.bytes, limits->max_bytes, RETENTION_PLAN_BYTES);
	plan->starved = left.free_bytes < limits->keep_free_bytes &&
			removable_bytes(plan, &left) < limits->keep_free_bytes - left.free_bytes;
	plan->hold = plan->starved ? hold_of(figures) : (struct retention_plan_hold){ 0 };
	if (plan->starved)
		choose_starved(plan, &left);
	else
		choose_by_space(plan, &left, limits->keep_free_bytes);
}
