// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/removed-ranges.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"

static uint64_t removed_ranges_distance(const struct store_removed_range *before,
					const struct store_removed_range *after)
{
	return after->from_ns > before->to_ns ? after->from_ns - before->to_ns : 0;
}

static bool are_near(const struct store_removed_range *a, const struct store_removed_range *b)
{
	return a->vanished == b->vanished &&
	       removed_ranges_distance(a, b) <= REMOVED_RANGES_JOIN_NS &&
	       removed_ranges_distance(b, a) <= REMOVED_RANGES_JOIN_NS;
}

static void removed_ranges_widen(struct store_removed_range *ranges,
				 const struct store_removed_range *by)
{
	ranges->from_ns = MIN(ranges->from_ns, by->from_ns);
	ranges->to_ns = MAX(ranges->to_ns, by->to_ns);
}

static bool is_before(const struct store_removed_range *a, const struct store_removed_range *b)
{
	return a->vanished != b->vanished ? b->vanished : a->from_ns < b->from_ns;
}

static void remove_at(struct store_removed_ranges *ranges, size_t at)
{
	struct store_removed_range *items = ranges->list.items;

	ranges->list.count--;
	memmove(items + at, items + at + 1, (ranges->list.count - at) * sizeof(*items));
}

static void join_nearest(struct store_removed_ranges *ranges)
{
	struct store_removed_range *items = ranges->list.items;
	size_t nearest = 0;

	for (size_t i = 1; i < ranges->list.count; i++)
		if (items[i].vanished == items[i - 1].vanished &&
		    (!nearest ||
		     removed_ranges_distance(&items[i - 1], &items[i]) <
			     removed_ranges_distance(&items[nearest - 1], &items[nearest])))
			nearest = i;
	removed_ranges_widen(&items[nearest - 1], &items[nearest]);
	remove_at(ranges, nearest);
}

int removed_ranges_add(struct store_removed_ranges *ranges, const struct store_removed_range *range)
{
	struct store_removed_range whole = *range, *items;
	size_t at = 0;

	/*
	 * merge the new range with the ranges near it; the ranges of the list are not near each
	 * other
	 */
	for (size_t i = ranges->list.count; i-- > 0;)
		if (are_near(&ranges->list.items[i], &whole)) {
			removed_ranges_widen(&whole, &ranges->list.items[i]);
			remove_at(ranges, i);
		}
	if (array_push(&ranges->list, whole) < 0)
		return -ENOMEM;
	items = ranges->list.items;
	while (at < ranges->list.count - 1 && is_before(&items[at], &whole))
		at++;
	memmove(items + at + 1, items + at, (ranges->list.count - 1 - at) * sizeof(*items));
	items[at] = whole;
	if (ranges->list.count > REMOVED_RANGES_MAX)
		join_nearest(ranges);
	return 0;
}

bool removed_ranges_has(const struct store_removed_ranges *ranges, bool vanished, uint64_t from_ns,
			uint64_t to_ns)
{
	for (size_t i = 0; i < ranges->list.count; i++) {
		const struct store_removed_range *range = &ranges->list.items[i];

		if (range->vanished == vanished && range->from_ns <= from_ns &&
		    range->to_ns >= to_ns)
			return true;
	}
	return false;
}

static int removed_ranges_see_note(void *context, const struct note *note)
{
	struct store_removed_range range = {
		.from_ns = note_u64(note, "from_ns", 0),
		.to_ns = note_u64(note, "to_ns", 0),
		.vanished = note->kind == NOTES_VANISHED,
	};

	if ((note->kind != NOTES_REMOVED && !range.vanished) || range.from_ns >= range.to_ns)
		return 0;
	return removed_ranges_add(context, &range);
}

int removed_ranges_read(const char *path, struct store_removed_ranges *ranges,
			uint64_t *ret_damaged, struct error *error)
{
	return notes_read_file(path, STORE_REMOVED, removed_ranges_see_note, ranges, ret_damaged,
			       error);
}

static int removed_ranges_encode(const struct store_removed_range *range, uint64_t now_ns,
				 struct buffer *bytes)
{
	char from[24], to[24];
	const struct notes_field fields[] = { { "from_ns", from }, { "to_ns", to } };
	const struct note note = {
		.kind = range->vanished ? NOTES_VANISHED : NOTES_REMOVED,
		.realtime_ns = now_ns,
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};

	snprintf(from, sizeof(from), "%llu", (unsigned long long)range->from_ns);
	snprintf(to, sizeof(to), "%llu", (unsigned long long)range->to_ns);
	return notes_encode(&note, bytes);
}

int removed_ranges_write(const char *path, const struct store_removed_ranges *ranges,
			 struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);
	int r = 0;

	for (size_t i = 0; r == 0 && i < ranges->list.count; i++)
		r = removed_ranges_encode(&ranges->list.items[i], now_ns, &bytes);
	if (r < 0)
		return r;
	r = file_replace(path, STORE_REMOVED, bytes.data, bytes.size);
	return r < 0 ? error_set(error, r, "%s/%s: %s", path, STORE_REMOVED, strerror(-r)) : 0;
}
