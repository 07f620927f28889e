/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes the callers of a sample from the copy of its stack. The kernel follows frame pointers,
 * which most programs do not keep. So some callers are missing in the kernel's callchain, and
 * others are arbitrary data of the stack.
 *
 *   1. The kernel's part of the callchain stays. The walk (unwind/stack-walk.h) replaces the user's
 *      part.
 *   2. A walk may end too early, in code that keeps the frame pointer. If the kernel followed the
 *      same frame pointer, the rest of the kernel's callers follow the walk's. Both read the same
 *      stack of the same moment.
 *   3. If the table of a file does not exist yet, the kernel's callers stay as they are.
 *   4. sample.user_end is set to the way in which the user's part ends.
 */

#include "base/array.h"
#include "recorder/dumps/dump-code.h"
#include "recorder/perf/perf-record.h"

struct dump_walk {
	struct dump_codes codes;
	/* Borrowed; NULL: search the tables each time. */
	struct rule_cache *rules;
	enum unwind_machine machine;
	/*
	 * The greatest number of callers that the kernel records, its own and the user's together.
	 */
	size_t chain_max;
	/* The number of walks by their end, for `status` and for the choice of a size. */
	uint64_t ends[STACK_ENDS];
	/* Walks that the kernel's callers completed. */
	uint64_t spliced;
};

/* Prepares walks. Reads the kernel's limit of callers. */
void dump_walk_init(struct dump_walk *walk, struct tracker *tracker, struct unwind_tables *tables);
/* Call it after each unwind_tables_turn(). */
void dump_walk_turn(struct dump_walk *walk);

/* Returns the number of entries of the callchain before the first address of the user. */
size_t dump_walk_find_user(const struct perf_record *record);

/* Room for a callchain. */
struct dump_chain {
	array_of(uint64_t) entries;
};

/* The walk of one sample. */
struct dump_job {
	/* The sample can be walked. */
	bool is_walking;
	/* The walk has not ended. */
	bool is_going;
	struct stack_walk stack;
	struct dump_code code;
	/* The number of entries of the kernel's callchain before the user's part. */
	size_t user;
	/* The leaf's frame pointer. */
	uint64_t frame;
};

/*
 * Replaces the callers of a sample. record->sample.user and the callchain must be those of the
 * copy; both stay in place until dump_walk_end(), as does `job`. The new callchain is in `chain`.
 * Between begin and end, steps of several walks may take turns. Returns 0 or -ENOMEM.
 */
int dump_walk_begin(struct dump_walk *walk, struct perf_record *record, struct dump_chain *chain,
		    struct dump_job *job);
void dump_walk_step(struct dump_job *job);
void dump_walk_end(struct dump_walk *walk, struct perf_record *record, struct dump_chain *chain,
		   struct dump_job *job);
