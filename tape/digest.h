/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The sums of a tape's samples: by CPU and interval, by thread, by CPU and group, and by function.
 * A segment stores the digest of its tape (docs/FORMAT.md), so that an answer about a long time
 * does not need samples. Other answers read samples and make their digest, so all answers count in
 * the same way.
 *
 * All numbers are weights of samples: 1 each, unless the input has weights. Idle time counts only
 * for CPUs and threads.
 *
 * Three members name only the heaviest item of this tape, so a sum over several tapes is not exact.
 * They are the CPU of a thread, the function of a group on a CPU, and the callee of a function.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "tape/stack-class.h"
#include "tape/stack-ends.h"
#include "tape/tape.h"

/* A CPU in an interval, by class. */
struct digest_cell {
	uint64_t n[STACK_CLASS_KINDS];
};

/* Samples of one thread, which belong to one owner. */
struct digest_thread {
	/* A row of the tape's threads. */
	uint32_t thread;
	/* The owner that the input states, or the string of the comm if it states none. */
	uint32_t owner;
	uint64_t n[STACK_CLASS_KINDS];
	/* The CPU on which the thread worked most, and the weight of that work; 0 without work. */
	uint32_t cpu;
	uint64_t there;
};

/* The work of an owner on a CPU, without idle time. */
struct digest_core {
	uint32_t cpu;
	uint32_t owner;
	uint64_t work;
	/* The most frequent leaf function of the owner's stacks, as an index of `functions` + 1. */
	uint32_t function;
	/* The weight of that function; 0 without a function. */
	uint64_t there;
};

struct digest_function {
	/* The symbol, or the path of the module whose functions have no names. */
	uint32_t string;
	bool is_module;
	bool kernel;
	uint64_t self, total, led;
};

/* Frames without a name, by the path of their module. */
struct digest_unnamed {
	uint32_t path;
	bool is_mapped;
	uint64_t frames;
};

/* A zeroed struct is empty. */
struct digest {
	uint64_t samples;
	/* Frames of all samples, and those with a name. */
	uint64_t frames, named;
	/* How the user stacks of the samples end. */
	struct stack_shares ends;
	array_of(struct digest_unnamed) unnamed;
	/* The length of an interval of the wall clock; 0: all samples are in one interval. */
	uint64_t interval_ns;
	/*
	 * The number of each interval that has samples: its begin / interval_ns. In ascending
	 * order.
	 */
	array_of(uint64_t) intervals;
	/* The CPUs of the samples, in ascending order. */
	array_of(uint32_t) cpus;
	/* For each interval the cells of all CPUs. */
	array_of(struct digest_cell) cells;
	/*
	 * For each interval, the part of its samples in a picture of fractions of a second
	 * (tape/spread.h): `spill` fractions before the interval, the fractions of a second, and
	 * `spill` fractions after the interval. Each fraction has SPREAD_PARTS numbers of
	 * microseconds. Empty without a picture.
	 */
	uint32_t spill;
	array_of(uint64_t) spread;
	array_of(struct digest_thread) threads;
	/* Sorted by CPU. */
	array_of(struct digest_core) cores;
	/*
	 * Functions with a smaller total than this are absent, unless a core names them. 0: no
	 * function is absent.
	 */
	uint64_t least;
	array_of(struct digest_function) functions;
};

void digest_done(struct digest *digest);
/* Frees a digest on the heap, which may be NULL. */
struct digest *digest_free(struct digest *digest);
DEFINE_CLEANUP(digest, struct digest *, digest_free)

#define DIGEST_NO_FUNCTION UINT32_MAX

/* The distinct stacks of a tape's samples. Samples of one stack have the same class. */
struct digest_paths {
	/* For each sample, the number of its path. */
	const uint32_t *of_samples;
	size_t count;
	/* For each path, the string of the comm, and the callers. */
	const uint32_t *owners, *stacks;
	/* For each path, one of the frames of the leaf function, and the number of samples. */
	const uint32_t *frames, *samples;
	/* For each CPU below TAPE_CPUS_MAX, the number of samples. */
	const uint32_t *cpu_samples;
};

/* The input of digest_make(). */
struct digest_input {
	const struct tape *tape;
	/* The marks of the tape. */
	const struct stack_class_marks *marks;
	/*
	 * The class of each sample, if the frames that show the class were removed. Then a sample
	 * without frames does not belong to a function. NULL: the stacks show the class.
	 */
	const uint8_t *kinds;
	/* The weight of each sample; NULL: 1. */
	const uint64_t *weights;
	/* The owner of each sample; NULL: the string of its comm. */
	const uint32_t *owners;
	/*
	 * The owners of these paths must be the comms, and the weights 1. NULL: digest_make() finds
	 * the paths.
	 */
	const struct digest_paths *paths;
	/* Make the intervals that a segment stores, not a single one. Needs weights of 1. */
	bool intervals;
	/* Make only the threads, without their CPU: no functions, cells or cores. */
	bool threads_only;
};

/*
 * Makes the digest of all samples, which are in time order. Does not count frames. Returns 0 or
 * -ENOMEM. The caller calls digest_done() in either case.
 */
int digest_make(const struct digest_input *input, struct digest *digest);
