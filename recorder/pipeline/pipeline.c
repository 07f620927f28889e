// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/pipeline/pipeline.h"

#include "base/clock.h"
#include "base/mutation.h"

/*
 * Invariants:
 * (1) records are applied in time order, but for those that are added later than a flush beyond
 * their time; (2) the time of each of its samples < tape.end; the next tape begins where this one
 * ends, unless time jumped. A sample that came late may lie before tape.begin, and whoever encodes
 * the tape reaches back for it: its spool goes by the begin; (3) a loss is known when its record is
 * added, before anything that happened meanwhile is applied: each tape gets its share, and has it
 * when it is next handed to the spool; (4) `anchors` holds one at or before the begin of the tape
 * at hand, where there was one, and all since; the tape has them all.
 */

/* The kernel samples a thread for a moment after its EXIT record. */
#define EXITED_NS (5 * NSEC_PER_SEC)

/* Of a thousand processes a second, those that ended take a megabyte in some seconds: a tape is too
 * long to keep them for. */
#define SWEEP_NS (10 * NSEC_PER_SEC)

/* Beyond any clock: 146 years. Times from there are damage, and sums with them would overflow. */
#define TIME_LIMIT_NS (1ull << 62)

/* No recorder sleeps that long: what lies between was not recorded. A single record from there is
 * damaged. */
#define JUMP_NS (24 * 3600 * NSEC_PER_SEC)

/* A CPU number beyond this is damage, not a CPU. */
#define CPUS_MAX 65536

/* The mutation "hold-timers" plays a hypervisor that stops all CPUs for this part of each second.
 */
#define HELD_UP_NS (300 * NSEC_PER_MSEC)

int pipeline_init(struct pipeline *assembler, const struct pipeline_options *options)
{
	*assembler = (struct pipeline){ .options = options };
	if (tape_builder_init(&assembler->filler, &assembler->tracker) < 0)
		return -ENOMEM;
	return tracker_init(&assembler->tracker);
}

void pipeline_done(struct pipeline *assembler)
{
	tape_free(assembler->tape);
	tape_builder_done(&assembler->filler);
	reorder_done(&assembler->timeline);
	tracker_done(&assembler->tracker);
	array_done(&assembler->anchors);
	array_done(&assembler->cpus);
	losses_done(&assembler->losses);
	spool_mark_done(&assembler->spooled);
}

const struct tape_anchor *pipeline_last_anchor(const struct pipeline *assembler)
{
	if (!assembler->anchors.count)
		return NULL;
	return &assembler->anchors.items[assembler->anchors.count - 1];
}

int pipeline_anchor(struct pipeline *assembler, const struct tape_anchor *anchor)
{
	const struct tape_anchor *last = pipeline_last_anchor(assembler);

	if (last && last->perf_ns >= anchor->perf_ns)
		return 0;
	if (assembler->tape && array_push(&assembler->tape->anchors, *anchor) < 0)
		return -ENOMEM;
	return array_push(&assembler->anchors, *anchor);
}

uint64_t pipeline_wall(const struct pipeline *assembler, uint64_t perf_ns)
{
	const struct tape_anchor *last = pipeline_last_anchor(assembler);

	return perf_ns + (last->realtime_ns - last->perf_ns);
}

/*
 * The perf time of the next wall-clock multiple of the segment's length. One that is nearer than a
 * tenth of it is passed over: it is the one at which this segment begins, seen a few nanoseconds
 * early, or would give a segment not worth a file.
 */
static uint64_t next_end(const struct pipeline *assembler, uint64_t begin_ns)
{
	uint64_t segment_ns = assembler->options->segment_ns;
	uint64_t left_ns = segment_ns - pipeline_wall(assembler, begin_ns) % segment_ns;

	return begin_ns + left_ns + (left_ns < segment_ns / 10 ? segment_ns : 0);
}

/* Tapes begin and end as their samples lie. */
static uint64_t whole_unit(uint64_t time_ns)
{
	return time_ns - time_ns % TAPE_TIME_UNIT_NS;
}

/* A tape begins with the last anchor before it, and those that came since: who reads its first
 * block knows its time. */
