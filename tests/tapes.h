/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Small tapes for tests, and a store in a temporary folder. All functions CHECK, so only tests may
 * call them.
 */

#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/read/store-reader.h"
#include "store/write/store-writer.h"
#include "tape/tape.h"
#include "tests/check.h"

/* 2026-11-18T03:12:00Z: the wall clock at perf time 1000 s, unless a test has other anchors. */
#define TAPES_REALTIME 1794971520000000000ull
#define TAPES_PERF (1000 * NSEC_PER_SEC)
#define TAPES_PERIOD 10309278

static inline uint32_t tapes_string(struct tape *tape, const char *text)
{
	uint32_t id;

	CHECK_EQ(strings_add(&tape->strings, text, strlen(text), &id), 0);
	return id;
}

static inline void tapes_anchor(struct tape *tape, uint64_t perf_ns, uint64_t realtime_ns)
{
	CHECK_EQ(array_push(&tape->anchors, (struct tape_anchor){ .perf_ns = perf_ns,
								  .realtime_ns = realtime_ns,
								  .error_ns = 900 }),
		 0);
}

/*
 * Makes a tape that covers [begin, end) of the perf clock, with the usual facts and without an
 * anchor.
 */
static inline struct tape *tapes_bare(uint64_t begin_ns, uint64_t end_ns)
{
	static const char *const facts[][2] = {
		{ "boot_id", "11111111-2222-3333-4444-555555555555" },
		{ "host", "example" },
		{ "kernel", "6.18.0" },
		{ "event", "cpu-clock" },
		{ "frequency", "97" },
	};
	struct tape *tape;

	CHECK_EQ(tape_new(&tape), 0);
	tape->begin_ns = begin_ns;
	tape->end_ns = end_ns;
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		CHECK_EQ(tape_add_fact(tape, facts[i][0], facts[i][1]), 0);
	return tape;
}

/* Makes such a tape with one anchor at TAPES_PERF; begin and end are seconds after TAPES_PERF. */
static inline struct tape *tapes_new(unsigned int begin, unsigned int end)
{
	struct tape *tape =
		tapes_bare(TAPES_PERF + begin * NSEC_PER_SEC, TAPES_PERF + end * NSEC_PER_SEC);

	tapes_anchor(tape, TAPES_PERF, TAPES_REALTIME);
	return tape;
}

static inline uint32_t tapes_module(struct tape *tape, const char *path, enum tape_module_kind kind)
{
	struct tape_module module = { .path = tapes_string(tape, path), .kind = kind };
	uint32_t id;

	CHECK_EQ(tape_add_module(tape, &module, &id), 0);
	return id;
}

/*
 * Adds a frame that `parent` calls and returns its stack. With symbol "", the frame lacks a name.
 */
static inline uint32_t tapes_call(struct tape *tape, uint32_t parent, uint32_t module,
				  uint64_t address, const char *symbol)
{
	uint32_t frame, stack;

	CHECK_EQ(tape_add_frame(tape, module, address, &frame), 0);
	tape->frames.items[frame].symbol = tapes_string(tape, symbol);
	tape->frames.items[frame].offset = *symbol ? address & 0xff : 0;
	CHECK_EQ(tape_add_stack(tape, parent, frame, &stack), 0);
	return stack;
}

/*
 * Returns a stack of kernel functions "outermost;...;leaf". Each function has one address, which
 * depends on the order of first use.
 */
static inline uint32_t tapes_kernel(struct tape *tape, const char *functions)
{
	uint32_t module = tapes_module(tape, "[kernel.kallsyms]", TAPE_MODULE_KERNEL), stack = 0;
	_cleanup_free_ char *copy = strdup(functions);
	char *rest = copy;

	for (char *name = strsep(&rest, ";"); name; name = strsep(&rest, ";"))
		stack = tapes_call(tape, stack, module,
				   0xffffffff81000000 + tapes_string(tape, name) * 0x1001ull, name);
	return stack;
}

static inline uint32_t tapes_thread(struct tape *tape, int pid, int tid, const char *comm)
{
	struct tape_thread thread = { .pid = pid, .tid = tid, .comm = tapes_string(tape, comm) };
	uint32_t id;

	CHECK_EQ(tape_add_thread(tape, &thread, &id), 0);
	return id;
}

/* Adds a sample at the stack's innermost frame. */
static inline void tapes_sample(struct tape *tape, uint64_t perf_ns, uint32_t cpu, uint32_t thread,
				uint32_t stack)
{
	CHECK_EQ(array_push(&tape->samples,
			    (struct tape_sample){ .time_ns = perf_ns,
						  .period = TAPES_PERIOD,
						  .cpu = cpu,
						  .thread = thread,
						  .stack = tape->stacks.items[stack].parent,
						  .frame = tape->stacks.items[stack].frame }),
		 0);
}

/* A store in a temporary folder, which tapes_store_done() removes. */
struct tapes_store {
	char path[64];
};

static inline void tapes_store_init(struct tapes_store *store)
{
	const char *dir = getenv("TMPDIR");

	CHECK(snprintf(store->path, sizeof(store->path), "%s/perftape-test.XXXXXX",
		       dir ? dir : "/tmp") < (int)sizeof(store->path));
	CHECK(mkdtemp(store->path));
}

static inline int tapes_remove(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	return remove(path);
}

static inline void tapes_store_done(struct tapes_store *store)
{
	nftw(store->path, tapes_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Removes a file or folder of the store, with its contents. */
static inline int tapes_remove_all(const struct tapes_store *store, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", store->path, name);
	return nftw(path, tapes_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Seals the tape and frees it. */
static inline void tapes_store_put(struct tapes_store *store, struct tape *tape)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	static uint64_t sequence;
	struct error error = { 0 };

	tape->sequence = sequence++; /* of another boot than this one, with its own numbers */
	if (store_writer_open(store->path, &writer, &error) < 0 ||
	    store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, &error) < 0)
		CHECK_FAIL("%s", error.text);
	tape_free(tape);
}
