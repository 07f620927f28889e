/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Tapes that contain every kind of data that a codec must keep; a number chooses one. Samples are
 * in the order of a decoded tape, and a segment can keep everything.
 */

#include "tests/tapes.h"

struct random_source {
	uint64_t state;
};

static inline uint64_t random_next(struct random_source *source)
{
	source->state = source->state * 6364136223846793005ull + 1442695040888963407ull;
	return hash_u64(source->state);
}

static inline uint32_t random_below(struct random_source *source, uint32_t below)
{
	return random_next(source) % below;
}

/* Returns mostly small numbers, but sometimes any number. */
static inline uint64_t random_number(struct random_source *source)
{
	return random_next(source) >> random_below(source, 64);
}

static inline uint32_t random_string(struct random_source *source, struct tape *tape,
				     const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %u\xc3\xa4\"\n", what, random_below(source, 30));
	return tapes_string(tape, random_below(source, 9) ? text : "");
}

static inline void random_modules(struct random_source *source, struct tape *tape)
{
	for (int i = 0; i < 6; i++) {
		struct tape_module module = { .path = random_string(source, tape, "/lib/module"),
					      .kind = 1 +
						      random_below(source, TAPE_MODULE_KINDS - 1),
					      .device = random_number(source),
					      .inode = random_number(source) };
		uint32_t id;

		if (random_below(source, 2)) {
			module.build_id_size = 1 + random_below(source, TAPE_BUILD_ID_MAX);
			for (int at = 0; at < module.build_id_size; at++)
				module.build_id[at] = random_next(source);
		}
		CHECK_EQ(tape_add_module(tape, &module, &id), 0);
	}
}

static inline void random_stacks(struct random_source *source, struct tape *tape)
{
	uint32_t id, count = 1 + random_below(source, 80);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = random_number(source) >> 40;
		uint64_t start = random_below(source, 8) ? random_below(source, 20) * 0x1000ull
							 : random_number(source);

		if (!random_below(source, 20))
			offset = -offset; /* an offset after the named address */
		CHECK_EQ(tape_add_frame(tape, 1 + random_below(source, tape->modules.count - 1),
					start + offset, &id),
			 0);
		tape->frames.items[id].symbol = random_string(source, tape, "function");
		tape->frames.items[id].offset = tape->frames.items[id].symbol ? offset : 0;
	}
	count = random_below(source, 300);
	for (uint32_t i = 0; i < count; i++)
		CHECK_EQ(tape_add_stack(tape,
					random_below(source, 3)
						? tape->stacks.count - 1
						: random_below(source, tape->stacks.count),
					random_below(source, tape->frames.count), &id),
			 0);
}

static inline void random_threads(struct random_source *source, struct tape *tape)
{
	uint32_t id, count = random_below(source, 2) ? 5 : 600;

	for (uint32_t i = 0; i < count; i++)
		CHECK_EQ(tape_add_thread(tape,
					 &(struct tape_thread){
						 (int32_t)random_number(source) - 1,
						 (int32_t)random_number(source) - 1,
						 random_string(source, tape, "comm"),
						 random_string(source, tape, "/sys/fs/cgroup") },
					 &id),
			 0);
}

/*
 * Adds samples of a timer with some delay, of no timer, or all at one time; with one period or
 * many.
 */
static inline void random_samples(struct random_source *source, struct tape *tape)
{
	uint32_t count = random_below(source, 1500), cpus = 1 + random_below(source, 9);
	uint64_t period = random_below(source, 4) ? TAPES_PERIOD : random_number(source);
	uint32_t times = random_below(source, 4), periods = random_below(source, 3);
	uint64_t span_us = (tape->end_ns - tape->begin_ns) / 1000;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t cpu = random_below(source, cpus), slot = random_below(source, count);
		uint64_t at_us = slot * (uint64_t)TAPES_PERIOD / 1000 + cpu * 1000 +
				 (random_number(source) >> 56);

		if (times == 1)
			at_us = random_next(source);
		if (times == 2)
			at_us = random_below(source, 3);
		if (cpu == 8)
			cpu = random_number(source);
		CHECK_EQ(array_push(&tape->samples,
				    (struct tape_sample){
					    .time_ns = tape->begin_ns + at_us % span_us * 1000,
					    .period = periods ? period : random_number(source),
					    .cpu = cpu,
					    .thread = random_below(source, tape->threads.count),
					    .stack = random_below(source, tape->stacks.count),
					    .frame = random_below(source, tape->frames.count) }),
			 0);
	}
}

