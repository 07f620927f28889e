// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/callchain-cache.h"

#include <linux/perf_event.h>
#include <string.h>

/*
 * The trie of a tape's stacks grows from the root. For the callers from the root to some depth, the
 * cache maps their hash to their stack. Most callchains are in the cache as a whole; most others
 * have only a few new inner callers. If a depth is in the cache, all depths nearer to the root are
 * in the cache, too, unless it evicted them.
 */

/* 262,144 depths in 4 MB. */
#define KNOWN_SETS (1u << 16)

/* Odd numbers without a pattern; about half of their bits are set. */
#define MODE_FACTOR 0xbb67ae8584caa73bull
#define KERNEL_FACTOR 0x9b05688c2b3e6c1full
#define USER_FACTOR 0xa54ff53a5f1d36f1ull
#define BEFORE_FACTOR 0xcbbb9d5dc1059ed7ull
#define END_FACTOR 0x9216d5d98979fb1bull

/*
 * Each depth below the root has its own secret factor. So a process cannot forge a callchain whose
 * hash is that of another process's callchain. The hash is a sum over the callers, in any order, so
 * the CPU can do the multiplications in parallel.
 */
static void callchain_cache_choose_factors(uint64_t factors[CHAIN_FACTORS])
{
	for (size_t depth = 0; depth < CHAIN_FACTORS; depth++)
		factors[depth] = hash_numbers(MODE_FACTOR, depth) | 1;
}

int callchain_cache_init(struct callchain_cache *cache, struct tracker *tracker)
{
	int r;

	*cache = (struct callchain_cache){ .tracker = tracker };
	callchain_cache_choose_factors(cache->factors);
	r = frame_table_init(&cache->frames, tracker);
	if (r < 0)
		return r;
	return lru_cache_init(&cache->known, KNOWN_SETS);
}

void callchain_cache_done(struct callchain_cache *cache)
{
	frame_table_done(&cache->frames);
	lru_cache_done(&cache->known);
	array_done(&cache->steps);
}

void callchain_cache_start(struct callchain_cache *cache, struct tape *tape)
{
	cache->tape = tape;
	frame_table_start(&cache->frames, tape);
	lru_cache_clear(&cache->known);
	memset(cache->marks, 0, sizeof(cache->marks));
}

static bool chain_mode_of_mark(uint64_t mark, enum perf_cpu_mode *mode)
{
	switch (mark) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
		*mode = PERF_MODE_KERNEL;
		return true;
	case (uint64_t)PERF_CONTEXT_USER:
		*mode = PERF_MODE_USER;
		return true;
	case (uint64_t)PERF_CONTEXT_HV:
		*mode = PERF_MODE_HYPERVISOR;
		return true;
	case (uint64_t)PERF_CONTEXT_GUEST_KERNEL:
		*mode = PERF_MODE_GUEST_KERNEL;
		return true;
	case (uint64_t)PERF_CONTEXT_GUEST_USER:
		*mode = PERF_MODE_GUEST_USER;
		return true;
	default:
		return false;
	}
}

/*
 * The leaf is the first address of the callchain, behind its marks. Without an address in the
 * callchain, the leaf is the sampled instruction.
 */
static void chain_find_leaf(struct chain *chain, const struct perf_record *record)
{
	size_t count = record->sample.chain_count, i = 0;
	uint64_t address = PERF_CHAIN_MARKS;

	*chain = (struct chain){ .leaf = record->sample.ip,
				 .leaf_mode = record->misc & PERF_MODE_MASK,
				 .no_leaf = !record->sample.ip };
	while (i < count && (address = perf_chain_at(record, i)) >= PERF_CHAIN_MARKS &&
	       chain_mode_of_mark(address, &chain->leaf_mode))
		i++;
	if (i < count && address < PERF_CHAIN_MARKS) {
		chain->leaf = address;
		chain->no_leaf = false;
		i++;
	}
	chain->first = i;
}

