// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/filler.h"

#include <linux/perf_event.h>
#include <string.h>

int filler_init(struct filler *filler, struct tracker *tracker)
{
	*filler = (struct filler){ .tracker = tracker };
	return frames_init(&filler->frames, tracker);
}

void filler_done(struct filler *filler)
{
	frames_done(&filler->frames);
	known_done(&filler->callers);
}

void filler_start(struct filler *filler, struct tape *tape)
{
	filler->tape = tape;
	frames_start(&filler->frames, tape);
	known_clear(&filler->callers);
	for (size_t i = 0; i < filler->tracker->processes.count; i++)
		filler->tracker->processes.items[i].cgroup_row = 0;
	for (size_t i = 0; i < filler->tracker->threads.count; i++)
		filler->tracker->threads.items[i].row = 0;
}

static bool is_mark(const struct perf_record *record, size_t i)
{
	return perf_chain_at(record, i) >= PERF_CHAIN_MARKS;
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

/* The callers of an address of a callchain, up to its end, and the mode in which they begin. */
struct callers {
	const struct perf_record *record;
	size_t first; /* of the callchain's entries */
	enum perf_cpu_mode mode;
};

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

static struct known_key hash_callers(const struct tracker *tracker,
	const struct tracker_process *process, const struct callers *callers)
{
	/* versions that are near to one another must not make up for addresses that are */
	uint64_t lanes[LANES] = {
		hash_u64(tracker->kernel->version),
		hash_u64(process ? process->maps->version + 1 : 0),
		hash_u64(process && process->before ? process->before->version + 1 : 0),
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
	return (struct known_key){ hash_u64(check), hash_u64(hash) };
}

static int find_callers(struct filler *filler, struct tracker_process *process,
	const struct callers *callers, struct known_key key, uint32_t *ret_known);

/* So many callers are looked up one by one before it is asked whether those outside of them are known, as they mostly are. */
#define CALLERS_PIECE 8

/* The trie grows from the root, so that stacks share their outer frames. */
static int build_stack(struct filler *filler, struct tracker_process *process,
	const struct callers *callers, uint32_t *ret_known)
{
	size_t chain_count = callers->record->sample.chain_count, count = 0;
	uint32_t frames[CALLERS_PIECE], known = 0, stack;
	size_t end =
		chain_count - (chain_count - callers->first - 1) / CALLERS_PIECE * CALLERS_PIECE;
	struct callers outer = *callers;
	bool cut = false;
	int r = 0;

	/* pieces are counted from the root */
	while (r == 0 && !cut && outer.first < end) {
		uint64_t address = perf_chain_at(callers->record, outer.first++);

		if (address < PERF_CHAIN_MARKS)
			r = frames_find(&filler->frames, process, callers->record->pid, outer.mode,
				address, &frames[count++]);
		else
			cut = !mode_of_mark(address, &outer.mode);
	}
	if (r == 0 && !cut && outer.first < chain_count)
		r = find_callers(filler, process, &outer,
			hash_callers(filler->tracker, process, &outer), &known);
	stack = known / 2;
	while (r == 0 && count-- > 0)
		r = tape_add_stack(filler->tape, stack, frames[count], &stack);
	*ret_known = 2 * stack + (cut || known % 2);
	return r;
}

/* Most callers have been seen before, under the same mappings. */
static int find_callers(struct filler *filler, struct tracker_process *process,
	const struct callers *callers, struct known_key key, uint32_t *ret_known)
{
	int r;

	*ret_known = known_find(&filler->callers, key);
	if (*ret_known != KNOWN_NONE)
		return 0;
	r = build_stack(filler, process, callers, ret_known);
	return r == 0 ? known_add(&filler->callers, key, *ret_known) : r;
}

/* The leaf is the first address of the callchain; where there is none, the one at which the sample was taken. What follows it are its callers. */
static int find_leaf(struct filler *filler, struct tracker_process *process,
	const struct perf_record *record, struct callers *ret_callers, uint32_t *ret_frame)
{
	struct callers callers = { record, 0, record->misc & PERF_MODE_MASK };
	size_t count = record->sample.chain_count;
	uint64_t leaf = record->sample.ip;
	bool none = !leaf;

	while (callers.first < count && is_mark(record, callers.first) &&
		mode_of_mark(perf_chain_at(record, callers.first), &callers.mode))
		callers.first++;
	if (callers.first < count && !is_mark(record, callers.first)) {
		leaf = perf_chain_at(record, callers.first++);
		none = false;
	}
	*ret_callers = callers;
	if (none)
		return tape_add_no_stack(filler->tape, ret_frame);
	return frames_find(&filler->frames, process, record->pid, callers.mode, leaf, ret_frame);
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

int filler_add_thread(struct filler *filler, const struct perf_record *record, uint32_t *ret_row)
{
	uint32_t cgroup;
	int r = filler_cgroup(
		filler, tracker_process(filler->tracker, record->pid), record, &cgroup);

	return r == 0 ? filler_thread(filler, record, cgroup, ret_row) : r;
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
	uint32_t cgroup, known = 0;
	struct callers callers;
	struct known_key key;
	int r = find_leaf(filler, process, record, &callers, &sample.frame);

	/* by the time that the thread is known, this is in the cache */
	key = hash_callers(filler->tracker, process, &callers);
	known_soon(&filler->callers, key);
	if (r == 0)
		r = filler_cgroup(filler, process, record, &cgroup);
	if (r == 0)
		r = filler_thread(filler, record, cgroup, &sample.thread);
	if (r == 0 && callers.first < record->sample.chain_count)
		r = find_callers(filler, process, &callers, key, &known);
	sample.stack = known / 2;
	if (r < 0 || array_push(&filler->tape->samples, sample) < 0)
		return -ENOMEM;
	return known % 2;
}
