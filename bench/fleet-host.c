// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the store of a host with many CPUs from a recording of a small host at a high rate. Each of
 * the small host's CPUs deals its samples to several CPUs in turns. So all samples are different,
 * and each CPU has one as often as a recorder takes it.
 *
 *   fleet-host FROM TO [cpus=96] [segments=1] [seconds=60] [incidents=0] [seed=1]
 *
 * Every `incidents`-th segment has a reset of a network card in its middle. Threads of different
 * CPUs have different numbers. Each seed and each segment begins the recording at another moment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "store/read/store-reader.h"
#include "store/write/store-writer.h"

#define TID_STEP 50000

struct settings {
	unsigned long cpus, segments, seconds, incidents, seed;
};

/* The recorded segment, and the samples that all segments are made of. */
struct source {
	struct tape *tape;
	array_of(struct tape_sample) samples;
	uint32_t cpus;
	size_t threads;
};

static int fail(const char *what)
{
	fprintf(stderr, "fleet-host: %s\n", what);
	return 1;
}

/* Loads the segment with most samples. */
static int source_load(struct source *source, const char *path, struct error *error)
{
	const struct segment_want all = { 0, UINT64_MAX, SEGMENT_ALL, 2 };
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	size_t best = 0;
	int r = store_reader_open(path, &reader, error);

	if (r == 0)
		r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);
	for (size_t i = 0; i < segments.list.count; i++)
		if (!segments.list.items[i].unsealed &&
		    segments.list.items[i].samples > segments.list.items[best].samples)
			best = i;
	if (r == 0 && !segments.list.count)
		r = error_set(error, -ENOENT, "%s has no segments", path);
	if (r == 0)
		r = store_reader_load(reader, &segments.list.items[best], &all, &source->tape,
				      error);
	array_done(&segments.list);
	return r;
}

/* Leaves the first seconds of the recording: its samples and figures. */
static void source_shorten(struct source *source, unsigned long seconds)
{
	struct tape *tape = source->tape;

	tape->end_ns = MIN(tape->end_ns, tape->begin_ns + seconds * NSEC_PER_SEC);
	tape->losses.count = tape->events.count = tape->lines.count = tape->incidents.count = 0;
	while (tape->samples.count &&
	       tape->samples.items[tape->samples.count - 1].time_ns >= tape->end_ns)
		tape->samples.count--;
	for (size_t i = 0; i < tape->gauges.count; i++) {
		struct tape_gauge *gauge = &tape->gauges.items[i];

		while (gauge->count &&
		       tape->points.items[gauge->first + gauge->count - 1].time_ns >= tape->end_ns)
			gauge->count--;
	}
}

/* Takes the samples out of the tape, and adds the threads of all copies. */
static int source_split(struct source *source, unsigned long cpus)
{
	struct tape *tape = source->tape;
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		source->cpus = MAX(source->cpus, tape->samples.items[i].cpu + 1);
		r = array_push(&source->samples, tape->samples.items[i]);
	}
	source->threads = tape->threads.count;
	for (unsigned long copy = 1; r == 0 && copy * source->cpus < cpus; copy++)
		for (size_t i = 0; r == 0 && i < source->threads; i++) {
			struct tape_thread thread = tape->threads.items[i];

			/* the idle thread is the same on all CPUs */
			thread.pid += thread.pid > 0 ? copy * TID_STEP : 0;
			thread.tid += thread.tid > 0 ? copy * TID_STEP : 0;
			r = array_push(&tape->threads, thread);
		}
	return r;
}

/* Deals the samples of the recording from a moment on, and then those before it. */
static int source_deal(struct source *source, unsigned long cpus, uint64_t from_ns)
{
	struct tape *tape = source->tape;
	uint64_t length_ns = tape->end_ns - tape->begin_ns;
	unsigned long copies = cpus / source->cpus, *dealt;
	int r = 0;

	dealt = calloc(source->cpus, sizeof(*dealt));
	if (!dealt)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < source->samples.count; i++) {
		struct tape_sample sample = source->samples.items[i];
		unsigned long copy = dealt[sample.cpu]++ % copies;
		uint64_t at_ns = sample.time_ns - tape->begin_ns + length_ns - from_ns;

		sample.time_ns =
			tape->begin_ns + at_ns % length_ns / TAPE_TIME_UNIT_NS * TAPE_TIME_UNIT_NS;
		sample.cpu += copy * source->cpus;
		sample.thread += copy * source->threads;
		r = array_push(&tape->samples, sample);
	}
	free(dealt);
	return r;
}

