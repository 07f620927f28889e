// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/tape-builder.h"

#include <stdio.h>
#include <string.h>

#include "tape/stack-class.h"

int tape_builder_init(struct tape_builder *builder, struct tracker *tracker)
{
	*builder = (struct tape_builder){ .tracker = tracker };
	return callchain_cache_init(&builder->callchains, tracker);
}

void tape_builder_done(struct tape_builder *builder)
{
	accounts_done(&builder->detail);
	cgroup_counts_done(&builder->cut);
	callchain_cache_done(&builder->callchains);
}

/*
 * A new tape begins without stacks, so its first samples add many rows. A later sample of a normal
 * program adds one or two rows; a sample with forged callers may add 250. A burst pays for the
 * begin of a tape. It comes back within a minute and not with each tape: otherwise, short tapes
 * would multiply it.
 */
#define DETAIL_BURST 131072
#define DETAIL_SURE 4096
#define DETAIL_CGROUPS 4
#define DETAIL_PER_SAMPLE 8
#define DETAIL_BURST_SECONDS 60

static struct account_bucket tape_builder_bucket(uint64_t burst, uint64_t samples)
{
	return (struct account_bucket){
		.burst = burst,
		.rate = burst / DETAIL_BURST_SECONDS + samples * DETAIL_PER_SAMPLE,
	};
}

void tape_builder_limit(struct tape_builder *builder, uint64_t samples, uint64_t seconds)
{
	const struct account_limits limits = {
		.own = tape_builder_bucket(DETAIL_BURST, samples),
		.sure = tape_builder_bucket(DETAIL_SURE, 1),
		.all = tape_builder_bucket(DETAIL_CGROUPS * DETAIL_BURST, samples),
	};

	if (!builder->callchains.accounts)
		accounts_init(&builder->detail, &limits);
	builder->callchains.accounts = &builder->detail;
	builder->detail.limits = limits;
	accounts_begin(&builder->detail, seconds);
}

void tape_builder_start(struct tape_builder *builder, struct tape *tape)
{
	builder->tape = tape;
	callchain_cache_start(&builder->callchains, tape);
	for (size_t i = 0; i < builder->tracker->processes.count; i++)
		builder->tracker->processes.items[i].cgroup_row = 0;
	for (size_t i = 0; i < builder->tracker->threads.count; i++)
		builder->tracker->threads.items[i].row = 0;
}

/*
 * Sets *ret_row to the string of the process's cgroup in the tape. Adds the string once per tape.
 */
static int tape_builder_cgroup(struct tape_builder *builder, struct tracker_process *process,
			       const struct perf_record *record, uint32_t *ret_row)
{
	const char *cgroup;
	int r = 0;

	*ret_row = 0;
	if (!process)
		return 0;
	cgroup = tracker_cgroup(builder->tracker, process, record->sample.cgroup, record->time_ns);
	if (!process->cgroup_row) {
		r = strings_add(&builder->tape->strings, cgroup, strlen(cgroup), ret_row);
		process->cgroup_row = *ret_row + 1;
		process->cgroup_key = hash_text(cgroup, cgroup_owner_size(cgroup));
	}
	*ret_row = process->cgroup_row - 1;
	return r;
}

/*
 * Adds the row of a thread with its present name and cgroup. Sums of segments and of fleets know
 * the idle thread by its name alone, so no other thread may have this name: such a thread gets
 * "_wapper".
 */
static int tape_builder_add_row(struct tape_builder *builder, const struct perf_record *record,
				uint32_t cgroup, uint32_t *ret_row)
{
	const char *comm = tracker_comm(builder->tracker, record->pid, record->tid);
	struct tape_thread thread = { .pid = record->pid, .tid = record->tid, .cgroup = cgroup };
	char not_idle[32];
	int r;

	if (record->tid && stack_class_is_idle_comm(comm)) {
		snprintf(not_idle, sizeof(not_idle), "_%s", comm + 1);
		comm = not_idle;
	}
	r = strings_add(&builder->tape->strings, comm, strlen(comm), &thread.comm);
	if (r < 0)
		return r;
	return tape_add_thread(builder->tape, &thread, ret_row);
}

/* Searches the tape for the thread only if its name or its cgroup changed. */
static int tape_builder_thread(struct tape_builder *builder, const struct perf_record *record,
			       uint32_t cgroup, uint32_t *ret_row)
{
	struct tracker_thread *thread = tracker_thread(builder->tracker, record->tid);
	int r;

	if (!thread || !thread->comm || !record->tid || thread->pid != record->pid)
		return tape_builder_add_row(builder, record, cgroup, ret_row);
	if (!thread->row || thread->row_cgroup != cgroup) {
		r = tape_builder_add_row(builder, record, cgroup, ret_row);
		if (r < 0)
			return r;
		thread->row = *ret_row + 1;
		thread->row_cgroup = cgroup;
	}
	*ret_row = thread->row - 1;
	return 0;
}

int tape_builder_add_thread(struct tape_builder *builder, const struct perf_record *record,
			    uint32_t *ret_row)
{
	uint32_t cgroup;
	int r = tape_builder_cgroup(builder, tracker_process(builder->tracker, record->pid), record,
				    &cgroup);

	if (r < 0)
		return r;
	return tape_builder_thread(builder, record, cgroup, ret_row);
}

void tape_builder_prefetch(struct tape_builder *builder, const struct perf_record *record,
			   struct chain *ret_chain)
{
	const struct tracker_process *process = tracker_process(builder->tracker, record->pid);

	/* This prefetches the thread, too. */
	tracker_thread(builder->tracker, record->tid);
	if (callchain_cache_prefetch(&builder->callchains, process, record, ret_chain) < 0)
		*ret_chain = (struct chain){ 0 };
}

/* A callchain that was cut counts as truncated, too. */
static int tape_builder_count_cut(struct tape_builder *builder, uint32_t cgroup)
{
	int r = cgroup_counts_add(&builder->cut, tape_string(builder->tape, cgroup), 1);

	return r < 0 ? r : 1;
}

int tape_builder_add(struct tape_builder *builder, const struct perf_record *record,
		     const struct chain *prefetched)
{
	static const struct chain none;
	struct tracker_process *process = tracker_process(builder->tracker, record->pid);
	struct tape_sample sample = {
		.time_ns = record->time_ns - record->time_ns % TAPE_TIME_UNIT_NS,
		.period = record->sample.period,
		/* perf does not record the CPU when it samples a single process. */
		.cpu = record->cpu != UINT32_MAX ? record->cpu : 0,
	};
	uint32_t cgroup;
	int r = tape_builder_cgroup(builder, process, record, &cgroup);

	if (r < 0)
		return r;
	r = tape_builder_thread(builder, record, cgroup, &sample.thread);
	if (r < 0)
		return r;
	r = callchain_cache_find(&builder->callchains, process, process ? process->cgroup_key : 0,
				 record, prefetched ? prefetched : &none, &sample.frame,
				 &sample.stack);
	if (r < 0 || array_push(&builder->tape->samples, sample) < 0)
		return -ENOMEM;
	return r == CALLCHAIN_CUT ? tape_builder_count_cut(builder, cgroup) : r;
}
