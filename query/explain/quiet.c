// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/quiet.h"

#include <errno.h>

#include "base/clock.h"
#include "base/hash.h"
#include "store/disk/store-incident.h"

/* The trouble begins before the kernel's line and may go on after it. */
#define BEFORE_NS (10 * NSEC_PER_SEC)
#define AFTER_NS (10 * NSEC_PER_SEC)
/* enum severity of incidents/patterns: SEVERITY_ERR */
#define SEVERE 3

bool quiet_overlaps(const struct quiet_spans *spans, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < spans->list.count; i++)
		if (from_ns < spans->list.items[i].to_ns && to_ns > spans->list.items[i].from_ns)
			return true;
	return false;
}

/* Adds a span with its margin, and merges it with the span before if they overlap. */
static int quiet_add(struct quiet_spans *spans, uint64_t from_ns, uint64_t to_ns)
{
	struct quiet_span added = { from_ns - MIN(from_ns, BEFORE_NS), to_ns + AFTER_NS };

	if (spans->list.count > 1) {
		struct quiet_span *last = &spans->list.items[spans->list.count - 1];

		if (added.from_ns <= last->to_ns && added.from_ns >= last->from_ns) {
			last->to_ns = MAX(last->to_ns, added.to_ns);
			return 0;
		}
	}
	return array_push(&spans->list, added);
}

static int quiet_see(void *context, const struct store_incident *incident)
{
	/* warnings are too frequent on some hosts, and most of them do not report a stall */
	if (incident->severity < SEVERE)
		return 0;
	return quiet_add(context, MIN(incident->stall_ns, incident->time_ns), incident->time_ns);
}

int quiet_exclude(struct store_reader *reader, struct quiet_span stall, struct quiet_span around,
		  struct quiet_spans *spans, struct error *error)
{
	int r = array_push(&spans->list, stall);

	return r < 0 ? r
		     : store_reader_incidents(reader, around.from_ns, around.to_ns, quiet_see,
					      spans, error);
}

/* Calls `see` for each slot of the length in the segments that is quiet. */
static int quiet_each_slot(const struct store_segments *segments,
			   const struct quiet_spans *excluded, uint64_t length_ns,
			   int (*see)(void *context, const struct quiet_window *slot),
			   void *context)
{
	int r = 0;

	for (size_t i = 0; i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		for (uint64_t at = segment->begin_ns;
		     r == 0 && !*segment->damage && at + length_ns <= segment->end_ns;
		     at += length_ns)
			if (!quiet_overlaps(excluded, at, at + length_ns))
				r = see(context, &(struct quiet_window){ i, at, at + length_ns });
	}
	return r;
}

struct quiet_choice {
	struct quiet_windows *windows;
	size_t count, slots, slot;
};

static int quiet_count_slot(void *context, const struct quiet_window *slot)
{
	struct quiet_choice *choice = context;

	choice->slots++;
	return 0;
}

/*
 * Takes one slot of each stride, at a place that varies: at a fixed place, work that repeats with
 * the stride would be in all windows or in none.
 */
static int quiet_take_slot(void *context, const struct quiet_window *slot)
{
	struct quiet_choice *choice = context;
	size_t taken = choice->windows->list.count;
	size_t from = taken * choice->slots / choice->count;
	size_t to = (taken + 1) * choice->slots / choice->count;

	if (taken == choice->count || choice->slot++ != from + hash_u64(taken + 1) % (to - from))
		return 0;
	return array_push(&choice->windows->list, *slot);
}

int quiet_choose(const struct store_segments *segments, const struct quiet_spans *excluded,
		 uint64_t length_ns, size_t count, struct quiet_windows *ret_windows)
{
	struct quiet_choice choice = { .windows = ret_windows };
	int r;

	ret_windows->list.count = 0;
	if (!length_ns)
		return 0;
	r = quiet_each_slot(segments, excluded, length_ns, quiet_count_slot, &choice);
	choice.count = MIN(count, choice.slots);
	if (r < 0)
		return r;
	if (choice.count)
		return quiet_each_slot(segments, excluded, length_ns, quiet_take_slot, &choice);
	return 0;
}
