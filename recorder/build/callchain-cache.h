/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stacks of a tape by the callchains that the kernel gives. The leaf, where a sample was taken, is
 * looked up apart from its callers, of which there are far fewer.
 */

#include "base/array.h"
#include "recorder/build/frame-table.h"
#include "recorder/perf/perf-record.h"
#include "recorder/build/lru-cache.h"
#include "recorder/procs/tracker.h"
#include "tape/tape.h"

/* A caller, from the inside outwards. */
struct chain_step {
	uint64_t address;
	/* of it and all that called it, under the mappings of the process */
	uint64_t hash;
	enum perf_cpu_mode mode;
};

/* The versions of the mappings under which a callchain is looked at: a process that is in the
 * middle of an exec has two. */
struct chain_mappings {
	uint64_t kernel;
	/* + 1; 0: none */
	uint64_t user;
	/* + 1; 0: none */
	uint64_t before;
};

/* A callchain that was looked at. Zeroed is none. */
struct chain {
	struct chain_mappings mappings;
	/* of all callers, under these mappings */
	uint64_t hash;
	uint64_t leaf;
	enum perf_cpu_mode leaf_mode;
	/* of the callers, among the entries */
	size_t first;
	/* how many they are */
	size_t depth;
	/* the kernel gave no address at all */
	bool no_leaf;
	/* at a mark that means nothing to us: what called it is not known */
	bool cut;
};

#define CHAIN_FACTORS 128

struct callchain_cache {
	/* borrowed; set with callchain_cache_start() */
	struct tape *tape;
	struct tracker *tracker;
	struct frame_table frames;
	/* the stack of callers by their hash and how many they are */
	struct lru_cache known;
	/* the callers of the callchain at hand */
	array_of(struct chain_step) steps;
	/* of their hash, from the root on */
	uint64_t factors[CHAIN_FACTORS];
};

/* The tracker must outlive the chains. 0 or -ENOMEM. */
int callchain_cache_init(struct callchain_cache *chains, struct tracker *tracker);
void callchain_cache_done(struct callchain_cache *chains);
/* From now on of this tape. */
void callchain_cache_start(struct callchain_cache *chains, struct tape *tape);

/*
 * Asks for what callchain_cache_find() needs of a record that comes soon: it lies where no cache
 * has it, and so the more of them are asked for meanwhile, the less is waited for. process may be
 * NULL. 0 or -ENOMEM.
 */
int callchain_cache_prefetch(struct callchain_cache *chains, const struct tracker_process *process,
			     const struct perf_record *record, struct chain *ret_chain);
/*
 * The leaf's frame and the stack of its callers. What was looked at counts if the mappings are
 * still those of then; `chain` may be zeroed. 0; 1 when the callchain had to be cut; -ENOMEM.
 */
int callchain_cache_find(struct callchain_cache *chains, struct tracker_process *process,
			 const struct perf_record *record, const struct chain *chain,
			 uint32_t *ret_frame, uint32_t *ret_stack);
