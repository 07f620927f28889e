// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/tape-builder.h"

#include <string.h>

int tape_builder_init(struct tape_builder *filler, struct tracker *tracker)
{
	*filler = (struct tape_builder){ .tracker = tracker };
	return callchain_cache_init(&filler->chains, tracker);
}

void tape_builder_done(struct tape_builder *filler)
{
	callchain_cache_done(&filler->chains);
}

void tape_builder_start(struct tape_builder *filler, struct tape *tape)
{
	filler->tape = tape;
	callchain_cache_start(&filler->chains, tape);
	for (size_t i = 0; i < filler->tracker->processes.count; i++)
		filler->tracker->processes.items[i].cgroup_row = 0;
	for (size_t i = 0; i < filler->tracker->threads.count; i++)
		filler->tracker->threads.items[i].row = 0;
}

/* The tape's string of the process's cgroup, which is looked for once in a tape. */
static int tape_builder_cgroup(struct tape_builder *filler, struct tracker_process *process,
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
static int tape_builder_add_thread_here(struct tape_builder *filler,
					const struct perf_record *record, uint32_t cgroup,
					uint32_t *ret_row)
{
	const char *comm = tracker_comm(filler->tracker, record->pid, record->tid);
	struct tape_thread thread = { .pid = record->pid, .tid = record->tid, .cgroup = cgroup };
	int r = strings_add(&filler->tape->strings, comm, strlen(comm), &thread.comm);

	return r == 0 ? tape_add_thread(filler->tape, &thread, ret_row) : r;
}

/* Looked for once, as long as it has the name and the cgroup that it had. */
static int tape_builder_thread(struct tape_builder *filler, const struct perf_record *record,
			       uint32_t cgroup, uint32_t *ret_row)
{
	struct tracker_thread *thread = tracker_thread(filler->tracker, record->tid);
	int r;

	if (!thread || !thread->comm || !record->tid || thread->pid != record->pid)
		return tape_builder_add_thread_here(filler, record, cgroup, ret_row);
	if (!thread->row || thread->row_cgroup != cgroup) {
		r = tape_builder_add_thread_here(filler, record, cgroup, ret_row);
		if (r < 0)
			return r;
		thread->row = *ret_row + 1;
		thread->row_cgroup = cgroup;
	}
	*ret_row = thread->row - 1;
	return 0;
}

int tape_builder_add_thread(struct tape_builder *filler, const struct perf_record *record,
			    uint32_t *ret_row)
{
	uint32_t cgroup;
	int r = tape_builder_cgroup(filler, tracker_process(filler->tracker, record->pid), record,
				    &cgroup);

	return r == 0 ? tape_builder_thread(filler, record, cgroup, ret_row) : r;
}

void tape_builder_prefetch(struct tape_builder *filler, const struct perf_record *record,
			   struct chain *ret_chain)
{
	const struct tracker_process *process = tracker_process(filler->tracker, record->pid);

	/* the thread, too, is in the cache by that */
	tracker_thread(filler->tracker, record->tid);
	if (callchain_cache_prefetch(&filler->chains, process, record, ret_chain) < 0)
		*ret_chain = (struct chain){ 0 };
}

int tape_builder_add(struct tape_builder *filler, const struct perf_record *record,
		     const struct chain *expected)
{
	static const struct chain none;
	struct tracker_process *process = tracker_process(filler->tracker, record->pid);
	struct tape_sample sample = {
		.time_ns = record->time_ns - record->time_ns % TAPE_TIME_UNIT_NS,
		.period = record->sample.period,
		/* perf does not record it for one process alone */
		.cpu = record->cpu != UINT32_MAX ? record->cpu : 0,
	};
	uint32_t cgroup;
	int r = tape_builder_cgroup(filler, process, record, &cgroup);

	if (r == 0)
		r = tape_builder_thread(filler, record, cgroup, &sample.thread);
	if (r == 0)
		r = callchain_cache_find(&filler->chains, process, record,
					 expected ? expected : &none, &sample.frame, &sample.stack);
	if (r < 0 || array_push(&filler->tape->samples, sample) < 0)
		return -ENOMEM;
	return r;
}
