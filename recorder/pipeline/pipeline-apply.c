// SPDX-License-Identifier: GPL-2.0-only
/* Applies records in time order, each according to its type. */
#include <assert.h>

#include "base/clock.h"
#include "base/mutation.h"
#include "recorder/pipeline/pipeline-internal.h"

_Static_assert(REORDER_AHEAD <= DUMPS_AHEAD, "each prefetched sample has a slot");

/* The kernel samples a thread for a moment after its EXIT record. */
#define EXITED_NS (5 * NSEC_PER_SEC)

/*
 * The mutation "hold-timers" acts like a hypervisor that stops all CPUs for this time in each
 * second.
 */
#define HELD_UP_NS (300 * NSEC_PER_MSEC)

/*
 * A thread still runs for a moment after its EXIT record, and the kernel then samples it as -1. The
 * last thread that ended on this CPU is that thread.
 */
static void pipeline_set_ended_thread(struct pipeline *pipeline, struct perf_record *record)
{
	const struct pipeline_cpu *cpu = pipeline_get_cpu(pipeline, record->cpu);
	bool known = cpu && cpu->ended_ns && record->time_ns - cpu->ended_ns < EXITED_NS;

	record->pid = known ? cpu->ended_pid : 0;
	record->tid = known ? cpu->ended_tid : 0;
}

static void pipeline_note_exit(struct pipeline *pipeline, const struct perf_record *record)
{
	struct pipeline_cpu *cpu = pipeline_get_cpu(pipeline, record->cpu);

	if (!cpu)
		return;
	cpu->ended_ns = record->time_ns;
	cpu->ended_pid = record->task.pid;
	cpu->ended_tid = record->task.tid;
}

static int pipeline_add_sample(struct pipeline *pipeline, struct perf_record *record,
			       const struct chain *chain)
{
	int r;

	if (mutated("hold-timers") && record->time_ns % NSEC_PER_SEC < HELD_UP_NS)
		return 0;
	if (record->tid < 0 && !pipeline->options->imported)
		pipeline_set_ended_thread(pipeline, record);
	losses_sample(&pipeline->losses, record->cpu, record->time_ns, !record->tid);
	if (record->time_ns < pipeline->started_ns)
		return 0;
	pipeline->samples++;
	if (mutated("drop-sample") && pipeline->samples % 8 == 0)
		return 0;
	r = tape_builder_add(&pipeline->builder, record, chain);
	if (r == 1)
		losses_truncated(&pipeline->losses, record->cpu != UINT32_MAX ? record->cpu : 0,
				 record->time_ns);
	return MIN(r, 0);
}

static int pipeline_add_traced(struct pipeline *pipeline, struct perf_record *record)
{
	int r;

	if (!pipeline->options->trace || record->time_ns < pipeline->started_ns)
		return 0;
	if (record->tid < 0)
		pipeline_set_ended_thread(pipeline, record);
	r = trace_take(pipeline->options->trace, record, &pipeline->builder);
	return r == -EBADMSG ? losses_damaged(&pipeline->losses, record->time_ns) : r;
}

static int pipeline_apply_record(struct pipeline *pipeline, const struct pipeline_source *source,
				 struct pipeline_prefetched *prefetched)
{
	struct perf_record *record = &prefetched->record;

	switch (record->type) {
	case PERF_TYPE_SAMPLE:
		return source->traced ? pipeline_add_traced(pipeline, record)
				      : pipeline_add_sample(pipeline, record, &prefetched->chain);
	case PERF_TYPE_THROTTLE:
	case PERF_TYPE_UNTHROTTLE:
		return losses_throttle(&pipeline->losses, record);
	case PERF_TYPE_LOST:
	case PERF_TYPE_LOST_SAMPLES:
		if (source->samples)
			losses_lost_slots(&pipeline->losses, record->cpu, record->lost);
		if (source->traced && !source->requested && pipeline->options->trace)
			trace_lost(pipeline->options->trace, record->lost, record->time_ns);
		return 0;
	case PERF_TYPE_EXIT:
		pipeline_note_exit(pipeline, record);
		return tracker_apply(&pipeline->tracker, record);
	default:
		return tracker_apply(&pipeline->tracker, record);
	}
}

