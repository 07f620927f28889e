/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the stack of a tape for a callchain of the kernel. The leaf is looked up apart from its
 * callers, because there are far fewer different callers than leaves.
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
 * The versions of the mappings for which a callchain was hashed. A process has two versions of its
 * own during an exec.
 */
struct chain_mappings {
	uint64_t kernel;
	/* The version + 1; 0: none. */
	uint64_t user;
	/* The version + 1; 0: none. */
	uint64_t before;
};

/* A callchain that was prefetched. Zeroed: none. */
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
	/* The kernel gave no address at all. */
	bool no_leaf;
	/* The callers end at an unknown mark; the outer ones are not known. */
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
	/* New callers and frames of each cgroup, by its string in the tape; NULL: not bounded. */
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
 * Hashes the callchain of a record that will be looked up soon, and prefetches what
 * callchain_cache_find() will read. That memory is in no CPU cache, so several prefetches save
 * waiting time. `process` may be NULL. Returns 0 or -ENOMEM.
 */
int callchain_cache_prefetch(struct callchain_cache *cache, const struct tracker_process *process,
			     const struct perf_record *record, struct chain *ret_chain);
/*
 * Finds the leaf's frame and the stack of its callers, and adds them to the tape if they are new.
 * Uses `chain` only if the mappings did not change since the prefetch; it may be zeroed. Callers
 * that are new cost the cgroup; if it has added too many, the stack is TAPE_CUT. Returns 0; 1 if
 * the callchain was truncated; -ENOMEM.
 */
int callchain_cache_find(struct callchain_cache *cache, struct tracker_process *process,
			 uint32_t cgroup, const struct perf_record *record,
			 const struct chain *chain, uint32_t *ret_frame, uint32_t *ret_stack);
