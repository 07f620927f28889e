// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/callchain-cache.h"

#include <linux/perf_event.h>

/*
 * The trie of a tape's stacks grows from the root. How far down it a callchain goes is known by a
 * hash for each depth, from the root to there: most chains have been seen before as they are, and
 * of the others all but the last few callers. What is known of a depth was known of all above it,
 * too, but for what had to make room since.
 */

/* 262,144 depths, in 4 MB. */
#define KNOWN_SETS (1u << 16)

/* Odd, with as many bits set as not, and no pattern. */
#define MODE_FACTOR 0xbb67ae8584caa73bull
#define KERNEL_FACTOR 0x9b05688c2b3e6c1full
#define USER_FACTOR 0xa54ff53a5f1d36f1ull
#define BEFORE_FACTOR 0xcbbb9d5dc1059ed7ull

/*
 * Each depth has a factor of its own, the same at the same distance from the root, and what the
 * callers add up to does not depend on the order in which they are added: the CPU multiplies them
 * side by side.
 */
static void choose_factors(uint64_t factors[CHAIN_FACTORS])
{
	for (size_t depth = 0; depth < CHAIN_FACTORS; depth++)
		factors[depth] = hash_u64(MODE_FACTOR * (depth + 1)) | 1;
}

int callchain_cache_init(struct callchain_cache *chains, struct tracker *tracker)
{
	int r;

	*chains = (struct callchain_cache){ .tracker = tracker };
	choose_factors(chains->factors);
	r = frame_table_init(&chains->frames, tracker);
	return r == 0 ? lru_cache_init(&chains->known, KNOWN_SETS) : r;
}

void callchain_cache_done(struct callchain_cache *chains)
{
	frame_table_done(&chains->frames);
	lru_cache_done(&chains->known);
	array_done(&chains->steps);
}

void callchain_cache_start(struct callchain_cache *chains, struct tape *tape)
{
	chains->tape = tape;
	frame_table_start(&chains->frames, tape);
	lru_cache_clear(&chains->known);
}

static bool mode_of_mark(uint64_t mark, enum perf_cpu_mode *mode)
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

/* The leaf is the first address, if nothing but marks is before it; where there is none, the one at
 * which the sample was taken. */
static void find_leaf(struct chain *chain, const struct perf_record *record)
{
	size_t count = record->sample.chain_count, i = 0;
	uint64_t address = PERF_CHAIN_MARKS;

	*chain = (struct chain){ .leaf = record->sample.ip,
				 .leaf_mode = record->misc & PERF_MODE_MASK,
				 .no_leaf = !record->sample.ip };
	while (i < count && (address = perf_chain_at(record, i)) >= PERF_CHAIN_MARKS &&
	       mode_of_mark(address, &chain->leaf_mode))
		i++;
	if (i < count && address < PERF_CHAIN_MARKS) {
		chain->leaf = address;
		chain->no_leaf = false;
		i++;
	}
	chain->first = i;
}

static struct chain_mappings mappings_of(const struct tracker *tracker,
					 const struct tracker_process *process)
{
	struct chain_mappings mappings = { .kernel = tracker->kernel->version + 1 };

	if (process)
		mappings.user = process->maps->version + 1;
	if (process && process->before)
		mappings.before = process->before->version + 1;
	return mappings;
}

static bool are_of(const struct chain_mappings *mappings, const struct tracker *tracker,
		   const struct tracker_process *process)
{
	struct chain_mappings now = mappings_of(tracker, process);

	return mappings->kernel == now.kernel && mappings->user == now.user &&
	       mappings->before == now.before;
}

/* Versions that are near to one another must not make up for addresses that are: they have factors
 * of their own, too. */
static uint64_t hash_of_mappings(const struct chain_mappings *mappings)
{
	return mappings->kernel * KERNEL_FACTOR + mappings->user * USER_FACTOR +
	       mappings->before * BEFORE_FACTOR;
}

/* What a caller adds that many callers away from the root. */
static uint64_t hash_caller(const struct callchain_cache *chains, size_t depth, uint64_t address,
			    enum perf_cpu_mode mode)
{
	uint64_t factor = chains->factors[depth % CHAIN_FACTORS];

	return (address + mode * MODE_FACTOR) * factor * (hash_u64(depth / CHAIN_FACTORS) | 1);
}

/* What most callchains are: no mark is among the callers. */
static bool hash_whole(const struct callchain_cache *chains, struct chain *chain,
		       const struct perf_record *record)
{
	size_t last = record->sample.chain_count - 1, near = MIN(chain->depth, CHAIN_FACTORS);
	uint64_t hash = hash_of_mappings(&chain->mappings), highest = 0, address;
	uint64_t mode = chain->leaf_mode * MODE_FACTOR;

#pragma GCC unroll 4
	for (size_t depth = 0; depth < near; depth++) {
		address = perf_chain_at(record, last - depth);
		highest = MAX(highest, address);
		hash += (address + mode) * chains->factors[depth];
	}
	for (size_t depth = near; depth < chain->depth; depth++) {
		address = perf_chain_at(record, last - depth);
		highest = MAX(highest, address);
		hash += hash_caller(chains, depth, address, chain->leaf_mode);
	}
	chain->hash = hash;
	return highest < PERF_CHAIN_MARKS;
}