static int add_text(struct tape *tape, const char *text, uint32_t *ret_id)
{
	return strings_add(&tape->strings, text, strlen(text), ret_id);
}

static int add_incident(struct tape *tape)
{
	uint64_t time_ns = tape->begin_ns + (tape->end_ns - tape->begin_ns) / 2;
	struct tape_incident incident = { .time_ns = time_ns, .stall_ns = time_ns, .severity = 4 };
	int r = add_text(tape, "ena.reset", &incident.kind);

	if (r == 0)
		r = add_text(tape, "ena 0000:00:05.0 eth0: Trigger reset is on", &incident.text);
	if (r == 0)
		r = add_text(tape, "kmsg", &incident.source);
	return r == 0 ? array_push(&tape->incidents, incident) : r;
}

/* Moves the wall clock, so that the segment begins at a moment. */
static void move_anchors(struct tape *tape, uint64_t begin_ns)
{
	uint64_t by_ns = begin_ns - tape_to_realtime(tape, tape->begin_ns, NULL);

	for (size_t i = 0; i < tape->anchors.count; i++)
		tape->anchors.items[i].realtime_ns += by_ns;
}

static int write_segment(struct source *source, const struct settings *settings,
			 unsigned long number, uint64_t begin_ns, struct store_writer *writer,
			 struct error *error)
{
	struct tape *tape = source->tape;
	uint64_t length_ns = tape->end_ns - tape->begin_ns;
	uint64_t bytes;
	int r;

	tape->samples.count = 0;
	tape->incidents.count = 0;
	tape->sequence = store_writer_number(writer);
	move_anchors(tape, begin_ns + number * length_ns);
	r = source_deal(source, settings->cpus,
			hash_u64(settings->seed << 40 ^ number) % length_ns);
	if (r == 0 && settings->incidents && number % settings->incidents == 0)
		r = add_incident(tape);
	if (r == 0)
		r = store_writer_seal(writer, tape, SEGMENT_USUAL, &bytes, error);
	return r;
}

static int write_store(struct source *source, const struct settings *settings, const char *path,
		       struct error *error)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	uint64_t length_ns = source->tape->end_ns - source->tape->begin_ns;
	uint64_t begin_ns = clock_ns(CLOCK_REALTIME) - (settings->segments + 1) * length_ns;
	int r = store_writer_open(path, &writer, error);

	/* whole minutes, so that all hosts begin theirs together */
	begin_ns -= begin_ns % (60 * NSEC_PER_SEC);
	if (r == 0)
		r = tape_set_fact(source->tape, "boot_id", "");
	for (unsigned long i = 0; r >= 0 && i < settings->segments; i++)
		r = write_segment(source, settings, i, begin_ns, writer, error);
	return r;
}

static bool set(struct settings *settings, const char *word)
{
	const struct {
		const char *name;
		unsigned long *number;
	} names[] = {
		{ "cpus=", &settings->cpus },	    { "segments=", &settings->segments },
		{ "seconds=", &settings->seconds }, { "incidents=", &settings->incidents },
		{ "seed=", &settings->seed },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(word, names[i].name, strlen(names[i].name)) == 0) {
			*names[i].number = strtoul(word + strlen(names[i].name), NULL, 10);
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	struct settings settings = { .cpus = 96, .segments = 1, .seconds = 60, .seed = 1 };
	struct source source = { 0 };
	struct error error = { 0 };
	int r;

	for (int i = 3; i < argc; i++)
		if (!set(&settings, argv[i]))
			argc = 0;
	if (argc < 3)
		return fail(
			"usage: FROM TO [cpus=N] [segments=N] [seconds=N] [incidents=N] [seed=N]");
	r = source_load(&source, argv[1], &error);
	if (r == 0)
		source_shorten(&source, settings.seconds);
	if (r == 0)
		r = source_split(&source, settings.cpus);
	if (r == 0)
		r = write_store(&source, &settings, argv[2], &error);
	array_done(&source.samples);
	tape_free(source.tape);
	return r < 0 ? fail(*error.text ? error.text : strerror(-r)) : 0;
}
