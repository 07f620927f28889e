// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/sample-rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/row-binary.h"
#include "tape/clocks.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)
#define MINUTES_PER_DAY 1440
/* Samples that are decoded at once. */
#define SLICE_SAMPLES 150000

static void sample_rows_put_sample(const struct sample_rows *put, const struct stack_names *names,
				   const struct tape_sample *sample, uint64_t time_ns)
{
	const struct tape *tape = names->tape;
	const struct tape_thread *thread = &tape->threads.items[sample->thread];
	struct buffer *row = batch_rows_add(put->rows, FLEET_SAMPLES);
	uint64_t stack = stack_names_hash(names, sample->stack, sample->frame);
	uint32_t minute = time_ns / MINUTE_NS, day = minute / MINUTES_PER_DAY;

	row_put_text(row, put->host);
	buffer_u32(row, minute);
	buffer_u32(row, (uint32_t)thread->tid);
	buffer_u64(row, time_ns / NSEC_PER_USEC);
	buffer_u16(row, sample->cpu);
	buffer_u64(row, stack);
	buffer_u32(row, (uint32_t)thread->pid);
	row_put_text(row, tape_string(tape, thread->comm));
	row_put_text(row, tape_string(tape, thread->cgroup));
	buffer_u64(row, sample->period);
	if (sent_stacks_add(put->sent, stack, day))
		stack_names_put(names, sample->stack, sample->frame, day, put->rows);
}

static void sample_rows_put_window(const struct sample_rows *put, const struct tape *tape,
				   const struct store_segment *segment, uint64_t from_ns,
				   uint64_t to_ns, uint64_t samples)
{
	struct buffer *row = batch_rows_add(put->rows, FLEET_WINDOWS);
	uint64_t error_ns = 0;

	tape_to_realtime(tape, tape->begin_ns, &error_ns);
	row_put_text(row, put->host);
	buffer_u64(row, from_ns / NSEC_PER_USEC);
	buffer_u64(row, (to_ns + NSEC_PER_USEC - 1) / NSEC_PER_USEC);
	row_put_text(row, segment->boot_id);
	buffer_u64(row, segment->sequence);
	buffer_u64(row, samples);
	buffer_u64(row, (error_ns + NSEC_PER_USEC - 1) / NSEC_PER_USEC);
	buffer_varint(row, tape->facts.count);
	for (size_t i = 0; i < tape->facts.count; i++)
		row_put_text(row, tape_string(tape, tape->facts.items[i].key));
	buffer_varint(row, tape->facts.count);
	for (size_t i = 0; i < tape->facts.count; i++)
		row_put_text(row, tape_string(tape, tape->facts.items[i].value));
}

static int sample_rows_put_slice(const struct sample_rows *put, const struct store_segment *segment,
				 uint64_t from_ns, uint64_t to_ns, struct error *error)
{
	const struct segment_want want = { from_ns, to_ns, SEGMENT_SAMPLES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	_cleanup_(stack_names_done) struct stack_names names = { 0 };
	uint64_t samples = 0;
	int r = store_reader_load(put->reader, segment, &want, &tape, error);

	if (r < 0)
		return r;
	r = stack_names_init(&names, tape, STACK_NAMES_LINES);
	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		uint64_t time_ns = tape_to_realtime(tape, sample->time_ns, NULL);

		/* a slice has samples of its neighbours, too */
		if (time_ns < from_ns || time_ns >= to_ns)
			continue;
		sample_rows_put_sample(put, &names, sample, time_ns);
		samples++;
		r = outbox_take(put->outbox, put->rows, false, error);
	}
	if (r < 0)
		return r;
	sample_rows_put_window(put, tape, segment, from_ns, to_ns, samples);
	return 0;
}

int sample_rows_put(const struct sample_rows *put, const struct store_segment *segment,
		    uint64_t from_ns, uint64_t to_ns, struct error *error)
{
	uint64_t begin_ns = MAX(from_ns, segment->begin_ns), slice_ns;
	uint64_t end_ns = MIN(to_ns, segment->end_ns), slices;
	int r = 0;

	if (begin_ns >= end_ns)
		return 0;
	slices = segment->samples / SLICE_SAMPLES + 1;
	/* windows are whole microseconds, so that they touch each other */
	slice_ns = ((segment->end_ns - segment->begin_ns) / slices / NSEC_PER_USEC + 1) *
		   NSEC_PER_USEC;
	for (uint64_t at = begin_ns / NSEC_PER_USEC * NSEC_PER_USEC; r == 0 && at < end_ns;
	     at += slice_ns)
		r = sample_rows_put_slice(put, segment, at, MIN(at + slice_ns, end_ns), error);
	return r;
}