static int give_anchors(struct pipeline *assembler, struct tape *tape)
{
	size_t first = 0;

	for (size_t i = 0; i < assembler->anchors.count; i++)
		if (assembler->anchors.items[i].perf_ns <= tape->begin_ns)
			first = i;
	assembler->anchors.count -= first;
	memmove(assembler->anchors.items, assembler->anchors.items + first,
		assembler->anchors.count * sizeof(*assembler->anchors.items));
	for (size_t i = 0; i < assembler->anchors.count; i++)
		if (array_push(&tape->anchors, assembler->anchors.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int pipeline_begin_tape(struct pipeline *assembler, uint64_t begin_ns)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	const struct pipeline_fact *fact;
	int r = tape_new(&tape);

	for (fact = assembler->options->facts; r == 0 && fact->key; fact++)
		r = tape_add_fact(tape, fact->key, fact->value);
	tape->begin_ns = whole_unit(begin_ns);
	tape->end_ns = whole_unit(next_end(assembler, begin_ns));
	if (r == 0)
		r = give_anchors(assembler, tape);
	if (r < 0)
		return r;
	tape->sequence = assembler->options->imported ? assembler->sequence++
						      : sealer_number(assembler->options->sealer);
	assembler->tape = take_ptr(tape);
	spool_mark_done(&assembler->spooled);
	assembler->spooled = (struct spool_mark){ 0 };
	tape_builder_start(&assembler->filler, assembler->tape);
	return 0;
}

int pipeline_begin(struct pipeline *assembler, uint64_t begin_ns)
{
	assembler->started_ns = assembler->options->imported ? 0 : begin_ns;
	assembler->last_ns = begin_ns;
	losses_begin(&assembler->losses, assembler->started_ns);
	assembler->losses.period_ns = assembler->options->period_ns;
	return pipeline_begin_tape(assembler, begin_ns);
}

/* What came into the tape since the last block, as one more; not while those before wait for the
 * disk. */
static int pipeline_spool_here(struct pipeline *assembler, uint64_t until_ns)
{
	struct spool_block block = { 0 };
	int r;

	if (assembler->options->imported || !sealer_takes_block(assembler->options->sealer))
		return 0;
	if (mutated("spool-late") && until_ns / NSEC_PER_SEC % 10 != 0)
		return 0;
	r = spool_encode(assembler->tape, &assembler->spooled,
			 MAX(until_ns, assembler->tape->begin_ns), &block);
	/* the disk was away for so long that it is too much for a block: the tape waits in memory
	 */
	if (r == -EFBIG)
		return 0;
	return r == 0 ? sealer_put_block(assembler->options->sealer, &block) : r;
}

/* What of trace events is told now and then. */
static int give_traced(struct pipeline *assembler, uint64_t until_ns, bool last)
{
	struct trace *trace = assembler->options->trace;

	return trace ? trace_give(trace, assembler->tape, &assembler->losses, until_ns, last) : 0;
}

int pipeline_spool(struct pipeline *assembler, uint64_t until_ns)
{
	int r = give_traced(assembler, MIN(until_ns, assembler->tape->end_ns), false);

	if (r == 0)
		r = losses_give(&assembler->losses, assembler->tape,
				MIN(until_ns, assembler->tape->end_ns));
	return r == 0 ? pipeline_spool_here(assembler, until_ns) : r;
}

/* Its last block, too: naming and sealing may take longer than the next crash. */
static int pipeline_end_tape(struct pipeline *assembler)
{
	int r = give_traced(assembler, assembler->tape->end_ns, true);

	if (r == 0)
		r = losses_give(&assembler->losses, assembler->tape, assembler->tape->end_ns);
	if (r == 0)
		r = pipeline_spool_here(assembler, assembler->tape->end_ns);
	if (mutated("rotation-drops-samples"))
		assembler->tape->samples.count -= assembler->tape->samples.count / 4;
	tape_filled(assembler->tape);
	return r == 0 ? sealer_put(assembler->options->sealer, take_ptr(assembler->tape)) : r;
}

/*
 * How long nothing may happen before it counts as not recorded. We know whether we were there; of a
 * file this is a guess, and one whose times are far apart must not become a store full of empty
 * segments.
 */
static uint64_t quiet_limit(const struct pipeline *assembler)
{
	return assembler->options->imported ? 10 * assembler->options->segment_ns : JUMP_NS;
}

static void pipeline_sweep(struct pipeline *assembler, uint64_t time_ns)
{
	assembler->swept_ns = time_ns;
	tracker_sweep(&assembler->tracker, time_ns - MIN(time_ns, EXITED_NS));
}

/* Ends tapes until the one at hand reaches beyond a moment. Where time jumped, the tape ends with
 * its last record. */
static int pipeline_rotate_here(struct pipeline *assembler, uint64_t time_ns)
{
	int r = 0;

	while (r == 0 && time_ns >= assembler->tape->end_ns) {
		bool jumped = time_ns - assembler->last_ns > quiet_limit(assembler);
		uint64_t end_ns = assembler->tape->end_ns;

		if (jumped)
			assembler->tape->end_ns =
				whole_unit(MAX(assembler->tape->begin_ns, assembler->last_ns)) +
				TAPE_TIME_UNIT_NS;
		r = pipeline_end_tape(assembler);
		pipeline_sweep(assembler, end_ns);
		tracker_doubt_cgroups(&assembler->tracker);
		if (r == 0)
			r = pipeline_begin_tape(assembler, jumped ? time_ns : end_ns);
	}
	return r;
}

static struct pipeline_cpu *pipeline_get_cpu(struct pipeline *assembler, uint32_t cpu)
{
	static const struct pipeline_cpu fresh;

	if (cpu >= CPUS_MAX)
		return NULL;
	while (assembler->cpus.count <= cpu)
		if (array_push(&assembler->cpus, fresh) < 0)
			return NULL;
	return &assembler->cpus.items[cpu];
}

/*
 * The kernel tells what was lost with the first record for which there was room again: it was lost
 * between that one and the last that came before it in the same ring.
 */
static int pipeline_add_lost(struct pipeline *assembler, const struct pipeline_source *source,
			     const uint8_t *bytes, size_t size, uint64_t since_ns)
{
	struct perf_record record;

	if (perf_record_decode(source->layout, bytes, size, &record) != 0)
		return 0; /* counted as damaged in its turn */
	if (source->traced)
		return losses_events(&assembler->losses, record.cpu, since_ns, record.time_ns,
				     record.lost);
	return losses_lost(&assembler->losses, source->samples, record.cpu, since_ns,
			   record.time_ns, record.lost);
}

/* A thread on its way out keeps the CPU for a moment after its EXIT record; the kernel then calls
 * it -1. */
static void find_ended(struct pipeline *assembler, struct perf_record *record)
{
	const struct pipeline_cpu *cpu = pipeline_get_cpu(assembler, record->cpu);
	bool known = cpu && cpu->ended_ns && record->time_ns - cpu->ended_ns < EXITED_NS;

	record->pid = known ? cpu->ended_pid : 0;
	record->tid = known ? cpu->ended_tid : 0;
}

static void note_ended(struct pipeline *assembler, const struct perf_record *record)
{
	struct pipeline_cpu *cpu = pipeline_get_cpu(assembler, record->cpu);

	if (!cpu)
		return;
	cpu->ended_ns = record->time_ns;
	cpu->ended_pid = record->task.pid;
	cpu->ended_tid = record->task.tid;
}

static int take_sample(struct pipeline *assembler, struct perf_record *record,
		       const struct chain *chain)
{
	int r;

	if (mutated("hold-timers") && record->time_ns % NSEC_PER_SEC < HELD_UP_NS)
		return 0;
	if (record->tid < 0 && !assembler->options->imported)
		find_ended(assembler, record);
	losses_sample(&assembler->losses, record->cpu, record->time_ns, !record->tid);
	if (record->time_ns < assembler->started_ns)
		return 0;
	assembler->samples++;
	if (mutated("drop-sample") && assembler->samples % 8 == 0)
		return 0;
	r = tape_builder_add(&assembler->filler, record, chain);
	if (r == 1)
		losses_truncated(&assembler->losses, record->cpu != UINT32_MAX ? record->cpu : 0,
				 record->time_ns);
	return MIN(r, 0);
}

static int take_traced(struct pipeline *assembler, struct perf_record *record)
{
	int r;

	if (!assembler->options->trace || record->time_ns < assembler->started_ns)
		return 0;
	if (record->tid < 0)
		find_ended(assembler, record);
	r = trace_take(assembler->options->trace, record, &assembler->filler);
	return r == -EBADMSG ? losses_damaged(&assembler->losses, record->time_ns) : r;
}

/* When its last sample of those that were added was taken; 0: there was none. */
static uint64_t sampled_ns(struct pipeline *assembler, uint32_t number)
{
	const struct pipeline_cpu *cpu = pipeline_get_cpu(assembler, number);
	uint64_t last_ns = 0;

	for (uint32_t ring = 0; cpu && ring < PIPELINE_RINGS; ring++)
		if (assembler->options->sources[ring].samples)
			last_ns = cpu->added_ns[ring];
	return last_ns;
}

int pipeline_cpu(struct pipeline *assembler, uint32_t number, bool online, uint64_t time_ns)
{
	/* it was there for its last sample, which is newer than the last look */
	if (!online)
		time_ns = MAX(time_ns, sampled_ns(assembler, number));
	return losses_online(&assembler->losses, number, online, time_ns);
}

int pipeline_counted(struct pipeline *assembler, uint32_t number, uint64_t count, uint64_t time_ns)
{
	uint64_t since_ns = MAX(sampled_ns(assembler, number), assembler->started_ns);

	return losses_counted(&assembler->losses, number, since_ns, time_ns, count);
}

static int apply_record(struct pipeline *assembler, const struct pipeline_source *source,
			struct pipeline_expected *expected)
{
	struct perf_record *record = &expected->record;

	switch (record->type) {
	case PERF_TYPE_SAMPLE:
		return source->traced ? take_traced(assembler, record)
				      : take_sample(assembler, record, &expected->chain);
	case PERF_TYPE_THROTTLE:
	case PERF_TYPE_UNTHROTTLE:
		return losses_throttle(&assembler->losses, record);
	case PERF_TYPE_LOST:
	case PERF_TYPE_LOST_SAMPLES:
		if (source->samples)
			losses_lost_slots(&assembler->losses, record->cpu, record->lost);
		if (source->traced && !source->asked && assembler->options->trace)
			trace_lost(assembler->options->trace, record->lost, record->time_ns);
		return 0;
	case PERF_TYPE_EXIT:
		note_ended(assembler, record);
		return tracker_apply(&assembler->tracker, record);
	default:
		return tracker_apply(&assembler->tracker, record);
	}
}

/* The decoded record borrows from bytes that stay until it is applied. */
static void pipeline_prefetch(void *context, const struct reorder_entry *entry,
			      const uint8_t *bytes)
{
	struct pipeline *assembler = context;
	const struct pipeline_source *source = &assembler->options->sources[entry->source];
	struct pipeline_expected *expected =
		&assembler->expected[assembler->expected_count++ % REORDER_AHEAD];

	expected->decoded =
		perf_record_decode(source->layout, bytes, entry->size, &expected->record);
	if (expected->decoded != 0)
		return;
	/* what it was ordered by, also where its body says another */
	expected->record.time_ns = entry->time_ns;
	if (expected->record.type == PERF_TYPE_SAMPLE && !source->traced)
		tape_builder_prefetch(&assembler->filler, &expected->record, &expected->chain);
}

/* A record in its turn. */
static int pipeline_apply(void *context, const struct reorder_entry *entry, const uint8_t *bytes)
{
	struct pipeline *assembler = context;
	const struct pipeline_source *source = &assembler->options->sources[entry->source];
	struct pipeline_expected *expected =
		&assembler->expected[assembler->applied_count++ % REORDER_AHEAD];
	int r;

	(void)bytes;
	if (entry->time_ns >= assembler->tape->end_ns) {
		r = pipeline_rotate_here(assembler, entry->time_ns);
		if (r < 0)
			return r;
	}
	assembler->last_ns = MAX(assembler->last_ns, entry->time_ns);
	if (expected->decoded == -EBADMSG)
		return losses_damaged(&assembler->losses, entry->time_ns);
	return expected->decoded == 0 ? apply_record(assembler, source, expected) : 0;
}

static int pipeline_flush_here(struct pipeline *assembler, uint64_t before_ns)
{
	/* where the last time was given up, some that were expected are so again */
	assembler->expected_count = assembler->applied_count = 0;
	return reorder_flush(&assembler->timeline, before_ns, pipeline_prefetch, pipeline_apply,
			     assembler);
}

/* A lone record from another age is damaged; a second one that agrees makes it true. */
static bool pipeline_believable(struct pipeline *assembler, uint64_t time_ns)
{
	uint64_t jumped_ns = assembler->jumped_ns;

	if (time_ns >= TIME_LIMIT_NS)
		return false;
	if (!assembler->added_ns || time_ns < assembler->added_ns + JUMP_NS)
		return true;
	assembler->jumped_ns = time_ns;
	return jumped_ns && MAX(time_ns, jumped_ns) - MIN(time_ns, jumped_ns) < JUMP_NS;
}

int pipeline_add(struct pipeline *assembler, uint32_t source, const struct perf_record_place *place,
		 const uint8_t *record, size_t size)
{
	const struct pipeline_source *from = &assembler->options->sources[source];
	struct pipeline_cpu *cpu;
	uint64_t since_ns = 0;
	uint32_t type = 0;

	if (!pipeline_believable(assembler, place->time_ns))
		return losses_damaged(&assembler->losses, assembler->added_ns);
	assembler->added_ns = MAX(assembler->added_ns, place->time_ns);
	cpu = pipeline_get_cpu(assembler, place->cpu);
	if (cpu && place->time_ns) {
		since_ns = cpu->added_ns[from->ring];
		cpu->added_ns[from->ring] = place->time_ns;
	}
	if (size >= sizeof(type))
		memcpy(&type, record, sizeof(type));
	if ((type == PERF_TYPE_LOST || type == PERF_TYPE_LOST_SAMPLES) &&
	    pipeline_add_lost(assembler, from, record, size,
			      since_ns ? since_ns : assembler->started_ns) < 0)
		return -ENOMEM;
	return reorder_add(&assembler->timeline, place->time_ns, source, record, size);
}

/* Counts what was due by the last reading of the CPUs' idle time, if all samples up to that reading
 * are there. */
static int pipeline_settle(struct pipeline *assembler, uint64_t before_ns)
{
	uint64_t waiting_ns = losses_waiting(&assembler->losses);
	int r;

	if (!waiting_ns || waiting_ns > before_ns)
		return 0;
	r = pipeline_flush_here(assembler, waiting_ns);
	return r == 0 ? losses_settle(&assembler->losses) : r;
}

int pipeline_flush(struct pipeline *assembler, uint64_t before_ns)
{
	int r;

	if (!assembler->tape)
		return -ENOMEM;
	r = pipeline_settle(assembler, before_ns);
	if (r == 0)
		r = pipeline_flush_here(assembler, before_ns);
	if (assembler->last_ns > assembler->swept_ns + SWEEP_NS)
		pipeline_sweep(assembler, assembler->last_ns);
	/* without a record too: a quiet host rotates */
	return r == 0 ? pipeline_rotate_here(assembler, before_ns) : r;
}

int pipeline_rotate(struct pipeline *assembler, uint64_t at_ns)
{
	uint64_t end_ns = whole_unit(MAX(at_ns, assembler->last_ns + 1) + TAPE_TIME_UNIT_NS - 1);

	if (end_ns <= assembler->tape->begin_ns || end_ns >= assembler->tape->end_ns ||
	    mutated("ignore-rotate"))
		return 0;
	assembler->tape->end_ns = end_ns;
	return pipeline_rotate_here(assembler, end_ns);
}

int pipeline_end(struct pipeline *assembler, uint64_t end_ns, const char *why)
{
	int r = assembler->tape ? pipeline_settle(assembler, UINT64_MAX) : -ENOMEM;

	if (r == 0)
		r = pipeline_flush_here(assembler, UINT64_MAX);
	end_ns = MAX(end_ns, assembler->last_ns + 1);
	end_ns = MAX(end_ns, losses_end(&assembler->losses));
	if (r == 0 && end_ns > assembler->tape->end_ns)
		r = pipeline_rotate_here(assembler, end_ns);
	if (r == 0 && why)
		r = tape_add_fact(assembler->tape, TAPE_ENDED, why);
	if (r < 0)
		return r;
	assembler->tape->end_ns = whole_unit(end_ns + TAPE_TIME_UNIT_NS - 1);
	return pipeline_end_tape(assembler);
}
