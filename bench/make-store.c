// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a store that looks as if a recorder had run for many nights: adjacent segments of two
 * minutes up to now. Each segment has its own dictionary and shares a part of its stacks with the
 * others. The contents of a segment depend only on its number.
 *
 *   make-store DIR [segments=360] [samples=1117440] [cpus=96] [stacks=40000] [sharing=80]
 *              [incidents=100] [idle=0] [restarts=0] [effort=usual]
 *
 * samples and stacks are per segment; sharing is in percent of its stacks. Every `incidents`-th
 * segment has an incident. idle is in percent of all samples, except for one CPU per segment, which
 * is saturated for 20 s. Every `restarts`-th segment is the last of a recording that was killed,
 * one second before the next begins; with 0 there is a single recording.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/write/store-writer.h"

#define SECONDS 120
#define DEPTH_MAX 32
#define MODULES 60
#define FUNCTIONS 9000
#define THREADS 400
#define COMMS 20
#define PERIOD_NS 10309278

struct settings {
	unsigned long segments, samples, cpus, stacks, sharing, incidents, idle, restarts;
	enum segment_effort effort;
};

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

/*
 * Picks a rank below `below`. The choice is skewed as with real stacks: few ranks are frequent,
 * most are rare.
 */
static uint32_t pick_rank(uint32_t below)
{
	double share = pick(1u << 30) / (double)(1u << 30);

	return below * share * share * share;
}

static uint32_t must(int r, const uint32_t *id)
{
	if (r < 0) {
		fprintf(stderr, "make-store: out of memory\n");
		exit(1);
	}
	return *id;
}

static uint32_t text_of(struct tape *tape, const char *format, uint32_t number)
{
	char text[64];
	uint32_t id;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, number);
#pragma GCC diagnostic pop
	return must(strings_add(&tape->strings, text, strlen(text), &id), &id);
}

static void add_modules(struct tape *tape)
{
	for (uint32_t i = 0; i < MODULES; i++) {
		struct tape_module module = {
			.path = i ? text_of(tape, "/usr/lib/x86_64-linux-gnu/libpart%u.so", i)
				  : text_of(tape, "[kernel.kallsyms]", 0),
			.kind = i ? TAPE_MODULE_ELF : TAPE_MODULE_KERNEL,
			.build_id_size = 20,
			.build_id = { i, 1, 2, 3 },
		};
		uint32_t id;

		must(tape_add_module(tape, &module, &id), &id);
	}
}

/* Adds a call site in a function. The name and the module follow from the function's number. */
static uint32_t add_frame(struct tape *tape, uint32_t function, uint32_t site)
{
	uint32_t module = 1 + function % MODULES, id;
	uint64_t address = function * 0x400ull + site * 5 + (module == 1 ? 0xffffffff81000000 : 0);

	must(tape_add_frame(tape, module, address, &id), &id);
	tape->frames.items[id].symbol = text_of(tape, "subsystem_function_%u", function);
	tape->frames.items[id].offset = site * 5;
	return id;
}

/*
 * Adds a stack. The seed chooses each callee among the few callees of its caller. So stacks share
 * their outer frames, and the number of frames stays bounded.
 */
static uint32_t add_stack(struct tape *tape, uint64_t seed)
{
	uint32_t stack = 0, function;
	unsigned int depth;

	random_state = seed * 0x9e3779b97f4a7c15ull;
	function = pick_rank(40);
	depth = 4 + pick(DEPTH_MAX - 4) * pick(100) / 100;
	for (unsigned int i = 0; i < depth; i++) {
		uint32_t frame = add_frame(tape, function, pick_rank(6));

		must(tape_add_stack(tape, stack, frame, &stack), &stack);
		function = (function * 31 + 7 + pick_rank(12)) % FUNCTIONS;
	}
	return stack;
}

struct ids {
	array_of(uint32_t) list;
};

