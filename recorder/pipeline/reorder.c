// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/pipeline/reorder.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"

void reorder_done(struct reorder *timeline)
{
	buffer_done(&timeline->bytes);
	array_done(&timeline->entries);
	array_done(&timeline->scratch);
}

int reorder_add(struct reorder *timeline, uint64_t time_ns, uint32_t source, const void *record,
		size_t size)
{
	/* records start at multiples of eight, as in the ring */
	size_t start = (timeline->bytes.size + 7) & ~(size_t)7;
	struct reorder_entry entry = { time_ns, start, size, source };
	uint8_t *room = buffer_room(&timeline->bytes, size + 8);

	if (!room || array_push(&timeline->entries, entry) < 0)
		return -ENOMEM;
	memcpy(timeline->bytes.data + start, record, size);
	timeline->bytes.size = start + size;
	return 0;
}

/* A ring is in order but for a few records, so the runs are about as many as rings. */
static int reorder_sort(struct reorder *timeline)
{
	if (array_reserve(&timeline->scratch, timeline->entries.count) < 0)
		return -ENOMEM;
	sort_array(&timeline->entries, timeline->scratch.items, time_ns);
	return 0;
}

/* What one long wait took is not kept for weeks. */
#define KEPT_BYTES (8u << 20)

static void reorder_give_back(struct reorder *timeline)
{
	size_t count = timeline->entries.count + 1;
	void *bytes = realloc(timeline->bytes.data, KEPT_BYTES);
	void *entries = realloc(timeline->entries.items, count * sizeof(*timeline->entries.items));

	if (bytes) {
		timeline->bytes.data = bytes;
		timeline->bytes.capacity = KEPT_BYTES;
	}
	if (entries) {
		timeline->entries.items = entries;
		timeline->entries.capacity = count;
	}
	array_done(&timeline->scratch);
}

/* Moves what was not given out to the front. */
static void move_kept(struct reorder *timeline, size_t given)
{
	size_t keep = timeline->entries.count - given, bytes = 0;

	if (!keep) {
		timeline->entries.count = 0;
		timeline->bytes.size = 0;
		return;
	}
	if (!given)
		return;
	/* bytes are kept in the order in which they came, so the first of those that stay is where
	 * to cut */
	memmove(timeline->entries.items, timeline->entries.items + given,
		keep * sizeof(*timeline->entries.items));
	timeline->entries.count = keep;
	bytes = timeline->bytes.size;
	for (size_t i = 0; i < keep; i++)
		bytes = MIN(bytes, timeline->entries.items[i].offset);
	memmove(timeline->bytes.data, timeline->bytes.data + bytes, timeline->bytes.size - bytes);
	timeline->bytes.size -= bytes;
	for (size_t i = 0; i < keep; i++)
		timeline->entries.items[i].offset -= bytes;
}

static void reorder_forget(struct reorder *timeline, size_t given)
{
	/* as it was before: what a turn takes is asked for again by the next one */
	bool roomy = timeline->bytes.capacity > KEPT_BYTES &&
		     timeline->bytes.size < timeline->bytes.capacity / 8 &&
		     timeline->bytes.size < KEPT_BYTES;

	move_kept(timeline, given);
	if (roomy)
		reorder_give_back(timeline);
}

/* The cache has forgotten what was added up to a second ago: a record's bytes are asked for so many
 * records before it is told. */
#define FETCHED_AHEAD 4
#define CACHE_LINE 64

static void reorder_fetch(const struct reorder *timeline, const struct reorder_entry *entry)
{
	const uint8_t *record = timeline->bytes.data + entry->offset;

	for (size_t at = 0; at < entry->size; at += CACHE_LINE)
		__builtin_prefetch(record + at);
}

int reorder_flush(struct reorder *timeline, uint64_t before_ns,
		  void (*expect)(void *context, const struct reorder_entry *entry,
				 const uint8_t *record),
		  int (*give)(void *context, const struct reorder_entry *entry,
			      const uint8_t *record),
		  void *context)
{
	const struct reorder_entry *entries;
	size_t given = 0, told = 0, end;
	int r = reorder_sort(timeline);

	if (r < 0)
		return r;
	entries = timeline->entries.items;
	end = before_ns == UINT64_MAX
		      ? timeline->entries.count
		      : sort_array_count_below(&timeline->entries, time_ns, before_ns);
	for (; r >= 0 && given < end; given++) {
		for (; told < end && told < given + REORDER_AHEAD; told++) {
			if (told + FETCHED_AHEAD < end)
				reorder_fetch(timeline, &entries[told + FETCHED_AHEAD]);
			if (expect)
				expect(context, &entries[told],
				       timeline->bytes.data + entries[told].offset);
		}
		r = give(context, &entries[given], timeline->bytes.data + entries[given].offset);
	}
	reorder_forget(timeline, given);
	return r < 0 ? r : 0;
}