static struct chain_mappings chain_mappings_of(const struct tracker *tracker,
					       const struct tracker_process *process)
{
	struct chain_mappings mappings = { .kernel = tracker->kernel->version + 1 };

	if (process)
		mappings.user = process->maps->version + 1;
	if (process && process->before)
		mappings.before = process->before->version + 1;
	return mappings;
}

static bool chain_is_current(const struct chain_mappings *mappings, const struct tracker *tracker,
			     const struct tracker_process *process)
{
	struct chain_mappings now = chain_mappings_of(tracker, process);

	return mappings->kernel == now.kernel && mappings->user == now.user &&
	       mappings->before == now.before;
}

/* Without the factors, a greater version and a smaller address could give the same sum. */
static uint64_t chain_hash_start(const struct chain *chain)
{
	const struct chain_mappings *mappings = &chain->mappings;

	return chain->end * END_FACTOR + mappings->kernel * KERNEL_FACTOR +
	       mappings->user * USER_FACTOR + mappings->before * BEFORE_FACTOR;
}

/* Returns the part of the hash that a caller at this depth below the root adds. */
static uint64_t callchain_cache_hash_caller(const struct callchain_cache *cache, size_t depth,
					    uint64_t address, enum perf_cpu_mode mode)
{
	uint64_t factor = cache->factors[depth % CHAIN_FACTORS];

	return (address + mode * MODE_FACTOR) * factor * (hash_u64(depth / CHAIN_FACTORS) | 1);
}

/*
 * Hashes the callers in one pass, because most callchains do not have marks among their callers.
 * Returns false if this callchain has marks.
 */
static bool callchain_cache_hash_unmarked(const struct callchain_cache *cache, struct chain *chain,
					  const struct perf_record *record)
{
	size_t last = record->sample.chain_count - 1, near = MIN(chain->depth, CHAIN_FACTORS);
	uint64_t hash = chain_hash_start(chain), highest = 0, address;
	uint64_t mode = chain->leaf_mode * MODE_FACTOR;

#pragma GCC unroll 4
	for (size_t depth = 0; depth < near; depth++) {
		address = perf_chain_at(record, last - depth);
		highest = MAX(highest, address);
		hash += (address + mode) * cache->factors[depth];
	}
	for (size_t depth = near; depth < chain->depth; depth++) {
		address = perf_chain_at(record, last - depth);
		highest = MAX(highest, address);
		hash += callchain_cache_hash_caller(cache, depth, address, chain->leaf_mode);
	}
	chain->hash = hash;
	return highest < PERF_CHAIN_MARKS;
}

/* Splits the callers of a callchain into steps with their CPU modes and hashes. */
static int callchain_cache_split(struct callchain_cache *cache, const struct perf_record *record,
				 struct chain *chain)
{
	struct chain_step step = { .mode = chain->leaf_mode };
	size_t count = record->sample.chain_count;
	uint64_t hash = chain_hash_start(chain);

	cache->steps.count = 0;
	if (array_reserve(&cache->steps, count) < 0)
		return -ENOMEM;
	chain->truncated = false;
	for (size_t i = chain->first; i < count && !chain->truncated; i++) {
		step.address = perf_chain_at(record, i);
		if (step.address < PERF_CHAIN_MARKS)
			cache->steps.items[cache->steps.count++] = step;
		else
			chain->truncated = !chain_mode_of_mark(step.address, &step.mode);
	}
	chain->depth = cache->steps.count;
	for (size_t depth = 0; depth < chain->depth; depth++) {
		struct chain_step *of = &cache->steps.items[chain->depth - 1 - depth];

		of->hash = hash += callchain_cache_hash_caller(cache, depth, of->address, of->mode);
	}
	chain->hash = hash;
	return 0;
}

static struct lru_cache_key callchain_cache_key(uint64_t hash, size_t depth)
{
	return (struct lru_cache_key){ hash, depth, hash_numbers(hash, depth) };
}

/* Returns the key of the callers from this step outwards. */
static struct lru_cache_key callchain_cache_step_key(const struct callchain_cache *cache,
						     size_t step)
{
	return callchain_cache_key(cache->steps.items[step].hash, cache->steps.count - step);
}

