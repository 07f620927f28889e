// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/pipeline/reorder.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"

void reorder_done(struct reorder *reorder)
{
	buffer_done(&reorder->bytes);
	array_done(&reorder->entries);
	array_done(&reorder->scratch);
}

int reorder_add(struct reorder *reorder, uint64_t time_ns, uint32_t source, const void *record,
		size_t size)
{
	/* Records start at multiples of eight, as in the ring. */
	size_t start = (reorder->bytes.size + 7) & ~(size_t)7;
	struct reorder_entry entry = { time_ns, start, size, source };
	uint8_t *room = buffer_room(&reorder->bytes, size + 8);

	if (!room || array_push(&reorder->entries, entry) < 0)
		return -ENOMEM;
	memcpy(reorder->bytes.data + start, record, size);
	reorder->bytes.size = start + size;
	return 0;
}

/* The records of each ring are nearly sorted, so there are about as many sorted runs as rings. */
static int reorder_sort(struct reorder *reorder)
{
	if (array_reserve(&reorder->scratch, reorder->entries.count) < 0)
		return -ENOMEM;
	sort_array(&reorder->entries, reorder->scratch.items, time_ns);
	return 0;
}

/* Free memory beyond this. Otherwise one long wait would make the recorder keep it for weeks. */
#define KEPT_BYTES (8u << 20)

static void reorder_shrink(struct reorder *reorder)
{
	size_t count = reorder->entries.count + 1;
	void *bytes = realloc(reorder->bytes.data, KEPT_BYTES);
	void *entries = realloc(reorder->entries.items, count * sizeof(*reorder->entries.items));

	if (bytes) {
		reorder->bytes.data = bytes;
		reorder->bytes.capacity = KEPT_BYTES;
	}
	if (entries) {
		reorder->entries.items = entries;
		reorder->entries.capacity = count;
	}
	array_done(&reorder->scratch);
}

/* Moves the records that were not applied to the front. */
static void reorder_move_kept(struct reorder *reorder, size_t applied)
{
	size_t keep = reorder->entries.count - applied, bytes = 0;

	if (!keep) {
		reorder->entries.count = 0;
		reorder->bytes.size = 0;
		return;
	}
	if (!applied)
		return;
	/*
	 * The bytes are in the order of reorder_add(), so drop the bytes before the first kept
	 * record.
	 */
	memmove(reorder->entries.items, reorder->entries.items + applied,
		keep * sizeof(*reorder->entries.items));
	reorder->entries.count = keep;
	bytes = reorder->bytes.size;
	for (size_t i = 0; i < keep; i++)
		bytes = MIN(bytes, reorder->entries.items[i].offset);
	memmove(reorder->bytes.data, reorder->bytes.data + bytes, reorder->bytes.size - bytes);
	reorder->bytes.size -= bytes;
	for (size_t i = 0; i < keep; i++)
		reorder->entries.items[i].offset -= bytes;
}

static void reorder_drop_applied(struct reorder *reorder, size_t applied)
{
	/* Judge by the size before this flush, because the next flush needs about the same size. */
	bool roomy = reorder->bytes.capacity > KEPT_BYTES &&
		     reorder->bytes.size < reorder->bytes.capacity / 8 &&
		     reorder->bytes.size < KEPT_BYTES;

	reorder_move_kept(reorder, applied);
	if (roomy)
		reorder_shrink(reorder);
}

/*
 * Records were added up to a second ago and have left the CPU's cache. Prefetch a record's bytes
 * BYTES_AHEAD records before prefetch() reads them.
 */
#define BYTES_AHEAD 4
#define CACHE_LINE 64

static void reorder_prefetch_bytes(const struct reorder *reorder, const struct reorder_entry *entry)
{
	const uint8_t *record = reorder->bytes.data + entry->offset;

	for (size_t at = 0; at < entry->size; at += CACHE_LINE)
		__builtin_prefetch(record + at);
}

int reorder_flush(struct reorder *reorder, uint64_t before_ns,
		  void (*prefetch)(void *context, const struct reorder_entry *entry,
				   const uint8_t *record),
		  int (*apply)(void *context, const struct reorder_entry *entry,
			       const uint8_t *record),
		  void *context)
{
	const struct reorder_entry *entries;
	size_t applied = 0, prefetched = 0, end;
	int r = reorder_sort(reorder);

	if (r < 0)
		return r;
	entries = reorder->entries.items;
	end = before_ns == UINT64_MAX
		      ? reorder->entries.count
		      : sort_array_count_below(&reorder->entries, time_ns, before_ns);
	for (; r >= 0 && applied < end; applied++) {
		for (; prefetched < end && prefetched < applied + REORDER_AHEAD; prefetched++) {
			if (prefetched + BYTES_AHEAD < end)
				reorder_prefetch_bytes(reorder, &entries[prefetched + BYTES_AHEAD]);
			if (prefetch)
				prefetch(context, &entries[prefetched],
					 reorder->bytes.data + entries[prefetched].offset);
		}
		r = apply(context, &entries[applied],
			  reorder->bytes.data + entries[applied].offset);
	}
	reorder_drop_applied(reorder, applied);
	return r < 0 ? r : 0;
}
