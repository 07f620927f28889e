/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * One record of perf_event_open(2), decoded: the same for records of a live ring and of a perf.data
 * file. Pure: bytes in, a struct out, which borrows texts and the callchain from the bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "tape/tape.h"

/* What of perf_event_attr decides how its records look. */
struct perf_layout {
	uint64_t sample_type;
	uint64_t read_format;
	bool sample_id_all;
	/* in MMAP2 records, where their misc says so too */
	bool build_id;
};

/* The types of records that are decoded; the numbers are the kernel's. */
enum perf_record_type {
	PERF_TYPE_MMAP = 1,
	PERF_TYPE_LOST = 2,
	PERF_TYPE_COMM = 3,
	PERF_TYPE_EXIT = 4,
	PERF_TYPE_THROTTLE = 5,
	PERF_TYPE_UNTHROTTLE = 6,
	PERF_TYPE_FORK = 7,
	PERF_TYPE_SAMPLE = 9,
	PERF_TYPE_MMAP2 = 10,
	PERF_TYPE_LOST_SAMPLES = 13,
	PERF_TYPE_KSYMBOL = 17,
	PERF_TYPE_CGROUP = 19,
};

/* Where a sampled address was taken, as in the lowest bits of misc. */
enum perf_cpu_mode {
	PERF_MODE_UNKNOWN = 0,
	PERF_MODE_KERNEL = 1,
	PERF_MODE_USER = 2,
	PERF_MODE_HYPERVISOR = 3,
	PERF_MODE_GUEST_KERNEL = 4,
	PERF_MODE_GUEST_USER = 5,
};
#define PERF_MODE_MASK 7

#define PERF_HEADER_SIZE 8

/* Callchain entries from here up are marks, not addresses: the mode of what follows. */
#define PERF_CHAIN_MARKS ((uint64_t)-4095)

struct perf_record {
	uint32_t type;
	uint16_t misc;
	/* of the sample, or of the id that trails other records; -1, 0 or UINT32_MAX where the
	 * record has none */
	uint64_t time_ns;
	uint64_t id;
	uint32_t cpu;
	int32_t pid;
	int32_t tid;
	union {
		struct {
			uint64_t ip;
			uint64_t period;
			size_t chain_count;
			/* u64 each; perf_chain_at() */
			const uint8_t *chain;
			/* the kernel's number of it, 0 where the record has none */
			uint64_t cgroup;
			size_t raw_size;
			/* of a trace event */
			const uint8_t *raw;
		} sample;
		struct {
			int32_t pid;
			int32_t tid;
			const char *comm;
			bool exec;
		} comm;
		struct {
			int32_t pid;
			int32_t parent_pid;
			int32_t tid;
			int32_t parent_tid;
			/* FORK, EXIT */
		} task;
		struct {
			int32_t pid;
			int32_t tid;
			uint64_t start;
			uint64_t size;
			uint64_t offset;
			/* makedev(3) form, 0 with a build-id */
			uint64_t device;
			uint64_t inode;
			uint8_t build_id_size;
			uint8_t build_id[TAPE_BUILD_ID_MAX];
			const char *path;
			/* MMAP, MMAP2 */
		} mmap;
		struct {
			uint64_t start;
			uint32_t size;
			bool removed;
			const char *name;
		} ksymbol;
		struct {
			uint64_t id;
			const char *path;
			/* that was made */
		} cgroup;
		/* LOST, LOST_SAMPLES */
		uint64_t lost;
	};
};

/*
 * 0; 1 for a type that is not decoded (type, misc and, where it has one, the id are set); -EBADMSG
 * when a record is shorter than what it claims to hold. size is that of the whole record, header
 * included.
 */
int perf_record_decode(const struct perf_layout *layout, const uint8_t *bytes, size_t size,
		       struct perf_record *ret_record);

struct perf_record_place {
	/* 0 where the record has none */
	uint64_t time_ns;
	/* of its event, 0 where it has none */
	uint64_t id;
	/* UINT32_MAX where it has none */
	uint32_t cpu;
	bool sample;
};

/* Only when, where and of which event, without a look at the rest. */
struct perf_record_place perf_record_place(const struct perf_layout *layout, const uint8_t *bytes,
					   size_t size);

static inline uint64_t perf_chain_at(const struct perf_record *record, size_t i)
{
	uint64_t address;

	__builtin_memcpy(&address, record->sample.chain + 8 * i, 8);
	return address;
}
