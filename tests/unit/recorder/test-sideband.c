// SPDX-License-Identifier: GPL-2.0-only
/* The thread that empties the side-band rings, on rings that the test fills. */
#include "tests/check.h"

#include <linux/perf_event.h>
#include <stdatomic.h>

#include "recorder/run/sideband.h"
#include "tests/wait.h"

#define RING_BYTES (1u << 20)
#define ATTACKER 100
#define BYSTANDER 200
/*
 * How many records of LONG_BYTES a process may make at once: its share is 16,384 units, and such a
 * record counts as 17 units.
 */
#define ADMITTED 964
#define LONG_BYTES 4096

/* The ring of the one CPU. Its lock is the side-band's. */
static struct ring {
	uint8_t bytes[RING_BYTES];
	size_t size;
	atomic_int drained, closed;
} ring;

int __wrap_perf_events_drain(struct perf_events *events, unsigned int rings,
			     int (*handle)(void *context, enum perf_ring ring,
					   const uint8_t *record, size_t size),
			     void *context);
int __wrap_perf_events_close_offline(struct perf_events *events);
size_t __wrap_perf_events_ring_bytes(const struct perf_events *events, uint64_t *ret_all);
const struct perf_layout *__wrap_perf_events_layout(const struct perf_events *events,
						    enum perf_ring kind);

int __wrap_perf_events_drain(struct perf_events *events, unsigned int rings,
			     int (*handle)(void *context, enum perf_ring ring,
					   const uint8_t *record, size_t size),
			     void *context)
{
	int r = 0;

	CHECK_EQ(rings, 1u << PERF_RING_SIDEBAND);
	for (size_t at = 0; r == 0 && at < ring.size;) {
		struct perf_event_header header;

		memcpy(&header, ring.bytes + at, sizeof(header));
		r = handle(context, PERF_RING_SIDEBAND, ring.bytes + at, header.size);
		at += header.size;
	}
	ring.size = 0;
	ring.drained++;
	return r;
}

int __wrap_perf_events_close_offline(struct perf_events *events)
{
	ring.closed++;
	return 0;
}

size_t __wrap_perf_events_ring_bytes(const struct perf_events *events, uint64_t *ret_all)
{
	*ret_all = RING_BYTES;
	return RING_BYTES;
}

const struct perf_layout *__wrap_perf_events_layout(const struct perf_events *events,
						    enum perf_ring kind)
{
	static const struct perf_layout layout;

	return &layout;
}

/* Adds a record whose first number is a pid, unless the ring is full. */
static bool add(struct sideband *sideband, uint32_t type, uint16_t misc, int32_t pid, size_t size)
{
	const struct perf_event_header header = { type, misc, size };
	bool room;

	pthread_mutex_lock(&sideband->lock);
	room = ring.size + size <= RING_BYTES;
	if (room) {
		memset(ring.bytes + ring.size, 0, size);
		memcpy(ring.bytes + ring.size, &header, sizeof(header));
		memcpy(ring.bytes + ring.size + sizeof(header), &pid, sizeof(pid));
		ring.size += size;
	}
	pthread_mutex_unlock(&sideband->lock);
	return room;
}

struct seen {
	unsigned int attacker, bystander, execs;
};

static int see(void *context, const uint8_t *record, size_t size)
{
	struct perf_event_header header;
	struct seen *seen = context;
	int32_t pid;

	memcpy(&header, record, sizeof(header));
	memcpy(&pid, record + sizeof(header), sizeof(pid));
	CHECK_EQ(header.size, size);
	seen->execs += header.misc == PERF_RECORD_MISC_COMM_EXEC;
	seen->attacker += pid == ATTACKER && !header.misc;
	seen->bystander += pid == BYSTANDER;
	return 0;
}

/*
 * The draining thread is late, while several times as many other records come as fit into the ring.
 */
static void test_late(void)
{
	struct sideband sideband;
	struct seen seen = { 0 };
	unsigned int lost = 0;

	sideband_init(&sideband);
	CHECK_EQ(sideband_start(&sideband, NULL), 0);
	for (unsigned int i = 0; i < 4 * RING_BYTES / LONG_BYTES; i++) {
		int before = ring.drained;

		if (add(&sideband, PERF_TYPE_MMAP2, 0, ATTACKER, LONG_BYTES))
			continue;
		/* a full ring: the thread empties it, although nobody calls sideband_drain() */
		lost++;
		WAIT_UNTIL(ring.drained > before);
	}
	CHECK(lost >= 3 && lost <= 4);
	CHECK(add(&sideband, PERF_TYPE_MMAP2, 0, BYSTANDER, 128));
	WAIT_UNTIL(sideband_rest(&sideband));
	CHECK_EQ(sideband_drain(&sideband, true, see, &seen), 0);
	CHECK_EQ(seen.bystander, 1);
	CHECK(seen.attacker > 0 && seen.attacker <= ADMITTED);
	CHECK_EQ(ring.closed, 1);
	CHECK(!sideband_rest(&sideband));
	sideband_done(&sideband);
}

/* A draining thread that waits for a CPU cannot say that it works. */
static void test_fills(void)
{
	struct sideband sideband;
	int before;

	sideband_init(&sideband);
	CHECK_EQ(sideband_start(&sideband, NULL), 0);
	pthread_mutex_lock(&sideband.lock);
	sideband.working = false;
	sideband.fullest_bytes = RING_BYTES;
	before = ring.drained;
	pthread_mutex_unlock(&sideband.lock);
	WAIT_UNTIL(ring.drained > before);
	sideband_done(&sideband);
}

/* A process beyond its share loses its own mappings. Execs have no share. */
static void test_share(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	struct seen seen = { 0 };
	struct sideband sideband;
	uint64_t peak_bytes;

	CHECK_EQ(tracker_init(&tracker), 0);
	sideband_init(&sideband);
	for (unsigned int i = 0; i < ADMITTED + 500; i++) {
		if (!add(&sideband, PERF_TYPE_MMAP2, 0, ATTACKER, LONG_BYTES)) {
			CHECK_EQ(sideband_drain(&sideband, false, see, &seen), 0);
			CHECK(add(&sideband, PERF_TYPE_MMAP2, 0, ATTACKER, LONG_BYTES));
		}
	}
	CHECK(add(&sideband, PERF_TYPE_COMM, PERF_RECORD_MISC_COMM_EXEC, ATTACKER, 64));
	CHECK(add(&sideband, PERF_TYPE_MMAP2, 0, BYSTANDER, LONG_BYTES));
	CHECK_EQ(sideband_drain(&sideband, false, see, &seen), 0);
	CHECK_EQ(seen.attacker, ADMITTED);
	CHECK_EQ(seen.execs, 1);
	CHECK_EQ(seen.bystander, 1);
	CHECK_EQ(sideband_renew(&sideband, &tracker, &peak_bytes), 0);
	CHECK_EQ(tracker.refused.total, 500);
	CHECK_EQ(peak_bytes, RING_BYTES);
	sideband_done(&sideband);
}

CHECK_MAIN({ "rings are emptied while the drain is late", test_late },
	   { "a ring that fills up is emptied while the drain waits", test_fills },
	   { "a process loses its own records", test_share })