static int callchain_cache_prefetch_chain(struct callchain_cache *cache,
					  const struct tracker_process *process,
					  const struct perf_record *record, struct chain *chain)
{
	chain_find_leaf(chain, record);
	chain->mappings = chain_mappings_of(cache->tracker, process);
	chain->end = record->sample.user_end;
	chain->depth = record->sample.chain_count - chain->first;
	return callchain_cache_hash_unmarked(cache, chain, record)
		       ? 0
		       : callchain_cache_split(cache, record, chain);
}

int callchain_cache_prefetch(struct callchain_cache *cache, const struct tracker_process *process,
			     const struct perf_record *record, struct chain *ret_chain)
{
	int r = callchain_cache_prefetch_chain(cache, process, record, ret_chain);

	if (r < 0)
		return r;
	lru_cache_prefetch(&cache->known, callchain_cache_key(ret_chain->hash, ret_chain->depth));
	if (!ret_chain->no_leaf)
		frame_table_prefetch(&cache->frames, process, ret_chain->leaf_mode,
				     ret_chain->leaf);
	return 0;
}

/*
 * Finds the longest part of the callers, counted from the root, whose stack is in the cache. Sets
 * *ret_stack to that stack, and returns the number of inner callers that remain. The caller already
 * knows that the whole callchain is not in the cache.
 */
static size_t callchain_cache_find_known(struct callchain_cache *cache, uint32_t root,
					 uint32_t *ret_stack)
{
	/*
	 * The callers from `known` outwards are in the cache; those from `unknown` outwards are
	 * not.
	 */
	size_t known = cache->steps.count, unknown = 0;

	*ret_stack = root;
	while (known - unknown > 1) {
		size_t middle = unknown + (known - unknown) / 2;
		uint32_t stack;

		lru_cache_prefetch(&cache->known,
				   callchain_cache_step_key(cache, (unknown + middle) / 2));
		lru_cache_prefetch(&cache->known,
				   callchain_cache_step_key(cache, (middle + known) / 2));
		stack = lru_cache_find(&cache->known, callchain_cache_step_key(cache, middle));
		if (stack == LRU_CACHE_NONE) {
			unknown = middle;
		} else {
			known = middle;
			*ret_stack = stack;
		}
	}
	return known;
}

/*
 * Finds the stack below the outermost caller: that of a mark if callers are missing, otherwise 0.
 */
static int callchain_cache_find_root(struct callchain_cache *cache, enum perf_user_end end,
				     uint32_t *ret_stack)
{
	static const char *const names[PERF_USER_ENDS] = {
		[PERF_USER_CUT] = TAPE_CUT,
		[PERF_USER_FRAME_POINTERS] = TAPE_FRAME_POINTERS,
	};
	uint32_t frame;
	int r = 0;

	if (names[end] && !cache->marks[end]) {
		r = tape_add_mark(cache->tape, names[end], &frame);
		if (r == 0)
			r = tape_add_stack(cache->tape, 0, frame, &cache->marks[end]);
	}
	*ret_stack = cache->marks[end];
	return r;
}

/*
 * Handles a user's caller outside all mappings, which may come from a frame pointer that leads into
 * data. If all mappings are known, the caller is not code, so leaves the stack as it is. Otherwise
 * it may be code, so adds a mark.
 */
static int callchain_cache_add_unmapped(struct callchain_cache *cache,
					const struct tracker_process *process, uint32_t *stack)
{
	uint32_t frame;
	int r;

	if (process && !process->crowded && !cache->tracker->unsure)
		return 0;
	cache->unmapped++;
	r = tape_add_mark(cache->tape, TAPE_UNMAPPED, &frame);
	return r < 0 ? r : tape_add_stack(cache->tape, *stack, frame, stack);
}

