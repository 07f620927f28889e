// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/sysmacros.h>

#include "recorder/perf/perf-record.h"

static const struct perf_layout sampling = {
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
		       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
	.sample_id_all = true,
};

/* The layout of an event that requests build-ids. */
static const struct perf_layout sideband = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	.sample_id_all = true,
	.build_id = true,
};

/* Begins a record; put_end() fills in its size. */
static void put_begin(struct buffer *record, uint32_t type, uint16_t misc)
{
	record->size = 0;
	buffer_u32(record, type);
	buffer_u16(record, misc);
	buffer_u16(record, 0);
}

static void put_end(struct buffer *record)
{
	record->data[6] = record->size;
	record->data[7] = record->size >> 8;
}

static void put_text(struct buffer *record, const char *text)
{
	buffer_bytes(record, text, strlen(text) + 1);
	while (record->size % 8)
		buffer_u8(record, 0);
}

static void put_id(struct buffer *record, uint32_t pid, uint32_t tid, uint64_t time, uint32_t cpu)
{
	buffer_u32(record, pid);
	buffer_u32(record, tid);
	buffer_u64(record, time);
	buffer_u32(record, cpu);
	buffer_u32(record, 0);
}

static void put_sample(struct buffer *record, size_t claimed, size_t there)
{
	put_begin(record, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	buffer_u64(record, 0x1234);
	buffer_u32(record, 100);
	buffer_u32(record, 101);
	buffer_u64(record, 777);
	buffer_u32(record, 3);
	buffer_u32(record, 0);
	buffer_u64(record, 10309278);
	buffer_u64(record, claimed);
	for (size_t i = 0; i < there; i++)
		buffer_u64(record, 0x1000 + i);
	put_end(record);
}

static void test_sample(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	put_sample(&bytes, 3, 3);
	CHECK_EQ(perf_record_decode(&sampling, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.sample.ip, 0x1234);
	CHECK_EQ(record.pid, 100);
	CHECK_EQ(record.tid, 101);
	CHECK_EQ(record.time_ns, 777);
	CHECK_EQ(record.cpu, 3);
	CHECK_EQ(record.sample.period, 10309278);
	CHECK_EQ(record.sample.chain_count, 3);
	CHECK_EQ(perf_chain_at(&record, 2), 0x1002);
	CHECK_EQ(perf_record_place(&sampling, bytes.data, bytes.size).time_ns, 777);
	CHECK_EQ(perf_record_place(&sampling, bytes.data, bytes.size).cpu, 3);
}

static void test_sample_that_claims_too_much(void)
{
	static const uint64_t claims[] = { 4, 1000, UINT64_MAX, UINT64_MAX / 8 + 1, 1ull << 61 };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		put_sample(&bytes, claims[i], 3);
		CHECK_EQ(perf_record_decode(&sampling, bytes.data, bytes.size, &record), -EBADMSG);
	}
}

static void test_sample_with_values(void)
{
	struct perf_layout layout = sampling;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	layout.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_READ |
			     PERF_SAMPLE_CALLCHAIN;
	layout.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
	put_begin(&bytes, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	buffer_u64(&bytes, 55);
	buffer_u64(&bytes, 888);
	buffer_u64(&bytes, 2); /* two values, each with its ID */
	for (int i = 0; i < 5; i++)
		buffer_u64(&bytes, 9000 + i);
	buffer_u64(&bytes, 1);
	buffer_u64(&bytes, 0xabc);
	put_end(&bytes);
	CHECK_EQ(perf_record_decode(&layout, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.id, 55);
	CHECK_EQ(record.time_ns, 888);
	CHECK_EQ(record.sample.chain_count, 1);
	CHECK_EQ(perf_chain_at(&record, 0), 0xabc);
	CHECK_EQ(record.sample.period, 1);
	CHECK_EQ(record.tid, -1);
}

/* A sample with three registers and 16 bytes of stack, of which the kernel copied `copied`. */
static void put_user(struct buffer *bytes, uint64_t abi, uint64_t size, uint64_t copied)
{
	put_begin(bytes, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	buffer_u64(bytes, 777);
	buffer_u64(bytes, abi);
	for (int i = 0; abi && i < 3; i++)
		buffer_u64(bytes, 0xa0 + i);
	buffer_u64(bytes, size);
	for (uint64_t i = 0; i < MIN(size, 16ull) / 8; i++)
		buffer_u64(bytes, 0xb0 + i);
	if (size)
		buffer_u64(bytes, copied);
	buffer_u64(bytes, 0xc0);
	put_end(bytes);
}

static const struct perf_layout dumping = {
	.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
		       PERF_SAMPLE_CGROUP,
	.regs_user = 1 << 6 | 1 << 7 | 1 << 16,
};

static void test_sample_with_stack(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;
	uint64_t value;

	put_user(&bytes, PERF_SAMPLE_REGS_ABI_64, 16, 8);
	CHECK_EQ(perf_record_decode(&dumping, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.time_ns, 777);
	CHECK_EQ(record.sample.user.abi, PERF_SAMPLE_REGS_ABI_64);
	CHECK(perf_user_register(&record.sample.user, 7, &value));
	CHECK_EQ(value, 0xa1);
	CHECK(perf_user_register(&record.sample.user, 16, &value));
	CHECK_EQ(value, 0xa2);
	CHECK(!perf_user_register(&record.sample.user, 8, &value));
	CHECK(!perf_user_register(&record.sample.user, 64, &value));
	CHECK_EQ(record.sample.user.stack_size, 8);
	CHECK_EQ(record.sample.user.stack[0], 0xb0);
	CHECK_EQ(record.sample.cgroup, 0xc0);
}

static void test_sample_without_user(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;
	uint64_t value;

	put_user(&bytes, PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
	CHECK_EQ(perf_record_decode(&dumping, bytes.data, bytes.size, &record), 0);
	CHECK(!perf_user_register(&record.sample.user, 7, &value));
	CHECK_EQ(record.sample.user.stack_size, 0);
	CHECK_EQ(record.sample.cgroup, 0xc0);
}

static void test_sample_that_claims_too_much_stack(void)
{
	static const uint64_t sizes[] = { 40, 4096, UINT64_MAX };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	put_user(&bytes, PERF_SAMPLE_REGS_ABI_64, 16, UINT64_MAX);
	CHECK_EQ(perf_record_decode(&dumping, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.sample.user.stack_size, 16);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		put_user(&bytes, PERF_SAMPLE_REGS_ABI_64, sizes[i], 8);
		CHECK_EQ(perf_record_decode(&dumping, bytes.data, bytes.size, &record), -EBADMSG);
	}
}

static void test_comm(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	put_begin(&bytes, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	buffer_u32(&bytes, 7);
	buffer_u32(&bytes, 8);
	put_text(&bytes, "kubelet");
	put_id(&bytes, 7, 8, 999, 1);
	put_end(&bytes);
	CHECK_EQ(perf_record_decode(&sideband, bytes.data, bytes.size, &record), 0);
	CHECK_STR(record.comm.comm, "kubelet");
	CHECK(record.comm.exec);
	CHECK_EQ(record.comm.tid, 8);
	CHECK_EQ(record.time_ns, 999);
	CHECK_EQ(record.cpu, 1);
}

static void put_mmap2(struct buffer *bytes, uint16_t misc)
{
	put_begin(bytes, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | misc);
	buffer_u32(bytes, 7);
	buffer_u32(bytes, 8);
	buffer_u64(bytes, 0x400000);
	buffer_u64(bytes, 0x3000);
	buffer_u64(bytes, 0x1000);
	if (misc) {
		buffer_u32(bytes, 4); /* size, padding */
		buffer_bytes(bytes, "\xde\xad\xbe\xef", 4);
		for (int i = 0; i < 16; i++)
			buffer_u8(bytes, 0);
	} else {
		buffer_u32(bytes, 8);
		buffer_u32(bytes, 1);
		buffer_u64(bytes, 4711);
		buffer_u64(bytes, 1);
	}
	buffer_u32(bytes, 5);
	buffer_u32(bytes, 2);
	put_text(bytes, "/usr/bin/x");
	put_id(bytes, 7, 8, 1000, 0);
	put_end(bytes);
}

static void test_mmap2(void)
{
	struct perf_layout plain;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	put_mmap2(&bytes, 0);
	CHECK_EQ(perf_record_decode(&sideband, bytes.data, bytes.size, &record), 0);
	CHECK_STR(record.mmap.path, "/usr/bin/x");
	CHECK_EQ(record.mmap.start, 0x400000);
	CHECK_EQ(record.mmap.offset, 0x1000);
	CHECK_EQ(record.mmap.device, makedev(8, 1));
	CHECK_EQ(record.mmap.inode, 4711);
	CHECK_EQ(record.mmap.build_id_size, 0);
	put_mmap2(&bytes, PERF_RECORD_MISC_MMAP_BUILD_ID);
	CHECK_EQ(perf_record_decode(&sideband, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.mmap.build_id_size, 4);
	CHECK_EQ(record.mmap.build_id[0], 0xde);
	CHECK_EQ(record.mmap.build_id[3], 0xef);
	CHECK_EQ(record.mmap.inode, 0);
	CHECK_STR(record.mmap.path, "/usr/bin/x");
	/*
	 * another listener requested build-ids and this one did not: the bytes are device and
	 * inode, whatever misc says
	 */
	plain = sideband;
	plain.build_id = false;
	CHECK_EQ(perf_record_decode(&plain, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.mmap.build_id_size, 0);
	bytes.data[8 + 32] = 21; /* a build-id longer than its field */
	CHECK_EQ(perf_record_decode(&sideband, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.mmap.build_id_size, 0);
}

static void test_fork_and_lost(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	put_begin(&bytes, PERF_RECORD_FORK, 0);
	for (uint32_t id = 1; id <= 4; id++)
		buffer_u32(&bytes, id);
	buffer_u64(&bytes, 1234);
	put_id(&bytes, 1, 3, 1234, 0);
	put_end(&bytes);
	CHECK_EQ(perf_record_decode(&sideband, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.task.pid, 1);
	CHECK_EQ(record.task.parent_pid, 2);
	CHECK_EQ(record.task.tid, 3);
	CHECK_EQ(record.task.parent_tid, 4);
	put_begin(&bytes, PERF_RECORD_LOST, 0);
	buffer_u64(&bytes, 5);
	buffer_u64(&bytes, 321);
	put_id(&bytes, 0, 0, 2000, 6);
	put_end(&bytes);
	CHECK_EQ(perf_record_decode(&sideband, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.lost, 321);
	CHECK_EQ(record.cpu, 6);
}

/*
 * In a sample, the cgroup follows the callchain, unless fields that perftape does not decode lie
 * between them.
 */
static void test_cgroup(void)
{
	struct perf_layout layout = sampling;
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	layout.sample_type |= PERF_SAMPLE_CGROUP;
	put_sample(&bytes, 3, 3);
	CHECK_EQ(perf_record_decode(&layout, bytes.data, bytes.size, &record), -EBADMSG);
	buffer_u64(&bytes, 4242);
	put_end(&bytes);
	CHECK_EQ(perf_record_decode(&layout, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.sample.cgroup, 4242);
	CHECK_EQ(record.sample.chain_count, 3);
	layout.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	CHECK_EQ(perf_record_decode(&layout, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.sample.cgroup, 0);

	/* a trace event's bytes come first */
	layout.sample_type ^= PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_RAW;
	bytes.size = 0;
	put_sample(&bytes, 3, 3);
	buffer_u32(&bytes, 4);
	buffer_bytes(&bytes, "raw!", 4);
	buffer_u64(&bytes, 4242);
	put_end(&bytes);
	CHECK_EQ(perf_record_decode(&layout, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.sample.raw_size, 4);
	CHECK_EQ(memcmp(record.sample.raw, "raw!", 4), 0);
	CHECK_EQ(record.sample.cgroup, 4242);
	bytes.data[bytes.size - 16] = 0xff;
	CHECK_EQ(perf_record_decode(&layout, bytes.data, bytes.size, &record), -EBADMSG);

	put_begin(&bytes, PERF_RECORD_CGROUP, 0);
	buffer_u64(&bytes, 4242);
	put_text(&bytes, "/system.slice/a.service");
	put_id(&bytes, 1, 1, 888, 2);
	put_end(&bytes);
	CHECK_EQ(perf_record_decode(&sampling, bytes.data, bytes.size, &record), 0);
	CHECK_EQ(record.cgroup.id, 4242);
	CHECK_STR(record.cgroup.path, "/system.slice/a.service");
	CHECK_EQ(record.time_ns, 888);
}

static void test_unknown_type(void)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	struct perf_record record;

	put_begin(&bytes, 4000, 0);
	put_id(&bytes, 1, 3, 1234, 0);
	put_end(&bytes);
	CHECK_EQ(perf_record_decode(&sideband, bytes.data, bytes.size, &record), 1);
	CHECK_EQ(record.time_ns, 1234);
}

/*
 * With every length of a record, and a header that states this length, no read goes beyond the
 * record's end. ASan checks that.
 */
static void test_short_records(void)
{
	for (int which = 0; which < 3; which++) {
		_cleanup_(buffer_done) struct buffer bytes = { 0 };
		size_t size;

		if (which == 0)
			put_sample(&bytes, 3, 3);
		else
			put_mmap2(&bytes, which == 1 ? 0 : PERF_RECORD_MISC_MMAP_BUILD_ID);
		size = bytes.size;
		for (size_t cut = 0; cut < size; cut++) {
			_cleanup_free_ uint8_t *copy = malloc(cut + !cut);
			struct perf_record record;

			memcpy(copy, bytes.data, cut);
			if (cut >= 8) {
				copy[6] = cut;
				copy[7] = cut >> 8;
			}
			if (perf_record_decode(which ? &sideband : &sampling, copy, cut, &record) <
			    0)
				continue;
			CHECK(which != 0);
			CHECK(record.mmap.path);
		}
	}
}

CHECK_MAIN({ "a sample is decoded", test_sample },
	   { "a sample that claims too much is refused", test_sample_that_claims_too_much },
	   { "a sample with counter values is decoded", test_sample_with_values },
	   { "a sample with registers and stack is decoded", test_sample_with_stack },
	   { "a sample of a kernel thread has no registers", test_sample_without_user },
	   { "a sample that claims too much stack is refused",
	     test_sample_that_claims_too_much_stack },
	   { "comm records are decoded", test_comm },
	   { "mmap2 records with and without a build-id", test_mmap2 },
	   { "fork and lost records are decoded", test_fork_and_lost },
	   { "cgroups of samples and of records", test_cgroup },
	   { "an unknown type is skipped", test_unknown_type },
	   { "short records are refused", test_short_records })
