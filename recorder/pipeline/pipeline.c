// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/pipeline/pipeline.h"

#include <assert.h>

#include "base/clock.h"
#include "base/mutation.h"
#include "recorder/pipeline/pipeline-internal.h"

/*
 * Invariants:
 * (1) the pipeline applies records in time order, except a record that comes after a flush up to a
 *     later time;
 * (2) the samples of a tape lie before tape.end. The next tape begins where this one ends, unless
 *     time jumped. A late sample may lie before tape.begin; the encoder then moves the begin of the
 *     tape to that sample;
 * (3) pipeline_add() adds a loss when its LOST record comes, before any record of that time is
 *     applied. So each tape gets its share before the next block goes to the spool;
 * (4) `anchors` holds the last anchor at or before the begin of the present tape, if it exists, and
 *     all later anchors. The tape has these anchors, too.
 */

/* The kernel samples a thread for a moment after its EXIT record. */
#define EXITED_NS (5 * NSEC_PER_SEC)

/*
 * If 1,000 processes end per second, their state takes a megabyte in some seconds. Do not keep it
 * for the length of a tape.
 */
#define SWEEP_NS (10 * NSEC_PER_SEC)

/* 146 years: a greater time is damaged, and sums with such a time would overflow. */
#define TIME_LIMIT_NS (1ull << 62)

/* A gap longer than a day was not recorded. A single record beyond it is damaged. */
#define JUMP_NS (24 * 3600 * NSEC_PER_SEC)

/* A greater CPU number comes from damaged bytes. */
#define CPUS_MAX 65536

/* Bytes of stacks, frames and names of a tape: twice the usual size for two minutes of 400 CPUs. */
#define DETAIL_MAX (24u << 20)

int pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options)
{
	*pipeline = (struct pipeline){ .options = options };
	if (tape_builder_init(&pipeline->builder, &pipeline->tracker) < 0)
		return -ENOMEM;
	return tracker_init(&pipeline->tracker);
}

void pipeline_done(struct pipeline *pipeline)
{
	tape_free(pipeline->tape);
	tape_builder_done(&pipeline->builder);
	reorder_done(&pipeline->reorder);
	tracker_done(&pipeline->tracker);
	array_done(&pipeline->anchors);
	array_done(&pipeline->cpus);
	losses_done(&pipeline->losses);
	spool_mark_done(&pipeline->spooled);
}

const struct tape_anchor *pipeline_last_anchor(const struct pipeline *pipeline)
{
	if (!pipeline->anchors.count)
		return NULL;
	return &pipeline->anchors.items[pipeline->anchors.count - 1];
}

int pipeline_anchor(struct pipeline *pipeline, const struct tape_anchor *anchor)
{
	const struct tape_anchor *last = pipeline_last_anchor(pipeline);

	if (last && last->perf_ns >= anchor->perf_ns)
		return 0;
	if (pipeline->tape && array_push(&pipeline->tape->anchors, *anchor) < 0)
		return -ENOMEM;
	return array_push(&pipeline->anchors, *anchor);
}

uint64_t pipeline_wall(const struct pipeline *pipeline, uint64_t perf_ns)
{
	const struct tape_anchor *last = pipeline_last_anchor(pipeline);

	return perf_ns + (last->realtime_ns - last->perf_ns);
}

/*
 * Returns the perf time of the next wall-clock multiple of the segment's length. Passes over a
 * multiple that is nearer than a tenth of the length. That multiple is the begin of this segment,
 * by a clock that differs by nanoseconds, or it would make the segment too short.
 */
static uint64_t pipeline_next_end(const struct pipeline *pipeline, uint64_t begin_ns)
{
	uint64_t segment_ns = pipeline->options->segment_ns;
	uint64_t left_ns = segment_ns - pipeline_wall(pipeline, begin_ns) % segment_ns;

	return begin_ns + left_ns + (left_ns < segment_ns / 10 ? segment_ns : 0);
}

/* Tapes begin and end at multiples of the time unit of their samples. */
static uint64_t pipeline_round_down(uint64_t time_ns)
{
	return time_ns - time_ns % TAPE_TIME_UNIT_NS;
}

/*
 * A tape also gets the last anchor before its begin, so that its first block alone determines the
 * wall clock.
 */
