/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Stores of a host with four CPUs, some of which are saturated for some seconds. */

#include "query/sums/spike-leaders.h"
#include "tests/tapes.h"

#define SAMPLE_NS 10309278
#define CPUS 4

/* A CPU that is busy for some seconds. */
struct spiky_load {
	unsigned int cpu, from, to;
	const char *comm;
	/*
	 * 0: always in the kernel; 1: always in a program; more: in a program, except this
	 * percentage of samples
	 */
	unsigned int user;
};

static const struct spiky_load spiky_loads[] = {
	{ 1, 7, 33, "spinner", false },
	{ 2, 12, 15, "worker", true },
	{ 3, 16, 17, "short", true },
};

/* Adds samples. The other stack is in `share` percent of them, evenly spread. */
static inline void put_mixed(struct tape *tape, uint32_t cpu, uint32_t thread, uint32_t stack,
			     uint32_t other, unsigned int share, unsigned int from, unsigned int to)
{
	uint64_t count = 0, from_ns = MAX(TAPES_PERF + from * NSEC_PER_SEC, tape->begin_ns);
	uint64_t to_ns = MIN(TAPES_PERF + to * NSEC_PER_SEC, tape->end_ns);

	for (uint64_t ns = from_ns + SAMPLE_NS / 3; ns < to_ns; ns += SAMPLE_NS, count++)
		tapes_sample(tape, ns / 1000 * 1000, cpu, thread,
			     count * share / 100 < (count + 1) * share / 100 ? other : stack);
}

static inline void put_samples(struct tape *tape, uint32_t cpu, uint32_t thread, uint32_t stack,
			       unsigned int from, unsigned int to)
{
	put_mixed(tape, cpu, thread, stack, stack, 0, from, to);
}

/* Makes seconds [begin, end) of a host with four CPUs, which idle except for the loads. */
static inline struct tape *make_tape(unsigned int begin, unsigned int end,
				     const struct spiky_load *loads, size_t count)
{
	struct tape *tape = tapes_new(begin, end);
	uint32_t idle = tapes_thread(tape, 0, 0, "swapper");
	uint32_t halt = tapes_kernel(tape, "do_idle;native_safe_halt");
	uint32_t spin = tapes_kernel(tape, "do_syscall_64;read_zero");
	uint32_t user = tapes_call(tape, 0, tapes_module(tape, "/x", TAPE_MODULE_ELF), 16, "main");

	CHECK_EQ(tape_add_fact(tape, "cpus", "4"), 0);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		unsigned int at = begin;

		for (size_t i = 0; i < count; i++) {
			const struct spiky_load *load = &loads[i];

			if (load->cpu != cpu || load->to <= begin || load->from >= end)
				continue;
			put_samples(tape, cpu, idle, halt, at, load->from);
			put_mixed(tape, cpu, tapes_thread(tape, 10 + cpu, 100 + cpu, load->comm),
				  load->user ? user : spin, spin, load->user > 1 ? load->user : 0,
				  load->from, load->to);
			at = load->to;
		}
		put_samples(tape, cpu, idle, halt, at, end);
	}
	CHECK_EQ(tape_sort_samples(tape), 0);
	return tape;
}

/* Makes segments of ten seconds up to `end`, except those between two moments. */
static inline void make_store(struct tapes_store *store, unsigned int end,
			      const struct spiky_load *loads, size_t count, unsigned int gap_from,
			      unsigned int gap_to)
{
	tapes_store_init(store);
	for (unsigned int at = 0; at < end; at += 10)
		if (at < gap_from || at >= gap_to)
			tapes_store_put(store, make_tape(at, at + 10, loads, count));
}

static const struct filter everything;

static inline struct spikes_options usual(void)
{
	return (struct spikes_options){
		.question = { .filter = &everything },
		.min_ns = 2 * NSEC_PER_SEC,
		.busy = 95,
	};
}

/* Finds spikes, and reads the samples of at most `limit` spikes. */
static inline void find_some(const struct tapes_store *store, const struct spikes_options *options,
			     size_t limit, struct spikes *spikes)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct error error = { 0 };

	CHECK_EQ(store_reader_open(store->path, &reader, &error), 0);
	if (spikes_find(reader, options, spikes, &error) < 0 ||
	    spikes_find_leaders(reader, &options->question, limit, spikes, &error) < 0)
		CHECK_FAIL("%s", error.text);
}

static inline void find(const struct tapes_store *store, const struct spikes_options *options,
			struct spikes *spikes)
{
	find_some(store, options, SIZE_MAX, spikes);
}

static inline void check_spike(const struct spike *spike, uint32_t cpu, unsigned int from,
			       unsigned int to)
{
	CHECK_EQ(spike->cpu, cpu);
	CHECK_EQ(spike->from_ns, TAPES_REALTIME + from * NSEC_PER_SEC);
	CHECK_EQ(spike->to_ns, TAPES_REALTIME + to * NSEC_PER_SEC);
	CHECK_EQ(spike->length_ns, (to - from) * NSEC_PER_SEC);
}
