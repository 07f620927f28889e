/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stores of a few tapes whose segments are large enough for digests: some CPUs, many
 * threads and functions, interrupts, idle time, recursion, and frames without names.
 */

#include "query/window/window.h"
#include "tests/random-stores.h"

#define SUMMED_TAPES 3
#define SUMMED_SECONDS 35
#define SUMMED_SAMPLES 90000

/* Adds a frame without a name now and then, with or without a file. */
static inline uint32_t summed_frame(struct tape *tape, uint32_t stack)
{
	static const char *const paths[] = { "/usr/lib/libc.so.6", "/opt/lib/libc.so.6",
					     "[kernel.kallsyms]", "" };
	uint32_t kind = random_below(ARRAY_SIZE(paths));
	uint32_t module = !*paths[kind]
				  ? 0
				  : tapes_module(tape, paths[kind],
						 kind == 2 ? TAPE_MODULE_KERNEL : TAPE_MODULE_ELF);
	static const char *const entries[] = { "asm_sysvec_apic_timer_interrupt", "__do_softirq",
					       "irqentry_exit_to_user_mode" };
	uint32_t function;
	char name[32];

	if (!module || random_below(8) == 0)
		return tapes_call(tape, stack, module, !module ? 0 : 64 * random_below(100), "");
	if (kind == 2 && random_below(4) == 0) {
		uint32_t entry = random_below(ARRAY_SIZE(entries));

		return tapes_call(tape, stack, module, 0x10000 + 0x100 * entry, entries[entry]);
	}
	function = random_below(40);
	snprintf(name, sizeof(name), "f%u", function);
	return tapes_call(tape, stack, module, 0x20000 + 0x100 * function + random_below(9), name);
}

static inline uint32_t summed_stack(struct tape *tape)
{
	uint32_t stack = 0;

	for (uint32_t depth = 1 + random_below(6); depth--;)
		stack = summed_frame(tape, stack);
	return stack;
}

static inline struct tape *summed_tape(unsigned int begin_s, uint32_t samples)
{
	static const char *const comms[] = { "swapper/0", "kubelet", "kworker/0:1", "kworker/u8:2",
					     "",	  "cc1",     "ld" };
	struct tape *tape = tapes_new(begin_s, begin_s + SUMMED_SECONDS);
	uint32_t stacks[200], threads[60];
	uint64_t step_ns = SUMMED_SECONDS * NSEC_PER_SEC / samples;

	/* the clock is slewed, and in one of the tapes it is set back */
	tapes_anchor(tape, TAPES_PERF + (begin_s + 20) * NSEC_PER_SEC,
		     TAPES_REALTIME + (begin_s + 20) * NSEC_PER_SEC + 4000 -
			     (begin_s == SUMMED_SECONDS ? 3 * NSEC_PER_SEC : 0));
	for (uint32_t i = 0; i < ARRAY_SIZE(stacks); i++)
		stacks[i] = summed_stack(tape);
	threads[0] = tapes_thread(tape, 0, 0, comms[0]);
	for (uint32_t i = 1; i < ARRAY_SIZE(threads); i++)
		threads[i] = tapes_thread(tape, 100 + i / 3, 100 + i,
					  comms[random_below(ARRAY_SIZE(comms))]);
	for (uint32_t i = 0; i < samples; i++)
		tapes_sample(tape,
			     (tape->begin_ns + i * step_ns + random_below(step_ns / 1000) * 1000) /
				     1000 * 1000,
			     2 * random_below(5),
			     threads[random_below(2) * random_below(ARRAY_SIZE(threads))],
			     stacks[random_below(1 + random_below(ARRAY_SIZE(stacks)))]);
	return tape;
}

/* Makes a store. Returns a window of all its samples. */
static inline struct window summed_store_init(struct tapes_store *store)
{
	tapes_store_init(store);
	for (unsigned int i = 0; i < SUMMED_TAPES; i++)
		tapes_store_put(store, summed_tape(i * SUMMED_SECONDS, SUMMED_SAMPLES));
	return (struct window){ .from_ns = TAPES_REALTIME - 5 * NSEC_PER_SEC,
				.to_ns = TAPES_REALTIME +
					 (SUMMED_TAPES * SUMMED_SECONDS + 5) * NSEC_PER_SEC };
}
