/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Decodes one record of perf_event_open(2), from a live ring or from a perf.data file. The decoded
 * struct borrows texts, the callchain, registers and stack from the bytes. The functions do not
 * have side effects.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "tape/tape.h"

/* The parts of perf_event_attr that determine the layout of its records. */
struct perf_layout {
	uint64_t sample_type;
	uint64_t read_format;
	/* The mask of the user's registers in a sample, as sample_regs_user of its event. */
	uint64_t regs_user;
	bool sample_id_all;
	/* MMAP2 records may have a build-id; a flag in `misc` shows which records do. */
	bool build_id;
};

/* The types of records that this file decodes, with the kernel's numbers. */
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

/* The CPU mode at a sampled address, from the lowest bits of misc. */
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

/*
 * Callchain entries with this value or a greater one are marks, not addresses. A mark states the
 * CPU mode of the entries after it.
 */
#define PERF_CHAIN_MARKS ((uint64_t)-4095)

/*
 * The user's registers and the top of its stack, at the moment of the sample or of the last entry
 * into the kernel. All members are 0 if the sample lacks both, as for a kernel thread.
 */
struct perf_user {
	/* PERF_SAMPLE_REGS_ABI_*. */
	uint64_t abi;
	/* The mask of the registers, as perf_layout.regs_user; 0: none. */
	uint64_t regs_mask;
	/* 8 bytes for each register of the mask, the lowest first. */
	const uint8_t *regs;
	/* The memory from the stack pointer upwards, as far as the kernel could copy it. */
	const uint8_t *stack;
	size_t stack_size;
};

/* How the user's part of a callchain ends. */
enum perf_user_end {
	/*
	 * It ends with the outermost caller. Also used for a callchain without a user's part, and
	 * if the recorder did not check the end.
	 */
	PERF_USER_WHOLE,
	/* It ends too early. */
	PERF_USER_CUT,
	/*
	 * The kernel followed frame pointers, although the recorder walks other stacks by tables:
	 * callers may be missing or wrong.
	 */
	PERF_USER_FRAME_POINTERS,
};
#define PERF_USER_ENDS 3

struct perf_record {
	uint32_t type;
	uint16_t misc;
	/*
	 * The members up to `tid` come from the sample, or from the id at the end of other records.
	 * A member that the record lacks is 0, UINT32_MAX or -1.
	 */
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
			/* Entries of 8 bytes; read them with perf_chain_at(). */
			const uint8_t *chain;
			/* The kernel's cgroup id; 0 if the record has none. */
			uint64_t cgroup;
			size_t raw_size;
			/* The payload of a trace event. */
			const uint8_t *raw;
			struct perf_user user;
			/* Set by recorder/dumps/. */
			enum perf_user_end user_end;
		} sample;
		struct {
			int32_t pid;
			int32_t tid;
			const char *comm;
			bool exec;
		} comm;
		/* FORK, EXIT */
		struct {
			int32_t pid;
			int32_t parent_pid;
			int32_t tid;
			int32_t parent_tid;
		} task;
		/* MMAP, MMAP2 */
		struct {
			int32_t pid;
			int32_t tid;
			uint64_t start;
			uint64_t size;
			uint64_t offset;
			/* In the form of makedev(3); 0 with a build-id. */
			uint64_t device;
			uint64_t inode;
			/*
			 * Distinguishes files that had the same inode one after the other; 0:
			 * unknown.
			 */
			uint64_t generation;
			uint8_t build_id_size;
			uint8_t build_id[TAPE_BUILD_ID_MAX];
			const char *path;
		} mmap;
		struct {
			uint64_t start;
			uint32_t size;
			bool removed;
			const char *name;
		} ksymbol;
		/* CGROUP: a cgroup was made. */
		struct {
			uint64_t id;
			const char *path;
		} cgroup;
		/* LOST, LOST_SAMPLES */
		uint64_t lost;
	};
};

/*
 * Decodes a record. `size` includes the header. Returns 0; 1 if the type is not decoded (only type,
 * misc and the id, if any, are set); -EBADMSG if the record is shorter than its contents.
 */
int perf_record_decode(const struct perf_layout *layout, const uint8_t *bytes, size_t size,
		       struct perf_record *ret_record);

/*
 * Returns the process that caused a side-band record, and could cause many: the one that maps,
 * renames a thread, or forks. Returns 0 for records that are rare, or that the recorder must not
 * refuse, such as EXIT and exec.
 */
int32_t perf_record_actor(const uint8_t *bytes, size_t size);

struct perf_record_place {
	/* 0 if the record has no time. */
	uint64_t time_ns;
	/* The id of the record's event; 0: unknown. */
	uint64_t id;
	/* UINT32_MAX if the record has no CPU. */
	uint32_t cpu;
	bool sample;
};

/* Returns the time, CPU and event of a record, without decoding the rest. */
struct perf_record_place perf_record_place(const struct perf_layout *layout, const uint8_t *bytes,
					   size_t size);

/* Returns entry i of a sample's callchain. i must be less than chain_count. */
static inline uint64_t perf_chain_at(const struct perf_record *record, size_t i)
{
	uint64_t address;

	__builtin_memcpy(&address, record->sample.chain + 8 * i, 8);
	return address;
}

/*
 * Sets *ret_value to the register with this number in the mask. Returns false if the mask lacks the
 * register.
 */
bool perf_user_register(const struct perf_user *user, unsigned int number, uint64_t *ret_value);
