// SPDX-License-Identifier: GPL-2.0-only
#include "store/write/retention-plan.h"

#include "base/cleanup.h"

/* By so much of a limit of age a wall clock that goes ahead at once makes a segment older, at the
 * most. */
#define STEP_PART 8

/* A segment of a time that is still to come, because the wall clock was set back, is new. */
static uint64_t age_by_clock(const struct retention_plan_item *item, uint64_t now_ns)
{
	return now_ns > item->end_ns ? now_ns - item->end_ns : 0;
}

/*
 * Sets `older` of those that are beyond an age. What counts is what was recorded since then, by the
 * perf clock, and how far the wall clock went between the segments and since the last: no further
 * than a step each time.
 */
static void retention_plan_measure(struct retention_plan *choice, const struct store_limits *limits,
				   uint64_t now_ns, uint64_t limit_ns,
				   void (*older)(struct retention_plan_item *item))
{
	uint64_t step_ns = limit_ns / STEP_PART, age_ns = 0, until_ns = now_ns;

	for (size_t i = choice->items.count; i-- > 0;) {
		struct retention_plan_item *item = &choice->items.items[i];
		uint64_t gap_ns = until_ns > item->end_ns ? until_ns - item->end_ns : 0;

		age_ns += MIN(gap_ns, step_ns);
		if (age_by_clock(item, now_ns) > limit_ns &&
		    (limits->age_by_clock || age_ns > limit_ns))
			older(item);
		age_ns += item->length_ns;
		until_ns = MIN(until_ns, item->begin_ns);
	}
}

static void is_overdue(struct retention_plan_item *item)
{
	item->overdue = true;
}

/* Too old for a pin of no moment of its own. */
static void is_past_pins(struct retention_plan_item *item)
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

static void set_ages(struct retention_plan *choice, const struct store_limits *limits,
		     uint64_t now_ns)
{
	retention_plan_measure(choice, limits, now_ns, limits->max_age_ns, is_overdue);
	retention_plan_measure(choice, limits, now_ns, limits->pin_ns, is_past_pins);
	for (size_t i = 0; i < choice->items.count; i++) {
		struct retention_plan_item *item = &choice->items.items[i];

		for (size_t p = 0; p < choice->pins.count && !item->pinned; p++)
			item->pinned = is_pinned(item, &choice->pins.items[p], now_ns);
		item->spared = !item->overdue && !item->pinned && !item->keep &&
			       age_by_clock(item, now_ns) > limits->max_age_ns;
	}
}

static void remove_item(struct retention_plan_item *item, struct retention_plan_figures *figures,
			const char *why)
{
	item->why = why;
	figures->bytes -= MIN(figures->bytes, item->bytes);
	figures->taken_bytes -= MIN(figures->taken_bytes, item->taken_bytes);
	figures->free_bytes += item->taken_bytes;
}

static bool may_go(const struct retention_plan_item *item, bool pinned)
{
	return !item->keep && !item->why && item->pinned == pinned;
}

static void choose_by_age(struct retention_plan *choice, struct retention_plan_figures *figures)
{
	for (size_t i = 0; i < choice->items.count; i++) {
		struct retention_plan_item *item = &choice->items.items[i];

		if (item->overdue && may_go(item, false))
			remove_item(item, figures, "older than the limit");
	}
}

/* Until one of the figures, which becomes less with each, is no more than that: first what is not
 * pinned. */
static void choose_down_to(struct retention_plan *choice, struct retention_plan_figures *figures,
			   const uint64_t *figure, uint64_t most, const char *why)
{
	for (int pinned = 0; pinned < 2; pinned++)
		for (size_t i = 0; i<choice->items.count && * figure> most; i++)
			if (may_go(&choice->items.items[i], pinned))
				remove_item(&choice->items.items[i], figures, why);
}

static void choose_by_space(struct retention_plan *choice, struct retention_plan_figures *figures,
			    uint64_t free_bytes, const char *why)
{
	for (size_t i = 0; i < choice->items.count && figures->free_bytes < free_bytes; i++) {
		struct retention_plan_item *item = &choice->items.items[i];

		if (may_go(item, false)) {
			remove_item(item, figures, why);
			item->for_space = true;
		}
	}
}

static uint64_t bytes_to_give(const struct retention_plan *choice,
			      const struct retention_plan_figures *figures)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < choice->items.count; i++)
		if (may_go(&choice->items.items[i], false))
			bytes += choice->items.items[i].bytes;
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
 * Giving up months of what was recorded would not help who fills the disk: only what is recorded
 * anew has its room. That is made once: whoever took it would take more.
 */
static void choose_starved(struct retention_plan *choice, struct retention_plan_figures *figures)
{
	const struct retention_plan_hold *hold = &choice->hold;
	uint64_t reach_bytes = figures->taken_bytes + figures->free_bytes, taken_bytes;

	reach_bytes = MAX(hold->reach_bytes, reach_bytes);
	taken_bytes = MIN(hold->taken_bytes, reach_bytes - MIN(reach_bytes, figures->room_bytes));
	choose_down_to(choice, figures, &figures->taken_bytes, taken_bytes,
		       "others fill the disk, and the store may not grow");
}

void retention_plan_make(struct retention_plan *choice, const struct store_limits *limits,
			 const struct retention_plan_figures *figures)
{
	struct retention_plan_figures left = *figures;

	for (size_t i = 0; i < choice->items.count; i++) {
		struct retention_plan_item *item = &choice->items.items[i];

		item->pinned = item->overdue = item->past_pins = item->for_space = false;
		item->why = NULL;
	}
	set_ages(choice, limits, figures->now_ns);
	choose_by_age(choice, &left);
	choose_down_to(choice, &left, &left.bytes, limits->max_bytes,
		       "the store is larger than the limit");
	choice->starved = left.free_bytes < limits->keep_free_bytes &&
			  bytes_to_give(choice, &left) < limits->keep_free_bytes - left.free_bytes;
	choice->hold = choice->starved ? hold_of(figures) : (struct retention_plan_hold){ 0 };
	if (choice->starved)
		choose_starved(choice, &left);
	else
		choose_by_space(choice, &left, limits->keep_free_bytes, "too little space is free");
}
