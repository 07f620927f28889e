// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/core-details.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sort.h"

/* The path goes on as long as one callee has this share of the CPU's work. */
#define PATH_LEAST 0.4
/* The shortest time that the details describe, if the full time is longer. */
#define PART_LEAST_NS NSEC_PER_SEC
/* Threads of one name own the core's path from this share of the work on. */
#define OWNER_LEAST 0.5

struct core_thread {
	int32_t pid, tid;
	uint32_t comm, cgroup;
	uint64_t ns;
};

/* A sample of the core, and its functions from the outermost one. */
struct core_sample {
	uint64_t ns;
	uint32_t comm;
	size_t first;
	uint32_t depth;
	bool leaf_kernel;
};

struct core_call {
	uint32_t function;
	bool kernel;
};

struct core_reader {
	struct stall_samples *samples;
	struct evidence *evidence;
	struct evidence_core *core;
	array_of(struct core_thread) threads;
	array_of(struct core_sample) list;
	array_of(struct core_call) calls;
	/* time by name, indexed by the evidence's names */
	array_of(uint64_t) times;
	uint64_t kinds[STACK_CLASS_KINDS], softirq_ns, work_ns;
	uint64_t code_ns[CODE_KINDS], leaf_code_ns[CODE_KINDS];
	/* the name whose samples form the path; 0: all samples */
	uint32_t owner;
	/* the time that the details describe */
	uint64_t from_ns, to_ns;
};

static void core_reader_done(struct core_reader *reader)
{
	array_done(&reader->threads);
	array_done(&reader->list);
	array_done(&reader->calls);
	array_done(&reader->times);
}

static int core_add_thread(struct core_reader *reader, const struct stall_sample *sample,
			   uint32_t *ret_comm)
{
	const struct tape_thread *thread = &sample->tape->threads.items[sample->sample->thread];
	const char *cgroup = tape_string(sample->tape, thread->cgroup);
	struct core_thread added = { .pid = thread->pid, .tid = thread->tid, .ns = sample->ns };
	struct strings *names = &reader->evidence->names;
	const char *comm = tape_string(sample->tape, thread->comm);
	int r = strings_add(names, comm, strlen(comm), &added.comm);

	if (r < 0)
		return r;
	r = strings_add(names, cgroup, strlen(cgroup), &added.cgroup);
	if (r < 0)
		return r;
	*ret_comm = added.comm;
	for (size_t i = 0; i < reader->threads.count; i++) {
		struct core_thread *known = &reader->threads.items[i];

		if (known->tid == added.tid && known->pid == added.pid &&
		    known->comm == added.comm) {
			known->ns += sample->ns;
			return 0;
		}
	}
	return array_push(&reader->threads, added);
}

static int core_add_call(struct core_reader *reader, const struct stall_sample *sample,
			 uint32_t frame)
{
	struct core_call call = { .kernel = stack_class_is_kernel(sample->tape, frame) };
	int r = stall_sample_name(sample, frame, &reader->evidence->names, &call.function);

	return r < 0 ? r : array_push(&reader->calls, call);
}

/* Puts the callers in the order from the outermost one. */
static void core_reverse(struct core_call *calls, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct core_call call = calls[i];

		calls[i] = calls[count - 1 - i];
		calls[count - 1 - i] = call;
	}
}

static int core_add_stack(struct core_reader *reader, const struct stall_sample *sample,
			  uint32_t comm)
{
	struct core_sample added = { .ns = sample->ns, .comm = comm, .first = reader->calls.count };
	int r = core_add_call(reader, sample, sample->sample->frame);

	for (uint32_t stack = sample->sample->stack;
	     r == 0 && stack && reader->calls.count - added.first < EVIDENCE_PATH;
	     stack = sample->tape->stacks.items[stack].parent)
		r = core_add_call(reader, sample, sample->tape->stacks.items[stack].frame);
	if (r < 0)
		return r;
	added.depth = reader->calls.count - added.first;
	core_reverse(&reader->calls.items[added.first], added.depth);
	return array_push(&reader->list, added);
}

