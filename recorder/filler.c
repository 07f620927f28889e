// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/filler.h"

#include <linux/perf_event.h>
#include <string.h>

int filler_init(struct filler *filler, struct tracker *tracker)
{
	*filler = (struct filler){ .tracker = tracker };
	filler->addresses = calloc(FILLER_ADDRESSES, sizeof(*filler->addresses));
	return filler->addresses ? 0 : -ENOMEM;
}

void filler_done(struct filler *filler)
{
	array_done(&filler->module);
	array_done(&filler->stack);
	array_done(&filler->callers);
	table_done(&filler->callers_table);
	free(filler->addresses);
	filler->addresses = NULL;
}

void filler_start(struct filler *filler, struct tape *tape)
{
	filler->tape = tape;
	filler->callers.count = 0;
	table_clear(&filler->callers_table);
	memset(filler->addresses, 0, FILLER_ADDRESSES * sizeof(*filler->addresses));
	filler->module.count = 0;
	for (size_t i = 0; i < filler->tracker->processes.count; i++)
		filler->tracker->processes.items[i].cgroup_row = 0;
	for (size_t i = 0; i < filler->tracker->threads.count; i++)
		filler->tracker->threads.items[i].row = 0;
}

static int note_pid(struct filler *filler, uint32_t module, int32_t pid)
{
	struct tape *tape = filler->tape;

	while (tape->pids.count <= module)
		if (array_push(&tape->pids, 0) < 0)
			return -ENOMEM;
	tape->pids.items[module] = pid;
	return 0;
}

/* The tape's number of one of the tracker's modules. */
static int filler_module(struct filler *filler, uint32_t at, int32_t pid, uint32_t *ret_module)
{
	struct tape_module module;
	const char *path;
	int r;

	if (filler->generation != filler->tracker->modules.generation)
		filler->module.count = 0;
	filler->generation = filler->tracker->modules.generation;
	while (filler->module.count <= at)
		if (array_push(&filler->module, 0) < 0)
			return -ENOMEM;
	if (!filler->module.items[at]) {
		module = filler->tracker->modules.list.items[at];
		path = strings_at(&filler->tracker->modules.paths, module.path);
		r = strings_add(&filler->tape->strings, path, strlen(path), &module.path);
		if (r == 0)
			r = tape_add_module(filler->tape, &module, ret_module);
		if (r == 0)
			r = note_pid(filler, *ret_module, pid);
		if (r < 0)
			return r;
		filler->module.items[at] = *ret_module + 1;
	}
	*ret_module = filler->module.items[at] - 1;
	return 0;
}

/*
 * While an exec is under way, the thread's stack is still in the program before. The first address that lies in the new one shows that
 * it is over.
 */
static const struct mapping *find_user(struct tracker_process *process, uint64_t address)
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
static int make_frame(struct filler *filler, const struct mapping *mapping, int32_t pid,
	uint64_t address, uint32_t *ret_frame)
{
	uint32_t module;
	int r;

	if (!mapping) {
		*ret_frame = 0;
		return 0;
	}
	r = filler_module(filler, mapping->module, pid, &module);
	address = address - mapping->start + mapping->offset;
	return r == 0 ? tape_add_frame(filler->tape, module, address, ret_frame) : r;
}

/* Most addresses have been seen before, under the same mappings. */
static int find_frame(struct filler *filler, const struct maps *maps, int32_t pid, uint64_t address,
	uint32_t *ret_frame)
{
	struct filler_address *known =
		&filler->addresses[hash_u64(address ^ maps->version << 48) % FILLER_ADDRESSES];
	int r;

	if (known->address != address || known->version != maps->version + 1) {
		r = make_frame(filler, maps_find(maps, address), pid, address, &known->frame);
		if (r < 0) {
			known->version = 0;
			return r;
		}
		known->address = address;
		known->version = maps->version + 1;
	}
	*ret_frame = known->frame;
	return 0;
}