/* Adds a caller to the stack. */
static int callchain_cache_add_step(struct callchain_cache *cache, struct tracker_process *process,
				    const struct perf_record *record, const struct chain *chain,
				    const struct chain_step *step, uint32_t *stack)
{
	uint32_t frame;
	int r = frame_table_find(&cache->frames, process, record->pid, step->mode, step->address,
				 &frame);

	if (r < 0)
		return r;
	if (!frame && step->mode == PERF_MODE_USER && chain->end == PERF_USER_FRAME_POINTERS)
		return callchain_cache_add_unmapped(cache, process, stack);
	return tape_add_stack(cache->tape, *stack, frame, stack);
}

static int callchain_cache_build_stack(struct callchain_cache *cache,
				       struct tracker_process *process,
				       const struct perf_record *record, struct chain *chain,
				       uint32_t *ret_stack)
{
	uint32_t stack;
	size_t left;
	int r = callchain_cache_split(cache, record, chain);

	if (r < 0)
		return r;
	r = callchain_cache_find_root(cache, chain->end, &stack);
	if (r < 0)
		return r;
	left = callchain_cache_find_known(cache, stack, &stack);
	for (size_t i = 0; i < left; i++)
		lru_cache_prefetch(&cache->known, callchain_cache_step_key(cache, i));
	while (r == 0 && left-- > 0) {
		const struct chain_step *step = &cache->steps.items[left];

		r = callchain_cache_add_step(cache, process, record, chain, step, &stack);
		if (r == 0 && left)
			lru_cache_offer(&cache->known, callchain_cache_step_key(cache, left),
					stack);
		else if (r == 0)
			lru_cache_put(&cache->known, callchain_cache_step_key(cache, 0), stack);
	}
	*ret_stack = stack;
	return r;
}

/* Adds the stack. If the account is empty, sets TAPE_CUT and returns CALLCHAIN_CUT. */
static int callchain_cache_add_stack(struct callchain_cache *cache, struct tracker_process *process,
				     uint64_t account, const struct perf_record *record,
				     struct chain *chain, uint32_t *ret_stack)
{
	const struct tape *tape = cache->tape;
	size_t rows = tape->stacks.count + tape->frames.count;
	int r;

	if (cache->accounts && !accounts_take(cache->accounts, account, 0)) {
		r = tape_add_cut_stack(cache->tape, ret_stack);
		return r < 0 ? r : CALLCHAIN_CUT;
	}
	r = callchain_cache_build_stack(cache, process, record, chain, ret_stack);
	if (r < 0)
		return r;
	if (cache->accounts)
		accounts_take(cache->accounts, account,
			      tape->stacks.count + tape->frames.count - rows);
	return 0;
}

int callchain_cache_find(struct callchain_cache *cache, struct tracker_process *process,
			 uint64_t account, const struct perf_record *record,
			 const struct chain *prefetched, uint32_t *ret_frame, uint32_t *ret_stack)
{
	struct chain chain = *prefetched;
	int r = 0;

	cache->frames.accounts = cache->accounts;
	cache->frames.account = account;
	cache->frames.may_cut = true;
	cache->frames.cut = false;
	if (!chain_is_current(&chain.mappings, cache->tracker, process))
		r = callchain_cache_prefetch_chain(cache, process, record, &chain);
	if (r == 0 && chain.no_leaf)
		r = tape_add_no_stack(cache->tape, ret_frame);
	else if (r == 0)
		r = frame_table_find(&cache->frames, process, record->pid, chain.leaf_mode,
				     chain.leaf, ret_frame);
	/* the account pays for the paths of callers; a mark among callers would look like their end
	 */
	cache->frames.may_cut = false;
	*ret_stack = 0;
	if (r < 0)
		return r;
	if (!chain.depth)
		r = callchain_cache_find_root(cache, chain.end, ret_stack);
	if (r < 0)
		return r;
	if (chain.depth) {
		*ret_stack =
			lru_cache_find(&cache->known, callchain_cache_key(chain.hash, chain.depth));
		if (*ret_stack == LRU_CACHE_NONE)
			r = callchain_cache_add_stack(cache, process, account, record, &chain,
						      ret_stack);
	}
	if (r != 0)
		return r;
	if (cache->frames.cut)
		return CALLCHAIN_CUT;
	return r == 0 ? chain.truncated : r;
}