static inline int random_compare(const void *a, const void *b)
{
	const struct tape_sample *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static inline struct tape_fields random_fields(struct random_source *source, struct tape *tape)
{
	struct tape_fields fields = { tape->fields.count, random_below(source, 4) };

	for (uint32_t i = 0; i < fields.count; i++)
		CHECK_EQ(array_push(&tape->fields,
				    (struct tape_fact){ random_string(source, tape, "key"),
							random_string(source, tape, "value") }),
			 0);
	return fields;
}

static inline void random_context(struct random_source *source, struct tape *tape)
{
	uint64_t time_ns = tape->begin_ns - NSEC_PER_SEC;

	for (uint32_t i = random_below(source, 20); i; i--) {
		struct tape_event event = { .time_ns = time_ns += random_number(source) >> 30,
					    .cpu = random_number(source),
					    .thread = random_below(source, tape->threads.count),
					    .name = random_string(source, tape, "event") };

		event.fields = random_fields(source, tape);
		CHECK_EQ(array_push(&tape->events, event), 0);
	}
	for (uint32_t i = random_below(source, 20); i; i--)
		CHECK_EQ(array_push(
				 &tape->lines,
				 (struct tape_line){ random_number(source), random_number(source),
						     random_number(source),
						     random_string(source, tape, "kernel: line") }),
			 0);
	for (uint32_t i = random_below(source, 5); i; i--) {
		struct tape_incident incident = { .time_ns = random_number(source),
						  .stall_ns = random_number(source),
						  .severity = random_number(source),
						  .kind = random_string(source, tape, "kind"),
						  .text = random_string(source, tape, "text"),
						  .source = random_string(source, tape, "kmsg") };

		incident.fields = random_fields(source, tape);
		CHECK_EQ(array_push(&tape->incidents, incident), 0);
	}
}

static inline void random_gauges(struct random_source *source, struct tape *tape)
{
	for (uint32_t i = random_below(source, 10); i; i--) {
		struct tape_gauge gauge = { random_string(source, tape, "cpu/user_ms"),
					    tape->points.count, random_below(source, 30) };
		uint64_t time_ns = tape->begin_ns;

		for (uint32_t at = 0; at < gauge.count; at++)
			CHECK_EQ(array_push(&tape->points,
					    (struct tape_point){ time_ns +=
								 random_number(source) >> 20,
								 (int64_t)random_number(source) }),
				 0);
		CHECK_EQ(array_push(&tape->gauges, gauge), 0);
	}
	for (uint32_t i = random_below(source, 9); i; i--)
		CHECK_EQ(array_push(&tape->losses,
				    (struct tape_loss){
					    random_number(source),
					    random_below(source, 2) ? TAPE_ALL_CPUS
								    : random_below(source, 99),
					    random_number(source), random_number(source),
					    random_number(source) }),
			 0);
}

static inline void random_usual(struct random_source *source, struct tape *tape)
{
	for (uint32_t i = random_below(source, 9); i; i--) {
		struct tape_usual row = { random_below(source, 7),
					  random_string(source, tape, "function"),
					  tape->usual_values.count, random_below(source, 9) };

		for (uint32_t at = 0; at < row.count; at++)
			CHECK_EQ(array_push(&tape->usual_values, random_number(source)), 0);
		CHECK_EQ(array_push(&tape->usual, row), 0);
	}
}

static inline struct tape *random_tape(unsigned int seed)
{
	struct random_source source = { seed };
	uint64_t begin_ns = random_number(&source) / 2000 * 1000 + 2 * NSEC_PER_SEC,
		 wall_ns = random_next(&source);
	struct tape *tape =
		tapes_bare(begin_ns, begin_ns + (1 + random_below(&source, 200)) * NSEC_PER_SEC);

	tape->sequence = random_number(&source);
	for (uint32_t i = random_below(&source, 9) + 1; i;
	     i--, begin_ns += 1 + random_below(&source, 1u << 31))
		CHECK_EQ(array_push(&tape->anchors,
				    (struct tape_anchor){ begin_ns,
							  random_below(&source, 9)
								  ? wall_ns / 4 + begin_ns / 2
								  : random_next(&source) / 2,
							  begin_ns + 5, random_number(&source),
							  random_number(&source) }),
			 0);
	random_modules(&source, tape);
	random_stacks(&source, tape);
	random_threads(&source, tape);
	random_samples(&source, tape);
	random_context(&source, tape);
	random_gauges(&source, tape);
	random_usual(&source, tape);
	if (tape->samples.count)
		qsort(tape->samples.items, tape->samples.count, sizeof(*tape->samples.items),
		      random_compare);
	return tape;
}

/* Makes a few rows of each kind. */
static inline struct tape *small_tape(void)
{
	struct tape *tape = tapes_new(0, 10);
	uint32_t thread = tapes_thread(tape, 1, 2, "x"), stack = tapes_kernel(tape, "a;b;c");
	struct tape_fields fields = { 0, 1 };

	for (unsigned int i = 0; i < 20; i++)
		tapes_sample(tape, tape->begin_ns + i * 10 * NSEC_PER_MSEC, i % 2, thread, stack);
	CHECK_EQ(array_push(&tape->losses, (struct tape_loss){ TAPE_LOSS_SAMPLES, 3, 5, 7, 9 }), 0);
	CHECK_EQ(array_push(&tape->fields, (struct tape_fact){ stack, thread }), 0);
	CHECK_EQ(array_push(&tape->events,
			    (struct tape_event){ tape->begin_ns, 1, thread, 1, fields }),
		 0);
	CHECK_EQ(array_push(&tape->lines, (struct tape_line){ tape->begin_ns, 1, 6, 2 }), 0);
	CHECK_EQ(
		array_push(&tape->incidents, (struct tape_incident){ tape->begin_ns, tape->begin_ns,
								     1, 2, 3, 1, fields }),
		0);
	CHECK_EQ(array_push(&tape->gauges, (struct tape_gauge){ 1, 0, 1 }), 0);
	CHECK_EQ(array_push(&tape->points, (struct tape_point){ tape->begin_ns, -3 }), 0);
	CHECK_EQ(array_push(&tape->usual, (struct tape_usual){ 3, 1, 0, 2 }), 0);
	CHECK_EQ(array_push(&tape->usual_values, 4), 0);
	CHECK_EQ(array_push(&tape->usual_values, 5), 0);
	return tape;
}