static int filler_frame(struct filler *filler, struct tracker_process *process, int32_t pid,
	enum perf_cpu_mode mode, uint64_t address, uint32_t *ret_frame)
{
	if (mode == PERF_MODE_KERNEL)
		return find_frame(filler, filler->tracker->kernel, pid, address, ret_frame);
	if (mode == PERF_MODE_USER && process && process->before)
		return make_frame(filler, find_user(process, address), pid, address, ret_frame);
	if (mode == PERF_MODE_USER && process)
		return find_frame(filler, process->maps, pid, address, ret_frame);
	*ret_frame = 0;
	return 0;
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

/* Where a sample's callers begin, and in which mode. */
struct callers {
	const struct perf_record *record;
	size_t first; /* of the callchain's entries */
	enum perf_cpu_mode mode;
};

/* The callers' frames, from the innermost out, into `stack`. */
static int callers_frames(struct filler *filler, struct tracker_process *process,
	const struct callers *callers, bool *ret_cut)
{
	enum perf_cpu_mode mode = callers->mode;
	uint32_t frame;
	int r;

	filler->stack.count = 0;
	*ret_cut = false;
	for (size_t i = callers->first; i < callers->record->sample.chain_count; i++) {
		uint64_t address = perf_chain_at(callers->record, i);

		if (address >= PERF_CHAIN_MARKS) {
			if (mode_of_mark(address, &mode))
				continue;
			*ret_cut = true;
			break;
		}
		r = filler_frame(filler, process, callers->record->pid, mode, address, &frame);
		if (r < 0 || (r = array_push(&filler->stack, frame)) < 0)
			return r;
	}
	return 0;
}

/* The trie grows from the root, so that stacks share their outer frames. */
static int build_stack(struct filler *filler, struct tracker_process *process,
	const struct callers *callers, struct filler_callers *made)
{
	int r = callers_frames(filler, process, callers, &made->cut);

	made->stack = 0;
	for (size_t i = filler->stack.count; r == 0 && i-- > 0;)
		r = tape_add_stack(filler->tape, made->stack, filler->stack.items[i], &made->stack);
	return r;
}

/* So many addresses are mixed side by side: one behind the other, each waits for the multiplication before it. */
#define LANES 4

/* Odd, with as many bits set as not, and no pattern: the fractional parts of square roots of primes. */
static const uint64_t lane_factors[LANES] = { 0x6a09e667f3bcc909ull, 0xbb67ae8584caa73bull,
	0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull };
static const uint64_t check_factors[LANES] = { 0x510e527fade682d1ull, 0x9b05688c2b3e6c1full,
	0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull };

static uint64_t mix(uint64_t lane, uint64_t value)
{
	lane = (lane ^ value) * 0x9e3779b97f4a7c15ull;
	return lane ^ lane >> 29;
}

static void hash_callers(const struct tracker *tracker, const struct tracker_process *process,
	const struct callers *callers, struct filler_callers *ret_callers)
{
	uint64_t lanes[LANES] = {
		tracker->kernel->version,
		process ? process->maps->version + 1 : 0,
		process && process->before ? process->before->version + 1 : 0,
		callers->mode,
	};
	size_t count = callers->record->sample.chain_count, i = callers->first;
	uint64_t hash = count - i, check = ~hash;

	for (; i + LANES <= count; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			lanes[lane] = mix(lanes[lane], perf_chain_at(callers->record, i + lane));
	for (; i < count; i++)
		lanes[i % LANES] = mix(lanes[i % LANES], perf_chain_at(callers->record, i));
	for (size_t lane = 0; lane < LANES; lane++) {
		hash += lanes[lane] * lane_factors[lane];
		check += (lanes[lane] ^ lanes[lane] >> 32) * check_factors[lane];
	}
	ret_callers->hash = hash_u64(hash);
	ret_callers->check = hash_u64(check);
}

static bool callers_equal(const void *context, uint32_t at, const void *key)
{
	const struct filler_callers *a = &((const struct filler *)context)->callers.items[at],
				    *b = key;

	return a->hash == b->hash && a->check == b->check;
}

/* Most callers have been seen before, under the same mappings: then the stack is known without a look at a frame. */
static int find_callers(struct filler *filler, struct tracker_process *process,
	const struct callers *callers, uint32_t *ret_stack)
{
	struct filler_callers key;
	uint32_t at;
	int r;

	hash_callers(filler->tracker, process, callers, &key);
	at = table_find(&filler->callers_table, key.hash, callers_equal, filler, &key);
	if (at == TABLE_NONE) {
		r = build_stack(filler, process, callers, &key);
		if (r < 0)
			return r;
		at = filler->callers.count;
		if (array_push(&filler->callers, key) < 0 ||
			table_add(&filler->callers_table, key.hash, at) < 0)
			return -ENOMEM;
	}
	*ret_stack = filler->callers.items[at].stack;
	return filler->callers.items[at].cut;
}

/* The leaf is the first address of the callchain; where there is none, the one at which the sample was taken. */
static int filler_stack(struct filler *filler, struct tracker_process *process,
	const struct perf_record *record, struct tape_sample *sample)
{
	struct callers callers = { .record = record, .mode = record->misc & PERF_MODE_MASK };
	size_t count = record->sample.chain_count, at = 0;
	uint64_t leaf = 0;
	int r;

	while (at < count && (leaf = perf_chain_at(record, at)) >= PERF_CHAIN_MARKS &&
		mode_of_mark(leaf, &callers.mode))
		at++;
	if (at == count || leaf >= PERF_CHAIN_MARKS) {
		r = record->sample.ip ? filler_frame(filler, process, record->pid, callers.mode,
						record->sample.ip, &sample->frame)
				      : tape_add_no_stack(filler->tape, &sample->frame);
		return r < 0 ? r : at < count;
	}
	r = filler_frame(filler, process, record->pid, callers.mode, leaf, &sample->frame);
	callers.first = at + 1;
	if (r < 0 || callers.first == count)
		return r;
	return find_callers(filler, process, &callers, &sample->stack);
}

/* The tape's string of the process's cgroup, which is looked for once in a tape. */
static int filler_cgroup(struct filler *filler, struct tracker_process *process,
	const struct perf_record *record, uint32_t *ret_row)
{
	const char *cgroup;
	int r = 0;

	*ret_row = 0;
	if (!process)
		return 0;
	cgroup = tracker_cgroup(filler->tracker, process, record->sample.cgroup, record->time_ns);
	if (!process->cgroup_row) {
		r = strings_add(&filler->tape->strings, cgroup, strlen(cgroup), ret_row);
		process->cgroup_row = *ret_row + 1;
	}
	*ret_row = process->cgroup_row - 1;
	return r;
}

/* The row of a thread under a name, in a cgroup. */
static int add_thread(
	struct filler *filler, const struct perf_record *record, uint32_t cgroup, uint32_t *ret_row)
{
	const char *comm = tracker_comm(filler->tracker, record->pid, record->tid);
	struct tape_thread thread = { .pid = record->pid, .tid = record->tid, .cgroup = cgroup };
	int r = strings_add(&filler->tape->strings, comm, strlen(comm), &thread.comm);

	return r == 0 ? tape_add_thread(filler->tape, &thread, ret_row) : r;
}

/* Looked for once, as long as it has the name and the cgroup that it had. */
static int filler_thread(
	struct filler *filler, const struct perf_record *record, uint32_t cgroup, uint32_t *ret_row)
{
	struct tracker_thread *thread = tracker_thread(filler->tracker, record->tid);
	int r;

	if (!thread || !thread->comm || !record->tid || thread->pid != record->pid)
		return add_thread(filler, record, cgroup, ret_row);
	if (!thread->row || thread->row_cgroup != cgroup) {
		r = add_thread(filler, record, cgroup, ret_row);
		if (r < 0)
			return r;
		thread->row = *ret_row + 1;
		thread->row_cgroup = cgroup;
	}
	*ret_row = thread->row - 1;
	return 0;
}

int filler_add(struct filler *filler, const struct perf_record *record)
{
	struct tracker_process *process = tracker_process(filler->tracker, record->pid);
	struct tape_sample sample = {
		.time_ns = record->time_ns - record->time_ns % TAPE_TIME_UNIT_NS,
		.period = record->sample.period,
		/* perf does not record it for one process alone */
		.cpu = record->cpu != UINT32_MAX ? record->cpu : 0,
	};
	uint32_t cgroup;
	int r = filler_cgroup(filler, process, record, &cgroup);

	if (r == 0)
		r = filler_thread(filler, record, cgroup, &sample.thread);
	if (r == 0)
		r = filler_stack(filler, process, record, &sample);
	if (r < 0 || array_push(&filler->tape->samples, sample) < 0)
		return -ENOMEM;
	return r;
}