/* Samples have callers, unlike trace events. */
static bool pipeline_has_callers(const struct pipeline_source *source,
				 const struct pipeline_prefetched *prefetched)
{
	return prefetched->decoded == 0 && prefetched->record.type == PERF_TYPE_SAMPLE &&
	       !source->traced;
}

/* Completes the callers of the next prefetched record, and prefetches what they need. */
static void pipeline_walk_next(struct pipeline *pipeline)
{
	struct pipeline_prefetched *prefetched =
		&pipeline->prefetched[pipeline->walked_count++ % REORDER_AHEAD];

	if (!prefetched->has_callers)
		return;
	if (pipeline->options->dumps)
		dumps_walk(pipeline->options->dumps, &prefetched->record);
	if (prefetched->decoded == 0)
		tape_builder_prefetch(&pipeline->builder, &prefetched->record, &prefetched->chain);
}

/* The decoded record borrows from bytes that stay valid until it is applied. */
static void pipeline_prefetch(void *context, const struct reorder_entry *entry,
			      const uint8_t *bytes)
{
	struct pipeline *pipeline = context;
	const struct pipeline_source *source = &pipeline->options->sources[entry->source];
	struct pipeline_prefetched *prefetched =
		&pipeline->prefetched[pipeline->prefetched_count++ % REORDER_AHEAD];

	prefetched->decoded =
		perf_record_decode(source->layout, bytes, entry->size, &prefetched->record);
	/*
	 * Use the time by which the record was sorted, even if the record's body states another
	 * one.
	 */
	prefetched->record.time_ns = entry->time_ns;
	prefetched->has_callers = pipeline_has_callers(source, prefetched);
	if (prefetched->has_callers && pipeline->options->dumps &&
	    dumps_prefetch(pipeline->options->dumps, &prefetched->record) < 0)
		prefetched->decoded = -ENOMEM;
	if (pipeline->walked_count + DUMPS_TURNS < pipeline->prefetched_count)
		pipeline_walk_next(pipeline);
}

/* The callers of a sample may change until it is applied, because its mappings may change. */
static int pipeline_apply_dump(struct pipeline *pipeline, struct pipeline_prefetched *prefetched)
{
	int r = 0;

	if (pipeline->options->dumps)
		r = dumps_apply(pipeline->options->dumps, &prefetched->record);
	if (r == 1)
		tape_builder_prefetch(&pipeline->builder, &prefetched->record, &prefetched->chain);
	return MIN(r, 0);
}

/* Applies the next record, which was prefetched. */
static int pipeline_apply(void *context, const struct reorder_entry *entry, const uint8_t *bytes)
{
	struct pipeline *pipeline = context;
	const struct pipeline_source *source = &pipeline->options->sources[entry->source];
	struct pipeline_prefetched *prefetched =
		&pipeline->prefetched[pipeline->applied_count++ % REORDER_AHEAD];
	int r;

	(void)bytes;
	assert(pipeline->applied_count <= pipeline->prefetched_count);
	if (pipeline->walked_count < pipeline->applied_count)
		pipeline_walk_next(pipeline);
	if (entry->time_ns >= pipeline->tape->end_ns) {
		r = pipeline_rotate_until(pipeline, entry->time_ns);
		if (r < 0)
			return r;
	}
	assert(entry->time_ns < pipeline->tape->end_ns);
	pipeline->last_ns = MAX(pipeline->last_ns, entry->time_ns);
	if (prefetched->decoded == -ENOMEM)
		return -ENOMEM;
	if (prefetched->has_callers && pipeline_apply_dump(pipeline, prefetched) < 0)
		return -ENOMEM;
	if (prefetched->decoded == -EBADMSG)
		return losses_damaged(&pipeline->losses, entry->time_ns);
	return prefetched->decoded == 0 ? pipeline_apply_record(pipeline, source, prefetched) : 0;
}

int pipeline_apply_before(struct pipeline *pipeline, uint64_t before_ns)
{
	struct dumps *dumps = pipeline->options->dumps;
	int r = dumps ? dumps_begin(dumps) : 0;

	if (r < 0)
		return r;
	/* After a failure, records that were prefetched but not applied are prefetched again. */
	pipeline->prefetched_count = pipeline->walked_count = pipeline->applied_count = 0;
	r = reorder_flush(&pipeline->reorder, before_ns, pipeline_prefetch, pipeline_apply,
			  pipeline);
	if (dumps)
		dumps_end(dumps, before_ns);
	return r;
}
