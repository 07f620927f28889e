// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/assembler.h"

#include "base/clock.h"

/*
 * Invariants:
 * (1) records are applied in time order, but for those that are added later than a flush beyond their time;
 * (2) tape.begin <= time of each of its samples < tape.end; the next tape begins where this one ends, unless time jumped;
 * (3) `anchors` holds one at or before the begin of the tape at hand, where there was one, and all since.
 */

/* The kernel samples a thread for a moment after its EXIT record. */
#define EXITED_NS (5 * NSEC_PER_SEC)

/* Beyond any clock: 146 years. Times from there are damage, and sums with them would overflow. */
#define TIME_LIMIT_NS (1ull << 62)

/* No recorder sleeps that long: what lies between was not recorded, or one of the times is damaged. */
#define JUMP_NS (24 * 3600 * NSEC_PER_SEC)

int assembler_init(struct assembler *assembler, const struct assembler_options *options)
{
	*assembler = (struct assembler){ .options = options };
	filler_init(&assembler->filler, &assembler->tracker);
	return tracker_init(&assembler->tracker);
}

void assembler_done(struct assembler *assembler)
{
	tape_free(assembler->tape);
	filler_done(&assembler->filler);
	timeline_done(&assembler->timeline);
	tracker_done(&assembler->tracker);
	array_done(&assembler->anchors);
}

const struct tape_anchor *assembler_last_anchor(const struct assembler *assembler)
{
	if (!assembler->anchors.count)
		return NULL;
	return &assembler->anchors.items[assembler->anchors.count - 1];
}

int assembler_anchor(struct assembler *assembler, const struct tape_anchor *anchor)
{
	const struct tape_anchor *last = assembler_last_anchor(assembler);

	if (last && last->perf_ns >= anchor->perf_ns)
		return 0;
	return array_push(&assembler->anchors, *anchor);
}

uint64_t assembler_wall(const struct assembler *assembler, uint64_t perf_ns)
{
	const struct tape_anchor *last = assembler_last_anchor(assembler);

	return perf_ns + (last->realtime_ns - last->perf_ns);
}

/*
 * The perf time of the next wall-clock multiple of the segment's length. One that is nearer than a tenth of it is passed over: it
 * is the one at which this segment begins, seen a few nanoseconds early, or would give a segment not worth a file.
 */
static uint64_t next_end(const struct assembler *assembler, uint64_t begin_ns)
{
	uint64_t segment_ns = assembler->options->segment_ns;
	uint64_t left_ns = segment_ns - assembler_wall(assembler, begin_ns) % segment_ns;

	return begin_ns + left_ns + (left_ns < segment_ns / 10 ? segment_ns : 0);
}

static int begin_tape(struct assembler *assembler, uint64_t begin_ns)
{
	const struct assembler_fact *fact;
	int r = tape_new(&assembler->tape);

	if (r < 0)
		return r;
	assembler->tape->begin_ns = begin_ns;
	assembler->tape->end_ns = next_end(assembler, begin_ns);
	filler_start(&assembler->filler, assembler->tape);
	for (fact = assembler->options->facts; r == 0 && fact->key; fact++)
		r = tape_add_fact(assembler->tape, fact->key, fact->value);
	return r;
}

int assembler_begin(struct assembler *assembler, uint64_t begin_ns)
{
	assembler->started_ns = assembler->last_ns = begin_ns;
	return begin_tape(assembler, begin_ns);
}

/* Gives the tape its anchors, and keeps those that the next one needs. */
static int give_anchors(struct assembler *assembler)
{
	size_t first = 0;

	for (size_t i = 0; i < assembler->anchors.count; i++) {
		if (array_push(&assembler->tape->anchors, assembler->anchors.items[i]) < 0)
			return -ENOMEM;
		if (assembler->anchors.items[i].perf_ns <= assembler->tape->end_ns)
			first = i;
	}
	assembler->anchors.count -= first;
	memmove(assembler->anchors.items, assembler->anchors.items + first,
		assembler->anchors.count * sizeof(*assembler->anchors.items));
	return 0;
}

static int end_tape(struct assembler *assembler)
{
	_cleanup_free_ int32_t *pids = take_ptr(assembler->filler.pids.items);
	size_t pid_count = assembler->filler.pids.count;
	int r;

	assembler->filler.pids.count = assembler->filler.pids.capacity = 0;
	r = give_anchors(assembler);
	if (r < 0)
		return r;
	return sealer_put(
		assembler->options->sealer, take_ptr(assembler->tape), take_ptr(pids), pid_count);
}

