// SPDX-License-Identifier: GPL-2.0-only
/* The edges of tapes that end early: each sample lies within the tape that has it. */
#include "tests/check.h"

#include <linux/perf_event.h>

#include "base/clock.h"
#include "recorder/pipeline/pipeline.h"
#include "tape/tape.h"

#define BEGIN_NS (100 * NSEC_PER_SEC)
#define SAMPLE_BYTES 32

int __wrap_sealer_put(struct sealer *sealer, struct tape *tape);

static struct {
	size_t tapes, samples;
	uint64_t end_ns;
} sealed;

/* Takes the tapes in the order in which they end. */
int __wrap_sealer_put(struct sealer *sealer, struct tape *tape)
{
	(void)sealer;
	CHECK(!sealed.tapes || tape->begin_ns == sealed.end_ns);
	for (size_t i = 0; i < tape->samples.count; i++) {
		CHECK(tape->samples.items[i].time_ns >= tape->begin_ns);
		CHECK(tape->samples.items[i].time_ns < tape->end_ns);
	}
	sealed.tapes++;
	sealed.samples += tape->samples.count;
	sealed.end_ns = tape->end_ns;
	tape_free(tape);
	return 0;
}

static void add_sample(struct pipeline *pipeline, const struct perf_layout *layout,
		       uint64_t time_ns)
{
	_cleanup_(buffer_done) struct buffer record = { 0 };
	struct perf_record_place place;

	buffer_u32(&record, PERF_TYPE_SAMPLE);
	buffer_u16(&record, PERF_MODE_USER);
	buffer_u16(&record, SAMPLE_BYTES);
	buffer_u64(&record, 0x1000);
	buffer_u32(&record, 7);
	buffer_u32(&record, 7);
	buffer_u64(&record, time_ns);
	CHECK_EQ(record.size, SAMPLE_BYTES);
	place = perf_record_place(layout, record.data, record.size);
	CHECK_EQ(place.time_ns, time_ns);
	CHECK_EQ(pipeline_add(pipeline, 0, &place, record.data, record.size), 0);
}

/* A person asks for a new segment while the last sample is at the asked moment, or just behind. */
static void test_rotation(void)
{
	static const struct perf_layout layout = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
								  PERF_SAMPLE_TIME };
	static const struct pipeline_fact facts[] = { { NULL, NULL } };
	const struct pipeline_source source = { .layout = &layout, .samples = true };
	const struct pipeline_options options = { .segment_ns = 3600 * NSEC_PER_SEC,
						  .sources = &source,
						  .facts = facts,
						  .imported = true };
	const struct tape_anchor anchor = { .perf_ns = BEGIN_NS };
	_cleanup_(pipeline_done) struct pipeline pipeline;
	uint64_t last_ns = BEGIN_NS;

	CHECK_EQ(pipeline_init(&pipeline, &options), 0);
	CHECK_EQ(pipeline_anchor(&pipeline, &anchor), 0);
	CHECK_EQ(pipeline_begin(&pipeline, BEGIN_NS), 0);
	for (unsigned int before_ns = 0; before_ns < 3; before_ns++) {
		last_ns += NSEC_PER_SEC;
		add_sample(&pipeline, &layout, last_ns);
		CHECK_EQ(pipeline_flush(&pipeline, last_ns + 1), 0);
		CHECK_EQ(pipeline_rotate(&pipeline, last_ns - before_ns), 0);
		CHECK_EQ(sealed.tapes, before_ns + 1);
		CHECK_EQ(sealed.samples, before_ns + 1);
		CHECK_EQ(sealed.end_ns, last_ns + TAPE_TIME_UNIT_NS);
	}
	CHECK_EQ(pipeline_end(&pipeline, last_ns, NULL), 0);
	CHECK_EQ(sealed.samples, 3);
}

CHECK_MAIN({ "a tape that ends early has its last sample", test_rotation })