static int pipeline_add_anchors(struct pipeline *pipeline, struct tape *tape)
{
	size_t first = 0;

	for (size_t i = 0; i < pipeline->anchors.count; i++)
		if (pipeline->anchors.items[i].perf_ns <= tape->begin_ns)
			first = i;
	pipeline->anchors.count -= first;
	memmove(pipeline->anchors.items, pipeline->anchors.items + first,
		pipeline->anchors.count * sizeof(*pipeline->anchors.items));
	for (size_t i = 0; i < pipeline->anchors.count; i++)
		if (array_push(&tape->anchors, pipeline->anchors.items[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int pipeline_begin_tape(struct pipeline *pipeline, uint64_t begin_ns)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	const struct pipeline_fact *fact;
	int r = tape_new(&tape);

	if (r < 0)
		return r;
	for (fact = pipeline->options->facts; r == 0 && fact->key; fact++)
		r = tape_add_fact(tape, fact->key, fact->value);
	if (r < 0)
		return r;
	tape->begin_ns = pipeline_round_down(begin_ns);
	tape->end_ns = pipeline_round_down(pipeline_next_end(pipeline, begin_ns));
	r = pipeline_add_anchors(pipeline, tape);
	if (r < 0)
		return r;
	tape->sequence = pipeline->options->imported
				 ? pipeline->sequence++
				 : sealer_next_number(pipeline->options->sealer);
	pipeline->tape = take_ptr(tape);
	spool_mark_done(&pipeline->spooled);
	pipeline->spooled = (struct spool_mark){ 0 };
	tape_builder_start(&pipeline->builder, pipeline->tape);
	return 0;
}

int pipeline_begin(struct pipeline *pipeline, uint64_t begin_ns)
{
	pipeline->started_ns = pipeline->options->imported ? 0 : begin_ns;
	pipeline->last_ns = begin_ns;
	losses_begin(&pipeline->losses, pipeline->started_ns);
	pipeline->losses.period_ns = pipeline->options->period_ns;
	return pipeline_begin_tape(pipeline, begin_ns);
}

/*
 * Spools the rows that were added to the tape since the last block, unless earlier blocks wait for
 * the disk.
 */
static int pipeline_spool_block(struct pipeline *pipeline, uint64_t until_ns)
{
	struct spool_block block = { 0 };
	int r;

	if (pipeline->options->imported || !sealer_has_room(pipeline->options->sealer))
		return 0;
	if (mutated("spool-late") && until_ns / NSEC_PER_SEC % 10 != 0)
		return 0;
	r = spool_encode(pipeline->tape, &pipeline->spooled,
			 MAX(until_ns, pipeline->tape->begin_ns), &block);
	if (r < 0) {
		spool_block_done(&block);
		/*
		 * The spooler could not write, and by now the rest of the tape exceeds a block.
		 * That rest waits in memory.
		 */
		return r == -EFBIG ? 0 : r;
	}
	return sealer_put_block(pipeline->options->sealer, &block);
}

/* Adds the counts of trace events to the tape. */
static int pipeline_flush_trace(struct pipeline *pipeline, uint64_t until_ns, bool last)
{
	struct trace *trace = pipeline->options->trace;

	return trace ? trace_give(trace, pipeline->tape, &pipeline->losses, until_ns, last) : 0;
}

int pipeline_spool(struct pipeline *pipeline, uint64_t until_ns)
{
	int r = pipeline_flush_trace(pipeline, MIN(until_ns, pipeline->tape->end_ns), false);

	if (r < 0)
		return r;
	r = losses_move_to_tape(&pipeline->losses, pipeline->tape,
				MIN(until_ns, pipeline->tape->end_ns));
	if (r < 0)
		return r;
	return pipeline_spool_block(pipeline, until_ns);
}

/*
 * Ends the tape and gives it to the sealer. Also spools the last block, because the recorder may
 * crash before the tape is sealed.
 */
static int pipeline_end_tape(struct pipeline *pipeline)
{
	int r = pipeline_flush_trace(pipeline, pipeline->tape->end_ns, true);

	if (r < 0)
		return r;
	r = losses_move_to_tape(&pipeline->losses, pipeline->tape, pipeline->tape->end_ns);
	if (r < 0)
		return r;
	r = pipeline_add_blame(pipeline);
	if (r < 0)
		return r;
	r = pipeline_spool_block(pipeline, pipeline->tape->end_ns);
	if (mutated("rotation-drops-samples"))
		pipeline->tape->samples.count -= pipeline->tape->samples.count / 4;
	tape_freeze(pipeline->tape);
	if (r < 0)
		return r;
	return sealer_put(pipeline->options->sealer, take_ptr(pipeline->tape));
}

/*
 * Returns the longest time without a record that counts as recorded. The recorder knows whether it
 * ran. For an imported file, the time is a guess. Without it, two records with hours between them
 * would fill the store with empty segments.
 */
static uint64_t pipeline_max_quiet_ns(const struct pipeline *pipeline)
{
	return pipeline->options->imported ? 10 * pipeline->options->segment_ns : JUMP_NS;
}

static void pipeline_sweep(struct pipeline *pipeline, uint64_t time_ns)
{
	pipeline->swept_ns = time_ns;
	tracker_sweep(&pipeline->tracker, time_ns - MIN(time_ns, EXITED_NS));
}

/*
 * Ends tapes until the present one reaches beyond a moment. If time jumped, the tape ends with its
 * last record.
 */
int pipeline_rotate_until(struct pipeline *pipeline, uint64_t time_ns)
{
	int r = 0;

	while (r == 0 && time_ns >= pipeline->tape->end_ns) {
		bool jumped = time_ns - pipeline->last_ns > pipeline_max_quiet_ns(pipeline);
		uint64_t end_ns = pipeline->tape->end_ns;

		if (jumped)
			pipeline->tape->end_ns = pipeline_round_down(MAX(pipeline->tape->begin_ns,
									 pipeline->last_ns)) +
						 TAPE_TIME_UNIT_NS;
		r = pipeline_end_tape(pipeline);
		pipeline_sweep(pipeline, end_ns);
		tracker_expire_cgroups(&pipeline->tracker);
		if (r < 0)
			return r;
		r = pipeline_begin_tape(pipeline, jumped ? time_ns : end_ns);
	}
	return r;
}

struct pipeline_cpu *pipeline_get_cpu(struct pipeline *pipeline, uint32_t cpu)
{
	static const struct pipeline_cpu fresh;

	if (cpu >= CPUS_MAX)
		return NULL;
	while (pipeline->cpus.count <= cpu)
		if (array_push(&pipeline->cpus, fresh) < 0)
			return NULL;
	return &pipeline->cpus.items[cpu];
}

/*
 * The kernel reports a loss with the first record that fits again. The loss lies between that
 * record and the one before it in the ring.
 */
static int pipeline_add_lost(struct pipeline *pipeline, const struct pipeline_source *source,
			     const uint8_t *bytes, size_t size, uint64_t since_ns)
{
	struct perf_record record;

	if (perf_record_decode(source->layout, bytes, size, &record) != 0)
		return 0; /* pipeline_apply() counts it as damaged */
	if (source->traced)
		return losses_events(&pipeline->losses, record.cpu, since_ns, record.time_ns,
				     record.lost);
	return losses_lost(&pipeline->losses, source->samples, record.cpu, since_ns, record.time_ns,
			   record.lost);
}

/* Returns the time of the last added record in a CPU's ring of samples; 0: none. */
static uint64_t pipeline_last_sample_ns(struct pipeline *pipeline, uint32_t number)
{
	const struct pipeline_cpu *cpu = pipeline_get_cpu(pipeline, number);
	uint64_t last_ns = 0;

	for (uint32_t ring = 0; cpu && ring < PIPELINE_RINGS; ring++)
		if (pipeline->options->sources[ring].samples)
			last_ns = cpu->added_ns[ring];
	return last_ns;
}

int pipeline_cpu(struct pipeline *pipeline, uint32_t number, bool online, uint64_t time_ns)
{
	/* The CPU's last sample may be newer than the last check of online CPUs. */
	if (!online)
		time_ns = MAX(time_ns, pipeline_last_sample_ns(pipeline, number));
	return losses_online(&pipeline->losses, number, online, time_ns);
}

int pipeline_counted(struct pipeline *pipeline, uint32_t number, uint64_t count, uint64_t time_ns)
{
	uint64_t since_ns = MAX(pipeline_last_sample_ns(pipeline, number), pipeline->started_ns);

	return losses_counted(&pipeline->losses, number, since_ns, time_ns, count);
}

/*
 * Returns false for a single record far from the others, which is damaged. A second record near the
 * first one confirms a jump of time.
 */
static bool pipeline_check_time(struct pipeline *pipeline, uint64_t time_ns)
{
	uint64_t jumped_ns = pipeline->jumped_ns;

	if (time_ns >= TIME_LIMIT_NS)
		return false;
	if (!pipeline->added_ns || time_ns < pipeline->added_ns + JUMP_NS)
		return true;
	pipeline->jumped_ns = time_ns;
	return jumped_ns && MAX(time_ns, jumped_ns) - MIN(time_ns, jumped_ns) < JUMP_NS;
}

int pipeline_add(struct pipeline *pipeline, uint32_t source, const struct perf_record_place *place,
		 const uint8_t *record, size_t size)
{
	const struct pipeline_source *from = &pipeline->options->sources[source];
	struct pipeline_cpu *cpu;
	uint64_t since_ns = 0;
	uint32_t type = 0;

	if (!pipeline_check_time(pipeline, place->time_ns))
		return losses_damaged(&pipeline->losses, pipeline->added_ns);
	pipeline->added_ns = MAX(pipeline->added_ns, place->time_ns);
	cpu = pipeline_get_cpu(pipeline, place->cpu);
	if (cpu && place->time_ns) {
		since_ns = cpu->added_ns[from->ring];
		cpu->added_ns[from->ring] = place->time_ns;
	}
	if (size >= sizeof(type))
		memcpy(&type, record, sizeof(type));
	if ((type == PERF_TYPE_LOST || type == PERF_TYPE_LOST_SAMPLES) &&
	    pipeline_add_lost(pipeline, from, record, size,
			      since_ns ? since_ns : pipeline->started_ns) < 0)
		return -ENOMEM;
	return reorder_add(&pipeline->reorder, place->time_ns, source, record, size);
}

/*
 * If all samples up to the last reading of idle times were added, applies them and counts the
 * skipped samples among them.
 */
static int pipeline_settle(struct pipeline *pipeline, uint64_t before_ns)
{
	uint64_t waiting_ns = losses_settle_at(&pipeline->losses);
	int r;

	if (!waiting_ns || waiting_ns > before_ns)
		return 0;
	r = pipeline_apply_before(pipeline, waiting_ns);
	if (r < 0)
		return r;
	return losses_settle(&pipeline->losses);
}

int pipeline_rotate(struct pipeline *pipeline, uint64_t at_ns)
{
	uint64_t end_ns =
		pipeline_round_down(MAX(at_ns, pipeline->last_ns + 1) + TAPE_TIME_UNIT_NS - 1);

	if (end_ns <= pipeline->tape->begin_ns || end_ns >= pipeline->tape->end_ns ||
	    mutated("ignore-rotate"))
		return 0;
	pipeline->tape->end_ns = end_ns;
	return pipeline_rotate_until(pipeline, end_ns);
}

/* Ends the tape early if processes have filled it with too much detail. */
static int pipeline_rotate_large(struct pipeline *pipeline, uint64_t before_ns)
{
	if (pipeline->options->imported || tape_detail(pipeline->tape) < DETAIL_MAX)
		return 0;
	return pipeline_rotate(pipeline, before_ns);
}

int pipeline_flush(struct pipeline *pipeline, uint64_t before_ns)
{
	int r;

	if (!pipeline->tape)
		return -ENOMEM;
	r = pipeline_settle(pipeline, before_ns);
	if (r < 0)
		return r;
	r = pipeline_apply_before(pipeline, before_ns);
	if (pipeline->last_ns > pipeline->swept_ns + SWEEP_NS)
		pipeline_sweep(pipeline, pipeline->last_ns);
	/* Also end the tapes of a quiet host on time, where no record comes that would end them. */
	if (r < 0)
		return r;
	r = pipeline_rotate_until(pipeline, before_ns);
	if (r < 0)
		return r;
	r = pipeline_renew(pipeline, before_ns);
	return r < 0 ? r : pipeline_rotate_large(pipeline, before_ns);
}

int pipeline_end(struct pipeline *pipeline, uint64_t end_ns, const char *why)
{
	int r = pipeline->tape ? pipeline_settle(pipeline, UINT64_MAX) : -ENOMEM;

	if (r < 0)
		return r;
	r = pipeline_apply_before(pipeline, UINT64_MAX);
	if (r < 0)
		return r;
	end_ns = MAX(end_ns, pipeline->last_ns + 1);
	end_ns = MAX(end_ns, losses_end(&pipeline->losses));
	if (end_ns > pipeline->tape->end_ns)
		r = pipeline_rotate_until(pipeline, end_ns);
	if (r < 0)
		return r;
	if (why)
		r = tape_add_fact(pipeline->tape, TAPE_ENDED, why);
	if (r < 0)
		return r;
	pipeline->tape->end_ns = pipeline_round_down(end_ns + TAPE_TIME_UNIT_NS - 1);
	return pipeline_end_tape(pipeline);
}
