// SPDX-License-Identifier: GPL-2.0-only
#include "store/choice.h"

#include "base/cleanup.h"

/* A segment of a time that is still to come, because the wall clock was set back, is new. */
static bool is_older(const struct choice_item *item, uint64_t age_ns, uint64_t now_ns)
{
	return now_ns > item->end_ns && now_ns - item->end_ns > age_ns;
}

static bool is_pinned(const struct choice_item *item, const struct choice_pin *pin,
	const struct store_limits *limits, uint64_t now_ns)
{
	if (item->begin_ns >= pin->to_ns || item->end_ns <= pin->from_ns)
		return false;
	return pin->until_ns == UINT64_MAX ? !is_older(item, limits->pin_ns, now_ns)
					   : now_ns < pin->until_ns;
}

static void choose_by_age(
	struct choice *choice, const struct store_limits *limits, struct choice_figures *figures)
{
	for (size_t i = 0; i < choice->items.count; i++) {
		struct choice_item *item = &choice->items.items[i];

		for (size_t p = 0; p < choice->pins.count && !item->pinned; p++)
			item->pinned =
				is_pinned(item, &choice->pins.items[p], limits, figures->now_ns);
		item->overdue = is_older(item, limits->max_age_ns, figures->now_ns);
		if (item->keep || item->pinned || !item->overdue)
			continue;
		item->why = "older than the limit";
		figures->bytes -= MIN(figures->bytes, item->bytes);
		figures->free_bytes += item->bytes;
	}
}

static void choose_by_room(struct choice *choice, const struct store_limits *limits,
	struct choice_figures *figures, bool pinned)
{
	for (size_t i = 0; i < choice->items.count; i++) {
		struct choice_item *item = &choice->items.items[i];
		bool too_many = figures->bytes > limits->max_bytes;

		if (!too_many && figures->free_bytes >= limits->keep_free_bytes)
			break;
		if (item->keep || item->why || item->pinned != pinned)
			continue;
		item->why = too_many ? "the store is larger than the limit"
				     : "too little space is free";
		figures->bytes -= MIN(figures->bytes, item->bytes);
		figures->free_bytes += item->bytes;
	}
}

void choice_make(struct choice *choice, const struct store_limits *limits,
	const struct choice_figures *figures)
{
	struct choice_figures left = *figures;

	for (size_t i = 0; i < choice->items.count; i++) {
		choice->items.items[i].pinned = false;
		choice->items.items[i].why = NULL;
	}
	choose_by_age(choice, limits, &left);
	choose_by_room(choice, limits, &left, false);
	choose_by_room(choice, limits, &left, true);
}
