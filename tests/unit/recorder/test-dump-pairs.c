// SPDX-License-Identifier: GPL-2.0-only
/* Pairs samples with copies of their stacks, in rings that the test writes byte by byte. */
#include "tests/check.h"

#include <linux/perf_event.h>

#include "base/bytes.h"
#include "recorder/dumps/dump-pairs.h"

#define PERIOD 1000000ull

static const struct perf_layout layout = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
		       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.regs_user = 1 << 7,
	.sample_id_all = true,
};

/* A ring buffer. `head` is the place where the kernel writes next. */
struct written {
	uint8_t bytes[1024];
	uint64_t head, tail;
};

static void put_bytes(struct written *ring, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ring->bytes[ring->head++ % sizeof(ring->bytes)] = ((const uint8_t *)bytes)[i];
}

static void put_u64(struct written *ring, uint64_t value)
{
	put_bytes(ring, &value, sizeof(value));
}

static void put_header(struct written *ring, uint32_t type, uint16_t size)
{
	put_u64(ring, type | (uint64_t)size << 48);
}

/* The size of a copy record with 16 bytes of stack, which contain the record's time. */
#define COPY_SIZE 88

static void put_copy(struct written *ring, uint64_t time_ns)
{
	put_header(ring, PERF_RECORD_SAMPLE, COPY_SIZE);
	put_u64(ring, 0x1000);
	put_u64(ring, 7 | 7ull << 32);
	put_u64(ring, time_ns);
	put_u64(ring, 0);
	put_u64(ring, PERF_SAMPLE_REGS_ABI_64);
	put_u64(ring, 0x7fff0000);
	put_u64(ring, 16);
	put_u64(ring, time_ns);
	put_u64(ring, time_ns);
	put_u64(ring, 16);
}

static void put_lost(struct written *ring, uint64_t count)
{
	put_header(ring, PERF_RECORD_LOST, 48);
	put_u64(ring, 1);
	put_u64(ring, count);
	put_u64(ring, 7 | 7ull << 32);
	put_u64(ring, 5);
	put_u64(ring, 0);
}

static void show(struct dump_pairs *pairs, uint32_t cpu, const struct written *ring)
{
	struct ring_view view = { ring->bytes, sizeof(ring->bytes), ring->tail, ring->head };

	CHECK_EQ(dump_pairs_show(pairs, cpu, &view), 0);
}

/* Returns the time that the copied stack of a sample contains; 0: the sample has no copy. */
static uint64_t take(struct dump_pairs *pairs, uint32_t cpu, uint64_t time_ns)
{
	static uint8_t room[RING_RECORD_MAX];
	const uint8_t *bytes;
	struct perf_record record;
	size_t size = dump_pairs_take(pairs, cpu, time_ns, room, &bytes);
	uint64_t word;

	if (!size)
		return 0;
	CHECK_EQ(perf_record_decode(&layout, bytes, size, &record), 0);
	CHECK_EQ(record.sample.user.stack_size, 16);
	memcpy(&word, record.sample.user.stack, sizeof(word));
	CHECK_EQ(record.time_ns, word);
	return word;
}

static struct dump_pairs pairs_of_test(void)
{
	return (struct dump_pairs){ .layout = &layout, .period_ns = PERIOD };
}

static void test_same_interrupt(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written ring = { 0 };

	for (uint64_t i = 1; i <= 5; i++)
		put_copy(&ring, i * PERIOD + 4000);
	show(&pairs, 0, &ring);
	for (uint64_t i = 1; i <= 5; i++)
		CHECK_EQ(take(&pairs, 0, i * PERIOD), i * PERIOD + 4000);
	CHECK_EQ(take(&pairs, 0, 6 * PERIOD), 0);
	CHECK_EQ(dump_pairs_hide(&pairs, 0, 6 * PERIOD), ring.head);
}

static void test_missing_copies(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written ring = { 0 };

	put_copy(&ring, 2 * PERIOD);
	put_copy(&ring, 5 * PERIOD);
	show(&pairs, 0, &ring);
	CHECK_EQ(take(&pairs, 0, 1 * PERIOD), 0);
	CHECK_EQ(take(&pairs, 0, 2 * PERIOD), 2 * PERIOD);
	CHECK_EQ(take(&pairs, 0, 3 * PERIOD), 0);
	CHECK_EQ(take(&pairs, 0, 4 * PERIOD), 0);
	CHECK_EQ(take(&pairs, 0, 5 * PERIOD), 5 * PERIOD);
}

static void test_copies_without_samples(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written ring = { 0 };

	for (uint64_t i = 1; i <= 8; i++)
		put_copy(&ring, i * PERIOD);
	show(&pairs, 0, &ring);
	CHECK_EQ(take(&pairs, 0, 4 * PERIOD + 10), 4 * PERIOD);
	CHECK_EQ(take(&pairs, 0, 8 * PERIOD - 10), 8 * PERIOD);
}

/* The timers moved apart by less than half a period, in both directions. */
static void test_drift(void)
{
	static const int64_t offs[] = { -499000, -30000, 30000, 400000, 499000 };

	for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
		_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
		struct written ring = { 0 };

		for (uint64_t at = 2; at <= 9; at++)
			put_copy(&ring, at * PERIOD + offs[i]);
		show(&pairs, 0, &ring);
		for (uint64_t at = 2; at <= 9; at++)
			CHECK_EQ(take(&pairs, 0, at * PERIOD), at * PERIOD + offs[i]);
	}
}

