/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the stack of a tape for a callchain of the kernel. The leaf is not a part of the stack,
 * because there are far fewer different stacks of callers than leaves.
 */

#include "base/array.h"
#include "recorder/procs/accounts.h"
#include "recorder/build/frame-table.h"
#include "recorder/perf/perf-record.h"
#include "recorder/build/lru-cache.h"
#include "recorder/procs/tracker.h"
#include "tape/tape.h"

/* A caller; the innermost comes first. */
struct chain_step {
	uint64_t address;
	/* Hash of this caller and of all outer ones, with the versions of the mappings. */
	uint64_t hash;
	enum perf_cpu_mode mode;
};

/*
 * The versions of the mappings for which a callchain was hashed. During an exec, a process has two
 * versions: those of the new and of the old program.
 */
struct chain_mappings {
	uint64_t kernel;
	/* The version + 1; 0: none. */
	uint64_t user;
	/* The version + 1; 0: none. */
	uint64_t before;
};

/* A callchain that callchain_cache_prefetch() hashed. Zeroed: none. */
struct chain {
	struct chain_mappings mappings;
	/* Hash of all callers, with the versions of the mappings. */
	uint64_t hash;
	uint64_t leaf;
	enum perf_cpu_mode leaf_mode;
	/* Index of the first caller among the entries. */
	size_t first;
	/* The number of callers. */
	size_t depth;
	/* How the user's callers end. Below incomplete callers, the stack has a mark. */
	enum perf_user_end end;
	/* The kernel did not give any address. */
	bool no_leaf;
	/* The callers end at an unknown mark; the outer callers are not known. */
	bool truncated;
};

#define CHAIN_FACTORS 128

struct callchain_cache {
	/* Borrowed; set by callchain_cache_start(). */
	struct tape *tape;
	struct tracker *tracker;
	struct frame_table frames;
	/* Maps the hash and the number of callers to their stack. */
	struct lru_cache known;
	/* The callers of the present callchain. */
	array_of(struct chain_step) steps;
	/*
	 * The stacks of the present tape for the marks below incomplete callers; 0: not added yet.
	 */
	uint32_t marks[PERF_USER_ENDS];
	/* Callers that lie in no known mapping, although some mappings may not be known. */
	uint64_t unmapped;
	/* New callers and frames that each cgroup may add; NULL: not bounded. */
	struct accounts *accounts;
	/* Factors for the hash, by depth below the root. */
	uint64_t factors[CHAIN_FACTORS];
};

/* Prepares the cache. The tracker must outlive it. Returns 0 or -ENOMEM. */
int callchain_cache_init(struct callchain_cache *cache, struct tracker *tracker);
void callchain_cache_done(struct callchain_cache *cache);
/* Empties the cache and uses this tape from now on. */
void callchain_cache_start(struct callchain_cache *cache, struct tape *tape);

/*
 * Hashes a record's callchain, and prefetches the memory that callchain_cache_find() will soon
 * read. That memory is not in a CPU cache, so several prefetches at once save waiting time.
 * `process` may be NULL. Returns 0 or -ENOMEM.
 */
int callchain_cache_prefetch(struct callchain_cache *cache, const struct tracker_process *process,
			     const struct perf_record *record, struct chain *ret_chain);
/*
 * Finds the leaf's frame and the stack of its callers, and adds them to the tape if they are new.
 * Uses `chain` only if the mappings did not change since the prefetch; it may be zeroed. New
 * callers spend from `account`, the key of the cgroup. If it has spent too much, the stack is
 * TAPE_CUT. Returns 0; 1 if the callchain was truncated; CALLCHAIN_CUT; -ENOMEM.
 */
#define CALLCHAIN_CUT 2

int callchain_cache_find(struct callchain_cache *cache, struct tracker_process *process,
			 uint64_t account, const struct perf_record *record,
			 const struct chain *chain, uint32_t *ret_frame, uint32_t *ret_stack);
