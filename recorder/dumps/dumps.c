// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/dumps/dumps.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

/* Least time between two alignments of the timers of a CPU, because each delays one sample. */
#define ALIGN_NS (4 * NSEC_PER_SEC)

/*
 * Steps of each walk, while another sample is prefetched. A walk is in DUMPS_TURNS such calls, and
 * most stacks have fewer frames than it then has steps.
 */
#define STEPS 3

/* A sample between prefetch and apply. */
struct dump_slot {
	/* The sample has a copy. */
	bool has_copy;
	struct dump_job job;
	/* The callchain before the walk. */
	const uint8_t *from_chain;
	size_t from_count;
	/* The versions of the mappings during the walk, + 1; 0: none. */
	uint64_t version, before_version;
	struct dump_chain chain;
	/* Bytes of the slot's room that may hold a part of a stack. */
	size_t used;
};

struct dumps {
	struct dumps_options options;
	struct dump_pairs pairs;
	struct dump_walk walk;
	struct dump_slot slots[DUMPS_AHEAD];
	struct rule_cache *rules;
	/* The numbers of samples in this run that have gone through each call. */
	size_t prefetched, walked, applied;
	/*
	 * Room for records that wrap around the end of a ring, one for each slot. The kernel leaves
	 * it out of core dumps, and dumps_end() wipes it.
	 */
	uint8_t *rooms;
	/* The time at which the timers of each CPU were last aligned. */
	array_of(uint64_t) aligned_ns;
	struct dumps_counts counts;
};

#define ROOMS_BYTES ((size_t)DUMPS_AHEAD * RING_RECORD_MAX)