/* The first stacks are the same in each segment. */
static void add_stacks(struct tape *tape, const struct settings *settings, struct ids *stacks)
{
	uint32_t shared = settings->stacks * settings->sharing / 100;

	stacks->list.count = 0;
	for (uint32_t i = 0; i < settings->stacks; i++) {
		uint64_t own = i < shared ? 0 : (tape->sequence + 1) << 32;
		uint32_t stack = add_stack(tape, own + i);

		if (array_push(&stacks->list, stack) < 0)
			must(-ENOMEM, &stack);
	}
}

static void add_threads(struct tape *tape)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		struct tape_thread thread = { .pid = 1000 + i / 4, .tid = 1000 + i };
		uint32_t id;

		thread.comm = text_of(tape, "service-%u", i / (THREADS / COMMS));
		must(tape_add_thread(tape, &thread, &id), &id);
	}
}

struct idle {
	uint32_t thread, stack;
};

static struct idle add_idle(struct tape *tape)
{
	struct tape_thread thread = { .comm = text_of(tape, "swapper/%u", 0) };
	struct idle idle;

	must(tape_add_thread(tape, &thread, &idle.thread), &idle.thread);
	must(tape_add_stack(tape, 0, add_frame(tape, 0, 0), &idle.stack), &idle.stack);
	return idle;
}

static bool is_idle(const struct tape *tape, const struct settings *settings, uint32_t cpu,
		    unsigned long second)
{
	if (!settings->idle ||
	    (cpu == tape->sequence % settings->cpus && second >= 40 && second < 60))
		return false;
	return pick(100) < settings->idle;
}

/* Each CPU has its own timer grid, with some microseconds of jitter. */
static void add_samples(struct tape *tape, const struct settings *settings,
			const struct ids *stacks)
{
	unsigned long slots = settings->samples / settings->cpus;
	struct idle idle = add_idle(tape);

	random_state = tape->sequence;
	for (unsigned long slot = 0; slot < slots; slot++)
		for (uint32_t cpu = 0; cpu < settings->cpus; cpu++) {
			uint32_t at = pick_rank(stacks->list.count);
			uint32_t stack = stacks->list.items[(at * 7919ull) % stacks->list.count];
			uint64_t time_ns = tape->begin_ns + SECONDS * NSEC_PER_SEC / slots * slot +
					   (cpu * 97 + pick(12)) * NSEC_PER_USEC;
			struct tape_sample sample = {
				.time_ns = time_ns / NSEC_PER_USEC * NSEC_PER_USEC,
				.period = PERIOD_NS,
				.cpu = cpu,
				/*
				 * a stack belongs to one comm, because two programs hardly ever
				 * share a stack
				 */
				.thread = at % COMMS * (THREADS / COMMS) + cpu % (THREADS / COMMS),
				.stack = tape->stacks.items[stack].parent,
				.frame = tape->stacks.items[stack].frame,
			};

			if (is_idle(tape, settings, cpu, slot * SECONDS / slots)) {
				sample.thread = idle.thread;
				sample.stack = tape->stacks.items[idle.stack].parent;
				sample.frame = tape->stacks.items[idle.stack].frame;
			}
			if (array_push(&tape->samples, sample) < 0)
				must(-ENOMEM, &cpu);
		}
}

static void add_incident(struct tape *tape)
{
	uint64_t time_ns = tape->begin_ns + 60 * NSEC_PER_SEC;
	struct tape_incident incident = {
		.time_ns = time_ns,
		.stall_ns = time_ns - 6 * NSEC_PER_SEC,
		.kind = text_of(tape, "ena_reset", 0),
		.severity = 3,
		.text = text_of(tape, "ena 0000:00:05.0 eth%u: Tx hasn't completed", 0),
		.source = text_of(tape, "kmsg", 0),
	};

	if (array_push(&tape->incidents, incident) < 0)
		must(-ENOMEM, &incident.kind);
}

/* Returns the number of the recording to which a segment belongs. */
static uint64_t recording_of(const struct settings *settings, uint64_t sequence)
{
	return settings->restarts ? sequence / settings->restarts : 0;
}

