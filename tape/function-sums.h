/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds up the weights of stacks by function: its own weight, the weight including its callees, and
 * the weight of its main callee. A function counts once per stack, however often the stack contains
 * it.
 *
 * A function is known by its symbol. The frames of a module without a symbol are one function.
 * Weights are samples, or nanoseconds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "tape/tape.h"

struct function_sum {
	uint64_t self, total;
	/*
	 * The part of `total` in the most called function; 0 if that part is below 3/4 of `total`.
	 */
	uint64_t led;
	/* The function has a frame in the kernel. */
	bool kernel;
};

struct function_leaf {
	uint32_t stack, function;
	uint64_t weight;
};

/* A stack of the tape. */
struct function_node {
	/* A Bloom filter of the functions of the stack. A bit may stand for several. */
	uint64_t set;
	/* The weight of this stack and of all that continue it. */
	uint64_t subtree;
	/* The function of the innermost frame, and whether that frame is in the kernel. */
	uint32_t function;
	bool kernel;
};

/* The election of a function's main callee. */
struct function_vote {
	/* The callee that wins if any has most of the calls. */
	uint32_t callee;
	/* The weight of this callee that no other callee outweighs. */
	uint64_t lead;
	/* The weight of all calls, and of those of this callee. */
	uint64_t calls, of_callee;
};

/* Zeroed before the first tape; the next tape uses the memory again. */
struct function_sums {
	const struct tape *tape;
	/* Indexed by tape_function_of(). */
	array_of(struct function_sum) list;

	/* Private: the stacks that were added, the stacks of the tape, and an election by function.
	 */
	array_of(struct function_leaf) leaves;
	array_of(struct function_node) nodes;
	array_of(struct function_vote) votes;
	/* Calls ordered by caller; and the weight of each callee of one caller. Often empty. */
	array_of(uint32_t) firsts, calls;
	array_of(uint64_t) callees;
};

/* Begins a tape, which the sums borrow. Returns 0 or -ENOMEM. */
int function_sums_begin(struct function_sums *sums, const struct tape *tape);
/*
 * Adds a weight to a stack: to the callers and to the leaf. The caller may add a stack several
 * times, but one call with the sum is faster. Returns 0 or -ENOMEM.
 */
int function_sums_add(struct function_sums *sums, uint32_t stack, uint32_t frame, uint64_t weight);
/* Completes `list`. Returns 0 or -ENOMEM. */
int function_sums_finish(struct function_sums *sums);
void function_sums_done(struct function_sums *sums);
