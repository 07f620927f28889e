// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/frame-table.h"

#include <string.h>

/* 65,536 addresses, in 1 MB. */
#define ADDRESS_SETS 16384

int frame_table_init(struct frame_table *frames, struct tracker *tracker)
{
	*frames = (struct frame_table){ .tracker = tracker };
	return lru_cache_init(&frames->addresses, ADDRESS_SETS);
}

void frame_table_done(struct frame_table *frames)
{
	array_done(&frames->module);
	lru_cache_done(&frames->addresses);
}

void frame_table_start(struct frame_table *frames, struct tape *tape)
{
	frames->tape = tape;
	frames->module.count = 0;
	lru_cache_clear(&frames->addresses);
}

static int note_pid(struct frame_table *frames, uint32_t module, int32_t pid)
{
	struct tape *tape = frames->tape;

	while (tape->pids.count <= module)
		if (array_push(&tape->pids, 0) < 0)
			return -ENOMEM;
	tape->pids.items[module] = pid;
	return 0;
}

/* The tape's number of one of the tracker's modules. */
static int find_module(struct frame_table *frames, uint32_t at, int32_t pid, uint32_t *ret_module)
{
	struct tape_module module;
	const char *path;
	int r;

	if (frames->generation != frames->tracker->modules.generation)
		frames->module.count = 0;
	frames->generation = frames->tracker->modules.generation;
	while (frames->module.count <= at)
		if (array_push(&frames->module, 0) < 0)
			return -ENOMEM;
	if (!frames->module.items[at]) {
		module = frames->tracker->modules.list.items[at];
		path = strings_at(&frames->tracker->modules.paths, module.path);
		r = strings_add(&frames->tape->strings, path, strlen(path), &module.path);
		if (r == 0)
			r = tape_add_module(frames->tape, &module, ret_module);
		if (r == 0)
			r = note_pid(frames, *ret_module, pid);
		if (r < 0)
			return r;
		frames->module.items[at] = *ret_module + 1;
	}
	*ret_module = frames->module.items[at] - 1;
	return 0;
}

/*
 * While an exec is under way, the thread's stack is still in the program before. The first address
 * that lies in the new one shows that it is over.
 */
static const struct mapping *frame_table_find_user(struct tracker_process *process,
						   uint64_t address)
{
	const struct mapping *mapping = maps_find(process->maps, address);

	if (!process->before)
		return mapping;
	if (mapping)
		tracker_process_settled(process);
	else
		mapping = maps_find(process->before, address);
	return mapping;
}

/* An address that lies in no mapping keeps its place in the stack and loses itself: frame 0. */
static int frame_table_make_frame(struct frame_table *frames, const struct mapping *mapping,
				  int32_t pid, uint64_t address, uint32_t *ret_frame)
{
	uint32_t module;
	int r;

	if (!mapping) {
		*ret_frame = 0;
		return 0;
	}
	r = find_module(frames, mapping->module, pid, &module);
	address = address - mapping->start + mapping->offset;
	return r == 0 ? tape_add_frame(frames->tape, module, address, ret_frame) : r;
}

/* Of the mappings' version the low bits do: a tape does not live to see them again. */
static struct lru_cache_key frame_table_key_of(const struct maps *maps, uint64_t address)
{
	return (struct lru_cache_key){ address, maps->version,
				       hash_u64(address ^ maps->version << 48) };
}

void frame_table_prefetch(const struct frame_table *frames, const struct tracker_process *process,
			  enum perf_cpu_mode mode, uint64_t address)
{
	if (mode == PERF_MODE_KERNEL)
		lru_cache_prefetch(&frames->addresses,
				   frame_table_key_of(frames->tracker->kernel, address));
	else if (mode == PERF_MODE_USER && process)
		lru_cache_prefetch(&frames->addresses, frame_table_key_of(process->maps, address));
}

/* Most addresses have been seen before, under the same mappings. */
static int known_frame(struct frame_table *frames, const struct maps *maps, int32_t pid,
		       uint64_t address, uint32_t *ret_frame)
{
	struct lru_cache_key key = frame_table_key_of(maps, address);
	int r = 0;

	*ret_frame = lru_cache_find(&frames->addresses, key);
	if (*ret_frame != LRU_CACHE_NONE)
		return 0;
	r = frame_table_make_frame(frames, maps_find(maps, address), pid, address, ret_frame);
	if (r == 0)
		lru_cache_put(&frames->addresses, key, *ret_frame);
	return r;
}

int frame_table_find(struct frame_table *frames, struct tracker_process *process, int32_t pid,
		     enum perf_cpu_mode mode, uint64_t address, uint32_t *ret_frame)
{
	if (mode == PERF_MODE_KERNEL)
		return known_frame(frames, frames->tracker->kernel, pid, address, ret_frame);
	if (mode == PERF_MODE_USER && process && process->before)
		return frame_table_make_frame(frames, frame_table_find_user(process, address), pid,
					      address, ret_frame);
	if (mode == PERF_MODE_USER && process)
		return known_frame(frames, process->maps, pid, address, ret_frame);
	*ret_frame = 0;
	return 0;
}