static int add_facts(struct tape *tape, const struct settings *settings, uint64_t sequence)
{
	char begun[24];
	int r = tape_add_fact(tape, "host", "bench");

	snprintf(begun, sizeof(begun), "%llu",
		 1 + (unsigned long long)recording_of(settings, sequence));
	if (r == 0)
		r = tape_add_fact(tape, "frequency", "97");
	return r == 0 ? tape_add_fact(tape, TAPE_BEGUN, begun) : r;
}

static struct tape *make_tape(const struct settings *settings, uint64_t sequence, uint64_t begin_ns,
			      struct ids *stacks)
{
	struct tape *tape = NULL;
	uint64_t perf_ns = (1000 + sequence * SECONDS) * NSEC_PER_SEC;
	int r = tape_new(&tape);

	if (r == 0)
		r = add_facts(tape, settings, sequence);
	if (r == 0)
		r = array_push(&tape->anchors,
			       (struct tape_anchor){ perf_ns, begin_ns, perf_ns, perf_ns, 900 });
	must(r, &(uint32_t){ 0 });
	tape->sequence = sequence;
	tape->begin_ns = perf_ns;
	tape->end_ns = perf_ns + SECONDS * NSEC_PER_SEC;
	if (recording_of(settings, sequence) != recording_of(settings, sequence + 1))
		tape->end_ns -= NSEC_PER_SEC;
	add_modules(tape);
	add_stacks(tape, settings, stacks);
	add_threads(tape);
	add_samples(tape, settings, stacks);
	if (settings->incidents && sequence % settings->incidents == 0)
		add_incident(tape);
	return tape;
}

static int make_store(struct store_writer *writer, const struct settings *settings)
{
	uint64_t begin_ns =
		clock_ns(CLOCK_REALTIME) / (SECONDS * NSEC_PER_SEC) * (SECONDS * NSEC_PER_SEC);
	struct ids stacks = { 0 };
	struct error error;
	int r = 0;

	begin_ns -= settings->segments * SECONDS * NSEC_PER_SEC;
	for (unsigned long i = 0; r == 0 && i < settings->segments; i++) {
		struct tape *tape = make_tape(settings, store_writer_number(writer),
					      begin_ns + i * SECONDS * NSEC_PER_SEC, &stacks);

		r = store_writer_seal(writer, tape, settings->effort, NULL, &error);
		if (r != 0)
			fprintf(stderr, "make-store: %s\n", error.text);
		tape_free(tape);
	}
	array_done(&stacks.list);
	return r;
}

/* Parses "name=number". */
static bool set(struct settings *settings, const char *word)
{
	const struct {
		const char *name;
		unsigned long *number;
	} names[] = {
		{ "segments=", &settings->segments }, { "samples=", &settings->samples },
		{ "cpus=", &settings->cpus },	      { "stacks=", &settings->stacks },
		{ "sharing=", &settings->sharing },   { "incidents=", &settings->incidents },
		{ "idle=", &settings->idle },	      { "restarts=", &settings->restarts },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(word, names[i].name, strlen(names[i].name)) == 0) {
			*names[i].number = strtoul(word + strlen(names[i].name), NULL, 10);
			return true;
		}
	if (strcmp(word, "effort=hasty") == 0)
		settings->effort = SEGMENT_HASTY;
	return strncmp(word, "effort=", 7) == 0;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.segments = 360,
		.samples = 1117440,
		.cpus = 96,
		.stacks = 40000,
		.sharing = 80,
		.incidents = 100,
		.effort = SEGMENT_USUAL,
	};
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct error error;

	for (int i = 2; i < argc; i++)
		if (!set(&settings, argv[i]))
			argc = 0;
	if (argc < 2 || !settings.cpus || !settings.stacks || settings.samples < settings.cpus) {
		fprintf(stderr,
			"usage: make-store DIR [segments=N] [samples=N] [cpus=N] [stacks=N]\n"
			"       [sharing=PERCENT] [incidents=N] [idle=PERCENT] [restarts=N]\n"
			"       [effort=hasty|usual]\n");
		return 2;
	}
	if (store_writer_open(argv[1], &writer, &error) < 0) {
		fprintf(stderr, "make-store: %s\n", error.text);
		return 1;
	}
	return make_store(writer, &settings) == 0 ? 0 : 1;
}