/* Makes steps of its callers. */
static int callchain_cache_split(struct callchain_cache *chains, const struct perf_record *record,
				 struct chain *chain)
{
	struct chain_step step = { .mode = chain->leaf_mode };
	size_t count = record->sample.chain_count;
	uint64_t hash = hash_of_mappings(&chain->mappings);

	chains->steps.count = 0;
	if (array_reserve(&chains->steps, count) < 0)
		return -ENOMEM;
	chain->cut = false;
	for (size_t i = chain->first; i < count && !chain->cut; i++) {
		step.address = perf_chain_at(record, i);
		if (step.address < PERF_CHAIN_MARKS)
			chains->steps.items[chains->steps.count++] = step;
		else
			chain->cut = !mode_of_mark(step.address, &step.mode);
	}
	chain->depth = chains->steps.count;
	for (size_t depth = 0; depth < chain->depth; depth++) {
		struct chain_step *of = &chains->steps.items[chain->depth - 1 - depth];

		of->hash = hash += hash_caller(chains, depth, of->address, of->mode);
	}
	chain->hash = hash;
	return 0;
}

static struct lru_cache_key callchain_cache_key_of(uint64_t hash, size_t depth)
{
	return (struct lru_cache_key){ hash, depth, hash_u64(hash) };
}

/* Of the callers from this one outwards. */
static struct lru_cache_key key_of_step(const struct callchain_cache *chains, size_t step)
{
	return callchain_cache_key_of(chains->steps.items[step].hash, chains->steps.count - step);
}

static int callchain_cache_prefetch_chain(struct callchain_cache *chains,
					  const struct tracker_process *process,
					  const struct perf_record *record, struct chain *chain)
{
	find_leaf(chain, record);
	chain->mappings = mappings_of(chains->tracker, process);
	chain->depth = record->sample.chain_count - chain->first;
	return hash_whole(chains, chain, record) ? 0 : callchain_cache_split(chains, record, chain);
}

int callchain_cache_prefetch(struct callchain_cache *chains, const struct tracker_process *process,
			     const struct perf_record *record, struct chain *ret_chain)
{
	int r = callchain_cache_prefetch_chain(chains, process, record, ret_chain);

	if (r < 0)
		return r;
	lru_cache_prefetch(&chains->known,
			   callchain_cache_key_of(ret_chain->hash, ret_chain->depth));
	if (!ret_chain->no_leaf)
		frame_table_prefetch(&chains->frames, process, ret_chain->leaf_mode,
				     ret_chain->leaf);
	return 0;
}

/* How many of the callers are to be looked up one by one, and the stack of those that called them.
 * The whole of them is not known. */
static size_t callchain_cache_find_known(struct callchain_cache *chains, uint32_t *ret_stack)
{
	/* the callers from `known` outwards are, those from `unknown` on are not */
	size_t known = chains->steps.count, unknown = 0;

	*ret_stack = 0;
	while (known - unknown > 1) {
		size_t middle = unknown + (known - unknown) / 2;
		uint32_t stack;

		lru_cache_prefetch(&chains->known, key_of_step(chains, (unknown + middle) / 2));
		lru_cache_prefetch(&chains->known, key_of_step(chains, (middle + known) / 2));
		stack = lru_cache_find(&chains->known, key_of_step(chains, middle));
		if (stack == LRU_CACHE_NONE) {
			unknown = middle;
		} else {
			known = middle;
			*ret_stack = stack;
		}
	}
	return known;
}

static int build_stack(struct callchain_cache *chains, struct tracker_process *process,
		       const struct perf_record *record, struct chain *chain, uint32_t *ret_stack)
{
	uint32_t stack, frame;
	size_t left;
	int r = callchain_cache_split(chains, record, chain);

	if (r < 0)
		return r;
	left = callchain_cache_find_known(chains, &stack);
	for (size_t i = 0; i < left; i++)
		lru_cache_prefetch(&chains->known, key_of_step(chains, i));
	while (r == 0 && left-- > 0) {
		const struct chain_step *step = &chains->steps.items[left];

		r = frame_table_find(&chains->frames, process, record->pid, step->mode,
				     step->address, &frame);
		if (r == 0)
			r = tape_add_stack(chains->tape, stack, frame, &stack);
		if (r == 0 && left)
			lru_cache_offer(&chains->known, key_of_step(chains, left), stack);
		else if (r == 0)
			lru_cache_put(&chains->known, key_of_step(chains, 0), stack);
	}
	*ret_stack = stack;
	return r;
}

int callchain_cache_find(struct callchain_cache *chains, struct tracker_process *process,
			 const struct perf_record *record, const struct chain *looked,
			 uint32_t *ret_frame, uint32_t *ret_stack)
{
	struct chain chain = *looked;
	int r = 0;

	if (!are_of(&chain.mappings, chains->tracker, process))
		r = callchain_cache_prefetch_chain(chains, process, record, &chain);
	if (r == 0 && chain.no_leaf)
		r = tape_add_no_stack(chains->tape, ret_frame);
	else if (r == 0)
		r = frame_table_find(&chains->frames, process, record->pid, chain.leaf_mode,
				     chain.leaf, ret_frame);
	*ret_stack = 0;
	if (r == 0 && chain.depth) {
		*ret_stack = lru_cache_find(&chains->known,
					    callchain_cache_key_of(chain.hash, chain.depth));
		if (*ret_stack == LRU_CACHE_NONE)
			r = build_stack(chains, process, record, &chain, ret_stack);
	}
	return r == 0 ? chain.cut : r;
}
