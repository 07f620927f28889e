// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/dumps/dump-pairs.h"

#include <errno.h>

#include "base/cleanup.h"

/* A greater CPU number comes from damaged bytes. */
#define CPUS_MAX 65536

/*
 * With fewer pairs, do not judge the timers; they are apart if more than 1/APART_PART of the pairs
 * are.
 */
#define PAIRS_MIN 32
#define APART_PART 10

/*
 * Bytes at the begin of a record that are read: the ids of a sample, or a whole record of losses.
 * They do not contain a part of a stack.
 */
#define LOOK_BYTES 128

#define CACHE_LINE 64
#define AHEAD_BYTES 1536
/* Fields behind the stack: its size and the cgroup. */
#define END_BYTES 16

/* The size and the ids of a record in a ring. */
struct dump_record {
	size_t size;
	struct perf_record_place place;
};

void dump_pairs_done(struct dump_pairs *pairs)
{
	array_done(&pairs->rings);
}

int dump_pairs_show(struct dump_pairs *pairs, uint32_t cpu, const struct ring_view *view)
{
	struct dump_ring *ring;

	if (cpu >= CPUS_MAX)
		return 0;
	while (pairs->rings.count <= cpu)
		if (array_push(&pairs->rings, (struct dump_ring){ 0 }) < 0)
			return -ENOMEM;
	ring = &pairs->rings.items[cpu];
	ring->shown = true;
	ring->view = *view;
	ring->at = view->tail;
	return 0;
}

static struct dump_ring *dump_pairs_ring(const struct dump_pairs *pairs, uint32_t cpu)
{
	if (cpu >= pairs->rings.count || !pairs->rings.items[cpu].shown)
		return NULL;
	return &pairs->rings.items[cpu];
}

/* Reads size and ids of the record at a position. Returns false at the end of the ring. */
static bool dump_pairs_look(const struct dump_pairs *pairs, const struct dump_ring *ring,
			    uint64_t at, struct dump_record *ret_record)
{
	size_t size = ring_view_size(&ring->view, at);
	uint8_t room[LOOK_BYTES];

	if (!size)
		return false;
	ret_record->size = size;
	ret_record->place = perf_record_place(
		pairs->layout, ring_view_bytes(&ring->view, at, MIN(size, sizeof(room)), room),
		size);
	return true;
}

/* Counts lost copies, which the kernel reports in the ring that lacked the room. */
static void dump_pairs_count_lost(struct dump_pairs *pairs, const struct dump_ring *ring)
{
	size_t size = ring_view_size(&ring->view, ring->at);
	uint8_t room[LOOK_BYTES];
	struct perf_record record;

	if (size <= sizeof(room) &&
	    perf_record_decode(pairs->layout, ring_view_bytes(&ring->view, ring->at, size, room),
			       size, &record) == 0 &&
	    (record.type == PERF_TYPE_LOST || record.type == PERF_TYPE_LOST_SAMPLES))
		pairs->lost += record.lost;
}

/*
 * Passes over copies before before_ns, and over other records. Returns false at the end of the
 * ring.
 */
static bool dump_pairs_skip(struct dump_pairs *pairs, struct dump_ring *ring, uint64_t before_ns,
			    struct dump_record *ret_record)
{
	while (dump_pairs_look(pairs, ring, ring->at, ret_record)) {
		if (ret_record->place.sample && ret_record->place.time_ns >= before_ns)
			return true;
		if (!ret_record->place.sample)
			dump_pairs_count_lost(pairs, ring);
		ring->at += ret_record->size;
	}
	return false;
}

static uint64_t dump_pairs_distance(uint64_t a_ns, uint64_t b_ns)
{
	return MAX(a_ns, b_ns) - MIN(a_ns, b_ns);
}

/*
 * If the copy is far from the sample, chooses the next copy instead if that is nearer. Does not
 * read the next copy otherwise, because its memory is not in the CPU's cache.
 */
static void dump_pairs_choose_nearest(struct dump_pairs *pairs, struct dump_ring *ring,
				      uint64_t time_ns, struct dump_record *record)
{
	uint64_t off_ns = dump_pairs_distance(record->place.time_ns, time_ns);
	struct dump_record next;

	if (off_ns < pairs->period_ns / 8 ||
	    !dump_pairs_look(pairs, ring, ring->at + record->size, &next) || !next.place.sample ||
	    dump_pairs_distance(next.place.time_ns, time_ns) >= off_ns)
		return;
	ring->at += record->size;
	*record = next;
}

static void dump_pairs_prefetch(const struct dump_ring *ring, uint64_t at)
{
	__builtin_prefetch(ring->view.bytes + (at & (ring->view.size - 1)));
}

/*
 * Prefetches what each walk of the next two copies reads, because another CPU wrote that memory.
 * The begin of a record holds callers, registers and the innermost frames; the end holds the size
 * of the copied part. The begin of the next record was prefetched when the present one was next.
 */
static void dump_pairs_prefetch_next(const struct dump_ring *ring)
{
	size_t size = ring_view_size(&ring->view, ring->at);
	uint64_t end = ring->at + size;

	if (!size)
		return;
	dump_pairs_prefetch(ring, end - END_BYTES);
	dump_pairs_prefetch(ring, end - 1);
	if (end >= ring->view.head)
		return;
	for (size_t line = 0; line < AHEAD_BYTES; line += CACHE_LINE)
		dump_pairs_prefetch(ring, end + line);
}

size_t dump_pairs_take(struct dump_pairs *pairs, uint32_t cpu, uint64_t time_ns, uint8_t *room,
		       const uint8_t **ret_bytes)
{
	struct dump_ring *ring = dump_pairs_ring(pairs, cpu);
	uint64_t half_ns = pairs->period_ns / 2;
	struct dump_record record;

	if (!ring || !dump_pairs_skip(pairs, ring, time_ns - MIN(time_ns, half_ns), &record))
		return 0;
	dump_pairs_choose_nearest(pairs, ring, time_ns, &record);
	if (dump_pairs_distance(record.place.time_ns, time_ns) > half_ns)
		return 0;
	*ret_bytes = ring_view_bytes(&ring->view, ring->at, record.size, room);
	ring->at += record.size;
	dump_pairs_prefetch_next(ring);
	return record.size;
}

uint64_t dump_pairs_hide(struct dump_pairs *pairs, uint32_t cpu, uint64_t before_ns)
{
	struct dump_ring *ring = dump_pairs_ring(pairs, cpu);
	struct dump_record record;

	if (!ring)
		return 0;
	dump_pairs_skip(pairs, ring, before_ns - MIN(before_ns, pairs->period_ns / 2), &record);
	ring->shown = false;
	return ring->at;
}

void dump_pairs_note(struct dump_pairs *pairs, uint32_t cpu, bool together)
{
	if (cpu >= pairs->rings.count)
		return;
	pairs->rings.items[cpu].together += together;
	pairs->rings.items[cpu].apart += !together;
}

bool dump_pairs_is_apart(struct dump_pairs *pairs, uint32_t cpu)
{
	struct dump_ring *ring = cpu < pairs->rings.count ? &pairs->rings.items[cpu] : NULL;
	bool apart;

	if (!ring || ring->together + ring->apart < PAIRS_MIN)
		return false;
	apart = ring->apart > (ring->together + ring->apart) / APART_PART;
	ring->together = ring->apart = 0;
	return apart;
}
