// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the cost of a sample from the ring to the tape. Takes records as the kernel writes them,
 * from 448 CPUs, with 24 frames and 80,000 different stacks. Decodes, sorts, attributes and interns
 * them, one second of all CPUs at a time, as the drain does.
 *
 *   bench-intern [SECONDS]     (of the recording, default 60)
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "recorder/pipeline/pipeline.h"

#define CPUS 448
#define FREQUENCY 97
#define FRAMES 24
#define STACKS 80000
#define PROCESSES 400
#define WARM_SECONDS 10
#define START_NS (1000 * NSEC_PER_SEC)
#define TEXT_START 0x400000ull

/* The sample format that perf_attr_samples() requests. */
#define SAMPLE_TYPE                                                              \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t period;
	uint64_t count;
	uint64_t chain[FRAMES + 1];
};

struct bench {
	struct perf_layout layout;
	struct pipeline_source source;
	struct pipeline_options options;
	struct pipeline pipeline;
	/*
	 * the records of all stacks; drain_cpu() sets the CPU and the time of a record before each
	 * use
	 */
	struct sample *stacks;
	uint64_t random;
};

static const struct pipeline_fact facts[] = { { "host", "bench" }, { 0 } };

static uint32_t pick(struct bench *bench, uint32_t below)
{
	bench->random = bench->random * 6364136223846793005ull + 1442695040888963407ull;
	return (bench->random >> 33) % below;
}

/* Many stacks share the outer frames, few share the inner ones. */
static void make_stack(struct bench *bench, struct sample *sample, uint32_t number)
{
	*sample = (struct sample){
		.header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(*sample) },
		.pid = 1000 + number % PROCESSES,
		.tid = 1000 + number % PROCESSES,
		.period = NSEC_PER_SEC / FREQUENCY,
		.count = FRAMES + 1,
	};
	sample->chain[0] = PERF_CONTEXT_USER;
	for (int i = 1; i <= FRAMES; i++)
		sample->chain[i] = TEXT_START + i * 65536 +
				   (hash_u64(number >> (i * 17 / FRAMES)) & 0xfff) * 16;
	sample->ip = sample->chain[1];
}

static int start_process(struct bench *bench, int32_t pid)
{
	struct perf_record comm = { .type = PERF_TYPE_COMM };
	struct perf_record map = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };
	char name[16], path[64];
	int r;

	snprintf(name, sizeof(name), "worker-%d", pid);
	snprintf(path, sizeof(path), "/usr/bin/worker-%d", pid % 40);
	comm.comm.pid = comm.comm.tid = map.mmap.pid = map.mmap.tid = pid;
	comm.comm.comm = name;
	map.mmap.start = TEXT_START;
	map.mmap.size = 64 << 20;
	map.mmap.path = path;
	r = tracker_apply(&bench->pipeline.tracker, &comm);
	return r == 0 ? tracker_apply(&bench->pipeline.tracker, &map) : r;
}

static int prepare(struct bench *bench)
{
	struct tape_anchor anchor = { START_NS, START_NS, START_NS, START_NS, 1 };
	int r;

	bench->layout = (struct perf_layout){ .sample_type = SAMPLE_TYPE, .sample_id_all = true };
	bench->source = (struct pipeline_source){ .layout = &bench->layout, .samples = true };
	/* without a store, the tape must never end */
	bench->options = (struct pipeline_options){
		.segment_ns = 24 * 3600 * NSEC_PER_SEC,
		.sources = &bench->source,
		.facts = facts,
		.period_ns = NSEC_PER_SEC / FREQUENCY,
		.imported = true,
	};
	bench->stacks = calloc(STACKS, sizeof(*bench->stacks));
	r = bench->stacks ? pipeline_init(&bench->pipeline, &bench->options) : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < STACKS; i++)
		make_stack(bench, &bench->stacks[i], i);
	for (int i = 0; r == 0 && i < PROCESSES; i++)
		r = start_process(bench, 1000 + i);
	if (r == 0)
		r = pipeline_anchor(&bench->pipeline, &anchor);
	return r == 0 ? pipeline_begin(&bench->pipeline, START_NS) : r;
}

/* Makes one second of records of a CPU. A few stacks make up most samples, as on any host. */
static int drain_cpu(struct bench *bench, uint32_t cpu, uint64_t begin_ns)
{
	int r = 0;

	for (int i = 0; r == 0 && i < FREQUENCY; i++) {
		uint32_t below = pick(bench, 4) ? STACKS / 40 : STACKS;
		struct sample *sample = &bench->stacks[pick(bench, below)];
		struct perf_record_place place;

		sample->cpu = cpu;
		sample->time_ns = begin_ns + i * (NSEC_PER_SEC / FREQUENCY) + cpu * 20000;
		place = perf_record_place(&bench->layout, (const uint8_t *)sample, sizeof(*sample));
		r = pipeline_add(&bench->pipeline, 0, &place, (const uint8_t *)sample,
				 sizeof(*sample));
	}
	return r;
}

static int run(struct bench *bench, unsigned int from, unsigned int to)
{
	int r = 0;

	for (unsigned int second = from; r == 0 && second < to; second++) {
		uint64_t begin_ns = START_NS + second * NSEC_PER_SEC;

		for (uint32_t cpu = 0; r == 0 && cpu < CPUS; cpu++)
			r = drain_cpu(bench, cpu, begin_ns);
		if (r == 0)
			r = pipeline_flush(&bench->pipeline, begin_ns + NSEC_PER_SEC);
	}
	return r;
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? atoi(argv[1]) : 60;
	struct bench bench = { .random = 1 };
	uint64_t begin_ns, samples;
	double took;
	int r = prepare(&bench);

	if (r == 0)
		r = run(&bench, 0, WARM_SECONDS);
	samples = bench.pipeline.samples;
	begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (r == 0)
		r = run(&bench, WARM_SECONDS, WARM_SECONDS + seconds);
	took = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / 1e9;
	samples = bench.pipeline.samples - samples;
	if (r == 0)
		printf("%llu samples of %d frames, %zu nodes: %.2f million samples/s of a core; "
		       "%d CPUs take %.2f %% of one\n",
		       (unsigned long long)samples, FRAMES, bench.pipeline.tape->stacks.count,
		       samples / took / 1e6, CPUS, 100 * took / seconds);
	else
		fprintf(stderr, "intern: %s\n", strerror(-r));
	pipeline_done(&bench.pipeline);
	free(bench.stacks);
	return r < 0;
}