static int core_add_sample(struct core_reader *reader, const struct stall_sample *sample)
{
	uint32_t comm;
	int r;

	reader->kinds[sample->kind] += sample->ns;
	if (sample->kind == STACK_CLASS_IDLE)
		return 0;
	if (sample->code & 1u << CODE_SOFTIRQ)
		reader->softirq_ns += sample->ns;
	if (sample->code & 1u << CODE_SOFTIRQ)
		reader->kinds[sample->kind] -= sample->ns;
	reader->work_ns += sample->ns;
	for (int kind = 0; kind < CODE_KINDS; kind++) {
		reader->code_ns[kind] += sample->code & 1u << kind ? sample->ns : 0;
		reader->leaf_code_ns[kind] += sample->leaf_code & 1u << kind ? sample->ns : 0;
	}
	r = core_add_thread(reader, sample, &comm);
	return r < 0 ? r : core_add_stack(reader, sample, comm);
}

/*
 * The details describe the part of the full time that lies in the stall: another program may have
 * filled the CPU just before. A part that is too short for a judgement gives way to all of it.
 */
static void core_choose_time(struct core_reader *reader)
{
	const struct evidence *evidence = reader->evidence;

	reader->from_ns = MAX(reader->core->from_ns, evidence->stall_from_ns);
	reader->to_ns = MIN(reader->core->to_ns, evidence->stall_to_ns);
	if (reader->to_ns < reader->from_ns + PART_LEAST_NS) {
		reader->from_ns = reader->core->from_ns;
		reader->to_ns = reader->core->to_ns;
	}
}

static int core_add_samples(struct core_reader *reader)
{
	int r = 0;

	for (size_t row = 0; r == 0 && row < reader->samples->selection->rows.count; row++) {
		struct stall_sample sample;

		if (reader->samples->selection->rows.items[row].realtime_ns < reader->from_ns)
			continue;
		sample = stall_samples_at(reader->samples, row);
		if (sample.realtime_ns >= reader->to_ns)
			break;
		if (sample.sample->cpu == reader->core->cpu)
			r = core_add_sample(reader, &sample);
	}
	return r;
}