/* A late copy does not become the copy of the next sample, which has its own copy. */
static void test_nearest(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written ring = { 0 };

	put_copy(&ring, 3 * PERIOD - 300000);
	put_copy(&ring, 3 * PERIOD + 5000);
	show(&pairs, 0, &ring);
	CHECK_EQ(take(&pairs, 0, 3 * PERIOD), 3 * PERIOD + 5000);
}

static void test_wrapping(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written ring = { 0 };
	uint64_t next = 1;

	/* each round leaves the next record at another place of the ring */
	for (int round = 0; round < 40; round++) {
		for (uint64_t i = 0; i < 7; i++)
			put_copy(&ring, (next + i) * PERIOD);
		show(&pairs, 0, &ring);
		for (uint64_t i = 0; i < 7; i++)
			CHECK_EQ(take(&pairs, 0, (next + i) * PERIOD), (next + i) * PERIOD);
		next += 7;
		ring.tail = dump_pairs_hide(&pairs, 0, next * PERIOD);
		CHECK_EQ(ring.tail, ring.head);
	}
}

/* Copies that are younger than the applied samples stay for the next run. */
static void test_rest_stays(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written ring = { 0 };

	for (uint64_t i = 1; i <= 6; i++)
		put_copy(&ring, i * PERIOD);
	show(&pairs, 0, &ring);
	CHECK_EQ(take(&pairs, 0, 1 * PERIOD), 1 * PERIOD);
	ring.tail = dump_pairs_hide(&pairs, 0, 4 * PERIOD);
	CHECK_EQ(ring.tail, 3 * COPY_SIZE);
	CHECK_EQ(take(&pairs, 0, 4 * PERIOD), 0);
	show(&pairs, 0, &ring);
	CHECK_EQ(take(&pairs, 0, 4 * PERIOD), 4 * PERIOD);
	CHECK_EQ(take(&pairs, 0, 5 * PERIOD), 5 * PERIOD);
}

static void test_lost(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written ring = { 0 };

	put_copy(&ring, 1 * PERIOD);
	put_lost(&ring, 17);
	put_copy(&ring, 5 * PERIOD);
	put_lost(&ring, 4);
	show(&pairs, 0, &ring);
	CHECK_EQ(take(&pairs, 0, 1 * PERIOD), 1 * PERIOD);
	CHECK_EQ(take(&pairs, 0, 3 * PERIOD), 0);
	CHECK_EQ(take(&pairs, 0, 5 * PERIOD), 5 * PERIOD);
	CHECK_EQ(dump_pairs_hide(&pairs, 0, 6 * PERIOD), ring.head);
	CHECK_EQ(pairs.lost, 21);
}

static void test_cpus_are_apart(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written first = { 0 }, second = { 0 };

	put_copy(&first, 1 * PERIOD);
	put_copy(&second, 2 * PERIOD);
	show(&pairs, 1, &first);
	show(&pairs, 3, &second);
	CHECK_EQ(take(&pairs, 0, 1 * PERIOD), 0);
	CHECK_EQ(take(&pairs, 3, 1 * PERIOD), 0);
	CHECK_EQ(take(&pairs, 3, 2 * PERIOD), 2 * PERIOD);
	CHECK_EQ(take(&pairs, 1, 1 * PERIOD), 1 * PERIOD);
	CHECK_EQ(take(&pairs, 70000, 1 * PERIOD), 0);
}

/*
 * A record that claims more bytes than the ring has ends the run. The run does not read beyond this
 * record.
 */
static void test_damaged_size(void)
{
	static const uint16_t sizes[] = { 0, 4, 1000, 65535 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
		struct written ring = { 0 };

		put_header(&ring, PERF_RECORD_SAMPLE, sizes[i]);
		put_u64(&ring, 1);
		show(&pairs, 0, &ring);
		CHECK_EQ(take(&pairs, 0, 1 * PERIOD), 0);
		CHECK_EQ(dump_pairs_hide(&pairs, 0, 1 * PERIOD), 0);
	}
}

static void test_apart(void)
{
	_cleanup_(dump_pairs_done) struct dump_pairs pairs = pairs_of_test();
	struct written ring = { 0 };

	show(&pairs, 0, &ring);
	for (int i = 0; i < 20; i++)
		dump_pairs_note(&pairs, 0, false);
	CHECK(!dump_pairs_is_apart(&pairs, 0));
	for (int i = 0; i < 20; i++)
		dump_pairs_note(&pairs, 0, true);
	CHECK(dump_pairs_is_apart(&pairs, 0));
	for (int i = 0; i < 100; i++)
		dump_pairs_note(&pairs, 0, i % 20 != 0);
	CHECK(!dump_pairs_is_apart(&pairs, 0));
	CHECK(!dump_pairs_is_apart(&pairs, 5));
}

CHECK_MAIN({ "each sample finds the copy of its interrupt", test_same_interrupt },
	   { "a sample without a copy gets none", test_missing_copies },
	   { "copies without samples are passed", test_copies_without_samples },
	   { "timers may drift by half a period", test_drift },
	   { "the nearest copy is taken", test_nearest },
	   { "records go over the end of a ring", test_wrapping },
	   { "younger copies stay", test_rest_stays }, { "lost copies are counted", test_lost },
	   { "CPUs have rings of their own", test_cpus_are_apart },
	   { "a damaged size ends the run", test_damaged_size },
	   { "timers that moved apart are found", test_apart })
