// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/frame-table.h"

#include <string.h>

/*
 * A process can run code under another path of 4 KB in each sample, so its account pays for paths.
 * In a segment, this number of bytes of a path takes as much as a frame or a caller.
 */
#define PATH_BYTES 4
/* Shorter paths cost little, and stay even if the account is empty. Most paths are shorter. */
#define PATH_LONG 128

/* 65,536 addresses in 1 MB. */
#define ADDRESS_SETS 16384

int frame_table_init(struct frame_table *table, struct tracker *tracker)
{
	*table = (struct frame_table){ .tracker = tracker };
	return lru_cache_init(&table->addresses, ADDRESS_SETS);
}

void frame_table_done(struct frame_table *table)
{
	array_done(&table->module);
	lru_cache_done(&table->addresses);
}

void frame_table_start(struct frame_table *table, struct tape *tape)
{
	table->tape = tape;
	table->module.count = 0;
	lru_cache_clear(&table->addresses);
}

static int frame_table_note_pid(struct frame_table *table, uint32_t module, int32_t pid)
{
	struct tape *tape = table->tape;

	while (tape->pids.count <= module)
		if (array_push(&tape->pids, 0) < 0)
			return -ENOMEM;
	tape->pids.items[module] = pid;
	return 0;
}

/* Adds a module of the tracker to the tape. Returns 1 if the account cannot pay for its path. */
static int frame_table_add_module(struct frame_table *table, uint32_t at, int32_t pid,
				  uint32_t *ret_module)
{
	struct tape_module module = table->tracker->modules.list.items[at];
	const char *path = strings_at(&table->tracker->modules.paths, module.path);
	size_t size = strlen(path), before = table->tape->strings.text.size;
	int r;

	if (table->accounts && table->may_cut && size > PATH_LONG &&
	    !accounts_take(table->accounts, table->account, 0))
		return 1;
	r = strings_add(&table->tape->strings, path, size, &module.path);
	if (r < 0)
		return r;
	if (table->accounts)
		accounts_take(table->accounts, table->account,
			      (table->tape->strings.text.size - before) / PATH_BYTES);
	r = tape_add_module(table->tape, &module, ret_module);
	return r < 0 ? r : frame_table_note_pid(table, *ret_module, pid);
}

/* Finds the number in the tape of a module of the tracker, and adds the module if it is new. */
static int frame_table_find_module(struct frame_table *table, uint32_t at, int32_t pid,
				   uint32_t *ret_module)
{
	int r;

	if (table->generation != table->tracker->modules.generation)
		table->module.count = 0;
	table->generation = table->tracker->modules.generation;
	while (table->module.count <= at)
		if (array_push(&table->module, 0) < 0)
			return -ENOMEM;
	if (!table->module.items[at]) {
		r = frame_table_add_module(table, at, pid, ret_module);
		if (r != 0)
			return r;
		table->module.items[at] = *ret_module + 1;
	}
	*ret_module = table->module.items[at] - 1;
	return 0;
}

/*
 * During an exec, the thread's stack is still in the old program. The first address that only the
 * new program maps shows that the exec is over.
 */
static const struct mapping *frame_table_find_user(struct tracker_process *process,
						   uint64_t address)
{
	const struct mapping *mapping = maps_find(process->maps, address);

	if (!process->before)
		return mapping;
	if (mapping)
		tracker_process_finish_exec(process);
	else
		mapping = maps_find(process->before, address);
	return mapping;
}

/*
 * An address without a mapping becomes frame 0, so that the stack keeps its depth. Returns 1 if the
 * frame is TAPE_CUT.
 */
static int frame_table_make_frame(struct frame_table *table, const struct mapping *mapping,
				  int32_t pid, uint64_t address, uint32_t *ret_frame)
{
	uint32_t module;
	int r;

	if (!mapping) {
		*ret_frame = 0;
		return 0;
	}
	r = frame_table_find_module(table, mapping->module, pid, &module);
	if (r == 1) {
		table->cut = true;
		r = tape_add_mark(table->tape, TAPE_CUT, ret_frame);
		return r < 0 ? r : 1;
	}
	if (r < 0)
		return r;
	address = address - mapping->start + mapping->offset;
	return tape_add_frame(table->tape, module, address, ret_frame);
}

/* The low 32 bits of the version are enough: they do not repeat within a tape. */
static struct lru_cache_key frame_table_key(const struct maps *maps, uint64_t address)
{
	return (struct lru_cache_key){ address, maps->version,
				       hash_numbers(address, maps->version) };
}

void frame_table_prefetch(const struct frame_table *table, const struct tracker_process *process,
			  enum perf_cpu_mode mode, uint64_t address)
{
	if (mode == PERF_MODE_KERNEL)
		lru_cache_prefetch(&table->addresses,
				   frame_table_key(table->tracker->kernel, address));
	else if (mode == PERF_MODE_USER && process)
		lru_cache_prefetch(&table->addresses, frame_table_key(process->maps, address));
}

/* Most addresses are in the cache, with the same version of the mappings. */
static int frame_table_find_cached(struct frame_table *table, const struct maps *maps, int32_t pid,
				   uint64_t address, uint32_t *ret_frame)
{
	struct lru_cache_key key = frame_table_key(maps, address);
	int r = 0;

	*ret_frame = lru_cache_find(&table->addresses, key);
	if (*ret_frame != LRU_CACHE_NONE)
		return 0;
	r = frame_table_make_frame(table, maps_find(maps, address), pid, address, ret_frame);
	if (r == 0)
		lru_cache_put(&table->addresses, key, *ret_frame);
	/* later, the account may pay for the path */
	return MIN(r, 0);
}

int frame_table_find(struct frame_table *table, struct tracker_process *process, int32_t pid,
		     enum perf_cpu_mode mode, uint64_t address, uint32_t *ret_frame)
{
	if (mode == PERF_MODE_KERNEL)
		return frame_table_find_cached(table, table->tracker->kernel, pid, address,
					       ret_frame);
	if (mode == PERF_MODE_USER && process && process->before)
		return MIN(frame_table_make_frame(table, frame_table_find_user(process, address),
						  pid, address, ret_frame),
			   0);
	if (mode == PERF_MODE_USER && process)
		return frame_table_find_cached(table, process->maps, pid, address, ret_frame);
	*ret_frame = 0;
	return 0;
}