static int compare_threads(const void *a, const void *b)
{
	const struct core_thread *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

static void core_take_threads(struct core_reader *reader, double length_ns)
{
	struct evidence_core *core = reader->core;
	uint64_t of_name_ns = 0;

	qsort(reader->threads.items, reader->threads.count, sizeof(*reader->threads.items),
	      compare_threads);
	for (size_t i = 0; i < MIN(reader->threads.count, (size_t)EVIDENCE_THREADS); i++) {
		const struct core_thread *thread = &reader->threads.items[i];

		core->threads[core->thread_count++] = (struct evidence_thread){
			.pid = thread->pid,
			.tid = thread->tid,
			.comm = thread->comm,
			.cgroup = thread->cgroup,
			.share = thread->ns / length_ns,
		};
	}
	for (size_t i = 0; i < reader->threads.count; i++)
		if (reader->threads.items[i].comm == core->threads[0].comm)
			of_name_ns += reader->threads.items[i].ns;
	if (of_name_ns >= OWNER_LEAST * reader->work_ns)
		reader->owner = core->threads[0].comm;
}

/*
 * Adds up the functions at a depth over the samples that are still on the path. Returns the
 * function with most time, and that time; or NULL.
 */
static const struct core_call *core_heaviest(struct core_reader *reader, uint32_t depth,
					     uint64_t *ret_ns)
{
	const struct core_call *best = NULL;

	memset(reader->times.items, 0, reader->times.count * sizeof(*reader->times.items));
	for (size_t i = 0; i < reader->list.count; i++) {
		const struct core_sample *sample = &reader->list.items[i];
		const struct core_call *call = &reader->calls.items[sample->first + depth];

		if (sample->depth > depth)
			reader->times.items[call->function] += sample->ns;
		if (sample->depth > depth && (!best || reader->times.items[call->function] >
							       reader->times.items[best->function]))
			best = call;
	}
	*ret_ns = best ? reader->times.items[best->function] : 0;
	return best;
}

/* Keeps the samples that have this function at this depth. */
static void core_follow(struct core_reader *reader, uint32_t depth, uint32_t function)
{
	size_t kept = 0;

	for (size_t i = 0; i < reader->list.count; i++) {
		const struct core_sample *sample = &reader->list.items[i];

		if (sample->depth > depth &&
		    reader->calls.items[sample->first + depth].function == function)
			reader->list.items[kept++] = *sample;
	}
	reader->list.count = kept;
}

static void core_keep_owner(struct core_reader *reader)
{
	size_t kept = 0;

	for (size_t i = 0; reader->owner && i < reader->list.count; i++)
		if (reader->list.items[i].comm == reader->owner)
			reader->list.items[kept++] = reader->list.items[i];
	if (reader->owner)
		reader->list.count = kept;
}

/* Finds the function that is on top of most stacks of the path. */
static void core_take_leaf(struct core_reader *reader, double length_ns)
{
	uint64_t most_ns = 0;

	memset(reader->times.items, 0, reader->times.count * sizeof(*reader->times.items));
	for (size_t i = 0; i < reader->list.count; i++) {
		const struct core_sample *sample = &reader->list.items[i];
		uint32_t leaf = reader->calls.items[sample->first + sample->depth - 1].function;
		uint64_t *ns = &reader->times.items[leaf];

		*ns += sample->ns;
		if (*ns > most_ns) {
			most_ns = *ns;
			reader->core->leaf = leaf;
		}
	}
	reader->core->leaf_share = most_ns / length_ns;
}

static int core_take_path(struct core_reader *reader, double length_ns)
{
	struct evidence_core *core = reader->core;
	size_t names = strings_count(&reader->evidence->names);

	if (array_reserve(&reader->times, names) < 0)
		return -ENOMEM;
	reader->times.count = names;
	core_keep_owner(reader);
	for (uint32_t depth = 0; depth < EVIDENCE_PATH; depth++) {
		uint64_t ns;
		const struct core_call *call = core_heaviest(reader, depth, &ns);

		if (!call || ns < PATH_LEAST * reader->work_ns)
			break;
		core->path[core->path_count++] = (struct evidence_step){
			.function = call->function,
			.kernel = call->kernel,
			.share = ns / length_ns,
		};
		core_follow(reader, depth, call->function);
	}
	core_take_leaf(reader, length_ns);
	return 0;
}

static void core_take_shares(const struct core_reader *reader, double length_ns)
{
	struct evidence_core *core = reader->core;

	core->user = reader->kinds[STACK_CLASS_USER] / length_ns;
	core->kernel = reader->kinds[STACK_CLASS_KERNEL] / length_ns;
	core->irq = reader->kinds[STACK_CLASS_IRQ] / length_ns;
	core->softirq = reader->softirq_ns / length_ns;
	core->busy = reader->work_ns / length_ns;
	for (int kind = 0; kind < CODE_KINDS; kind++) {
		core->code[kind] = reader->code_ns[kind] / length_ns;
		core->leaf_code[kind] = reader->leaf_code_ns[kind] / length_ns;
	}
}

int core_details_read(struct stall_samples *samples, struct evidence *evidence,
		      struct evidence_core *core)
{
	_cleanup_(core_reader_done) struct core_reader reader = { .samples = samples,
								  .evidence = evidence,
								  .core = core };
	double length_ns;
	int r;

	core_choose_time(&reader);
	r = core_add_samples(&reader);
	/* a timer that fires a little early must not make a CPU more than full */
	length_ns = MAX(reader.to_ns - reader.from_ns, reader.work_ns);
	if (r < 0)
		return r;
	core_take_shares(&reader, length_ns);
	if (reader.work_ns) {
		core_take_threads(&reader, length_ns);
		r = core_take_path(&reader, length_ns);
	}
	return r;
}