/* Ends tapes until the one at hand reaches beyond a moment. Where time jumped, the tape ends with its last record. */
static int rotate(struct assembler *assembler, uint64_t time_ns)
{
	int r = 0;

	while (r == 0 && time_ns >= assembler->tape->end_ns) {
		bool jumped = time_ns - assembler->last_ns > JUMP_NS;
		uint64_t end_ns = assembler->tape->end_ns;

		if (jumped)
			assembler->tape->end_ns =
				MAX(assembler->tape->begin_ns, assembler->last_ns) + 1;
		r = end_tape(assembler);
		if (r == 0)
			r = begin_tape(assembler, jumped ? time_ns : end_ns);
		tracker_sweep(&assembler->tracker, end_ns - MIN(end_ns, EXITED_NS));
	}
	return r;
}

static int add_loss(struct assembler *assembler, enum tape_loss_kind kind,
	const struct perf_record *record, uint64_t count)
{
	struct tape_loss loss = {
		.kind = kind,
		.cpu = record->cpu,
		.from_ns = MAX(record->time_ns, assembler->tape->begin_ns),
		.count = count,
	};

	loss.to_ns = loss.from_ns + 1;
	return array_push(&assembler->tape->losses, loss);
}

static int lose(struct assembler *assembler, bool samples, const struct perf_record *record)
{
	struct assembler_counts *counts = &assembler->counts;

	*(samples ? &counts->lost : &counts->lost_sideband) += record->lost;
	return add_loss(
		assembler, samples ? TAPE_LOSS_SAMPLES : TAPE_LOSS_SIDEBAND, record, record->lost);
}

static int take_sample(struct assembler *assembler, const struct perf_record *record)
{
	if (record->time_ns < assembler->started_ns)
		return 0;
	/* one that settled late: the tape before is sealed, so this one reaches back for it */
	assembler->tape->begin_ns = MIN(assembler->tape->begin_ns, record->time_ns);
	assembler->counts.samples++;
	return filler_add(&assembler->filler, record);
}

static int apply_record(struct assembler *assembler, bool samples, const struct perf_record *record)
{
	switch (record->type) {
	case PERF_TYPE_SAMPLE:
		return take_sample(assembler, record);
	case PERF_TYPE_LOST:
	case PERF_TYPE_LOST_SAMPLES:
		return lose(assembler, samples, record);
	case PERF_TYPE_THROTTLE:
		return add_loss(assembler, TAPE_LOSS_THROTTLED, record, 1);
	default:
		return tracker_apply(&assembler->tracker, record);
	}
}

/* A record in its turn. */
static int apply(void *context, const struct timeline_entry *entry, const uint8_t *bytes)
{
	struct assembler *assembler = context;
	const struct assembler_source *source = &assembler->options->sources[entry->source];
	struct perf_record record;
	int r = perf_record_decode(source->layout, bytes, entry->size, &record), rotated;

	if (r == -EBADMSG)
		record = (struct perf_record){ .cpu = TAPE_ALL_CPUS };
	record.time_ns =
		entry->time_ns; /* what it was ordered by, also where its body says another */
	if (record.time_ns >= assembler->tape->end_ns) {
		rotated = rotate(assembler, record.time_ns);
		if (rotated < 0)
			return rotated;
	}
	assembler->last_ns = MAX(assembler->last_ns, record.time_ns);
	if (r == -EBADMSG) {
		assembler->counts.damaged++;
		return add_loss(assembler, TAPE_LOSS_DAMAGED, &record, 1);
	}
	return r == 0 ? apply_record(assembler, source->samples, &record) : 0;
}

int assembler_add(struct assembler *assembler, uint32_t source, const uint8_t *record, size_t size)
{
	const struct perf_layout *layout = assembler->options->sources[source].layout;
	uint64_t time_ns = perf_record_time(layout, record, size);

	if (time_ns >= TIME_LIMIT_NS) {
		assembler->counts.damaged++;
		return assembler->tape ? add_loss(assembler, TAPE_LOSS_DAMAGED,
						 &(struct perf_record){ .cpu = TAPE_ALL_CPUS }, 1)
				       : 0;
	}
	return timeline_add(&assembler->timeline, time_ns, source, record, size);
}

int assembler_flush(struct assembler *assembler, uint64_t before_ns)
{
	int r = timeline_flush(&assembler->timeline, before_ns, apply, assembler);

	/* without a record too: a quiet host rotates */
	return r == 0 ? rotate(assembler, before_ns) : r;
}

int assembler_end(struct assembler *assembler, uint64_t end_ns)
{
	int r = timeline_flush(&assembler->timeline, UINT64_MAX, apply, assembler);

	end_ns = MAX(end_ns, assembler->last_ns + 1);
	if (r == 0 && end_ns > assembler->tape->end_ns)
		r = rotate(assembler, end_ns);
	if (r < 0)
		return r;
	assembler->tape->end_ns = end_ns;
	return end_tape(assembler);
}