static int dumps_map_rooms(struct dumps *dumps)
{
	void *rooms =
		mmap(NULL, ROOMS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (rooms == MAP_FAILED)
		return -ENOMEM;
	madvise(rooms, ROOMS_BYTES, MADV_DONTDUMP);
	madvise(rooms, ROOMS_BYTES, MADV_DONTFORK);
	dumps->rooms = rooms;
	return 0;
}

int dumps_new(const struct dumps_options *options, struct dumps **ret_dumps)
{
	_cleanup_(cleanup_dumps) struct dumps *dumps = calloc(1, sizeof(*dumps));

	if (!dumps)
		return -ENOMEM;
	dumps->options = *options;
	dumps->rules = calloc(1, sizeof(*dumps->rules));
	if (!dumps->rules)
		return -ENOMEM;
	dump_walk_init(&dumps->walk, options->tracker, options->tables);
	dumps->walk.rules = dumps->rules;
	if (options->machine)
		dumps->walk.machine = options->machine;
	if (options->events) {
		dumps->pairs.layout = perf_events_layout(options->events, PERF_RING_DUMPS);
		dumps->pairs.period_ns = perf_events_timer_ns(options->events);
		if (dumps_map_rooms(dumps) < 0)
			return -ENOMEM;
	}
	*ret_dumps = take_ptr(dumps);
	return 0;
}

struct dumps *dumps_free(struct dumps *dumps)
{
	if (!dumps)
		return NULL;
	dump_pairs_done(&dumps->pairs);
	for (size_t i = 0; i < DUMPS_AHEAD; i++)
		array_done(&dumps->slots[i].chain.entries);
	array_done(&dumps->aligned_ns);
	if (dumps->rooms)
		munmap(dumps->rooms, ROOMS_BYTES);
	free(dumps->rules);
	free(dumps);
	return NULL;
}

static int dumps_show(void *context, uint32_t cpu, const struct ring_view *view)
{
	struct dumps *dumps = context;

	return dump_pairs_show(&dumps->pairs, cpu, view);
}

int dumps_begin(struct dumps *dumps)
{
	dumps->prefetched = dumps->walked = dumps->applied = 0;
	unwind_tables_turn(dumps->options.tables);
	dump_walk_turn(&dumps->walk);
	return dumps->options.events ? perf_dumps_each(dumps->options.events, dumps_show, dumps)
				     : 0;
}

/*
 * Finds the copy of a sample's stack, and takes callers and registers from the copy. The kernel
 * recorded these and the stack at one moment, which may be some microseconds after the sample.
 */
static bool dumps_find_copy(struct dumps *dumps, size_t slot, struct perf_record *record)
{
	uint8_t *room = dumps->rooms + slot * RING_RECORD_MAX;
	struct perf_record copy;
	const uint8_t *bytes;
	size_t size;
	bool together;

	/* the idle thread does not have a user stack */
	if (!record->tid || record->cpu == UINT32_MAX)
		return false;
	size = dump_pairs_take(&dumps->pairs, record->cpu, record->time_ns, room, &bytes);
	if (!size)
		return false;
	if (bytes == room)
		dumps->slots[slot].used = MAX(dumps->slots[slot].used, size);
	if (perf_record_decode(dumps->pairs.layout, bytes, size, &copy) != 0)
		return false;
	together = copy.tid == record->tid && copy.sample.ip == record->sample.ip;
	dump_pairs_note(&dumps->pairs, record->cpu, together);
	/* another thread began to run between sample and copy, so the copy is of its stack */
	if (copy.tid != record->tid || copy.pid != record->pid)
		return false;
	record->misc = copy.misc;
	record->sample.ip = copy.sample.ip;
	record->sample.chain = copy.sample.chain;
	record->sample.chain_count = copy.sample.chain_count;
	record->sample.user = copy.sample.user;
	return true;
}

/* Returns whether a sample has callers in user mode. */
static bool dumps_has_user(const struct perf_record *record)
{
	return dump_walk_find_user(record) < record->sample.chain_count;
}

/*
 * Notes that the user's callers come from frame pointers, if the sample has such callers. A kernel
 * thread does not have any.
 */
static void dumps_keep_callers(struct perf_record *record)
{
	if (dumps_has_user(record))
		record->sample.user_end = PERF_USER_FRAME_POINTERS;
}

static int dumps_begin_slot(struct dumps *dumps, struct dump_slot *slot, struct perf_record *record)
{
	const struct tracker_process *process =
		tracker_process(dumps->options.tracker, record->pid);

	slot->version = process ? process->maps->version + 1 : 0;
	slot->before_version = process && process->before ? process->before->version + 1 : 0;
	return dump_walk_begin(&dumps->walk, record, &slot->chain, &slot->job);
}

static struct dump_slot *dumps_slot(struct dumps *dumps, size_t number)
{
	return &dumps->slots[number % DUMPS_AHEAD];
}

/* Makes a few steps of all walks, in turns. */
static void dumps_take_turns(struct dumps *dumps)
{
	for (int step = 0; step < STEPS; step++)
		for (size_t i = dumps->walked; i < dumps->prefetched; i++)
			dump_walk_step(&dumps_slot(dumps, i)->job);
}

int dumps_prefetch(struct dumps *dumps, struct perf_record *record)
{
	size_t number = dumps->prefetched++;
	struct dump_slot *slot = dumps_slot(dumps, number);
	int r;

	assert(dumps->prefetched <= dumps->applied + DUMPS_AHEAD);
	slot->has_copy = slot->job.is_walking = slot->job.is_going = false;
	if ((dumps->options.events && !dumps_find_copy(dumps, number % DUMPS_AHEAD, record)) ||
	    !record->sample.user.regs_mask) {
		dumps_keep_callers(record);
		return 0;
	}
	slot->has_copy = true;
	slot->from_chain = record->sample.chain;
	slot->from_count = record->sample.chain_count;
	r = dumps_begin_slot(dumps, slot, record);
	dumps_take_turns(dumps);
	return r;
}

void dumps_walk(struct dumps *dumps, struct perf_record *record)
{
	struct dump_slot *slot = dumps_slot(dumps, dumps->walked++);

	assert(dumps->walked <= dumps->prefetched);
	dump_walk_end(&dumps->walk, record, &slot->chain, &slot->job);
}

static bool dumps_is_stale(const struct dumps *dumps, const struct dump_slot *slot, int32_t pid)
{
	const struct tracker_process *process = tracker_process(dumps->options.tracker, pid);

	return slot->version != (process ? process->maps->version + 1 : 0) ||
	       slot->before_version !=
		       (process && process->before ? process->before->version + 1 : 0);
}

static int dumps_walk_again(struct dumps *dumps, struct dump_slot *slot, struct perf_record *record)
{
	int r;

	record->sample.chain = slot->from_chain;
	record->sample.chain_count = slot->from_count;
	r = dumps_begin_slot(dumps, slot, record);
	if (r < 0)
		return r;
	dump_walk_end(&dumps->walk, record, &slot->chain, &slot->job);
	return 1;
}

static void dumps_count(struct dumps *dumps, const struct perf_record *record)
{
	if (record->sample.user_end == PERF_USER_FRAME_POINTERS)
		dumps->counts.frame_pointers++;
	else if (record->sample.user_end == PERF_USER_CUT)
		dumps->counts.cut++;
	else if (dumps_has_user(record))
		dumps->counts.whole++;
}

int dumps_apply(struct dumps *dumps, struct perf_record *record)
{
	struct dump_slot *slot = dumps_slot(dumps, dumps->applied++);
	int r = 0;

	assert(dumps->applied <= dumps->walked);
	if (slot->has_copy && dumps_is_stale(dumps, slot, record->pid))
		r = dumps_walk_again(dumps, slot, record);
	dumps_count(dumps, record);
	return r;
}

void dumps_end(struct dumps *dumps, uint64_t before_ns)
{
	for (uint32_t cpu = 0; cpu < dumps->pairs.rings.count; cpu++)
		if (dumps->pairs.rings.items[cpu].shown)
			perf_dumps_release(dumps->options.events, cpu,
					   dump_pairs_hide(&dumps->pairs, cpu, before_ns));
	for (size_t i = 0; i < DUMPS_AHEAD; i++) {
		if (dumps->slots[i].used)
			explicit_bzero(dumps->rooms + i * RING_RECORD_MAX, dumps->slots[i].used);
		dumps->slots[i].used = 0;
	}
}

static void dumps_align_cpu(struct dumps *dumps, uint32_t cpu, uint64_t now_ns)
{
	while (dumps->aligned_ns.count <= cpu)
		if (array_push(&dumps->aligned_ns, 0) < 0)
			return;
	if (now_ns - dumps->aligned_ns.items[cpu] < ALIGN_NS ||
	    !dump_pairs_is_apart(&dumps->pairs, cpu))
		return;
	dumps->aligned_ns.items[cpu] = now_ns;
	dumps->counts.aligned += perf_dumps_align(dumps->options.events, cpu) == 0;
}

void dumps_align(struct dumps *dumps)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	for (uint32_t cpu = 0; cpu < dumps->pairs.rings.count; cpu++)
		dumps_align_cpu(dumps, cpu, now_ns);
}

void dumps_counts(const struct dumps *dumps, struct dumps_counts *ret_counts)
{
	*ret_counts = dumps->counts;
	ret_counts->lost = dumps->pairs.lost;
	ret_counts->small = dumps->walk.ends[STACK_CUT_COPY];
}

const struct dump_walk *dumps_walks(const struct dumps *dumps)
{
	return &dumps->walk;
}
