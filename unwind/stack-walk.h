/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Walks the stack of a thread in user space, given its registers and a copy of its stack. Pure: the
 * caller says which code lies at an address. Reads only the necessary words of the copy, in place.
 *
 *   1. The walk ends after at most `max` frames, and never reads outside of the copy.
 *   2. Each address after the first is a return address, or the address of code that a signal
 *      interrupted, and lies in code that `find` knows.
 *   3. A register has a value only if the walk knows the value in that frame.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule-cache.h"
#include "unwind/unwind-table.h"
#include "unwind/user-registers.h"

/* The limit for the frames of a walked stack. perftape cuts deeper stacks. */
#define STACK_WALK_FRAMES 256

enum stack_code_kind {
	/* `table` has the rules of the code. */
	STACK_CODE_TABLE,
	/*
	 * The code lacks a table: generated code, or a file without entries. The walk uses frame
	 * pointers.
	 */
	STACK_CODE_BARE,
	/*
	 * The file's table is not ready yet. The walk ends, and the caller uses the kernel's chain.
	 */
	STACK_CODE_WAITING,
};

/* An executable mapping. */
struct stack_code {
	enum stack_code_kind kind;
	uint64_t start;
	/* The first address after the mapping. */
	uint64_t end;
	/* The offset in the file at which the mapping begins. */
	uint64_t offset;
	/* With STACK_CODE_TABLE; must stay valid while the walk lasts. */
	const struct unwind_table *table;
};

enum stack_end {
	/* The walk reached the outermost frame, so the stack is whole. */
	STACK_WHOLE,
	/* The word that the walk needs lies outside of the copy. All STACK_CUT_* stacks are cut. */
	STACK_CUT_COPY,
	/*
	 * An address lies outside of executable mappings. The result lacks this address, unless it
	 * is the leaf's.
	 */
	STACK_CUT_UNMAPPED,
	/* The code lacks a rule, and the frame pointer does not lead to a frame. */
	STACK_CUT_NO_RULE,
	/* The code has a rule that the walk cannot evaluate, or that needs an unknown register. */
	STACK_CUT_STRANGE,
	/* The next frame would not lie above this frame. */
	STACK_CUT_LOOP,
	/* More than `max` frames. */
	STACK_CUT_DEEP,
	/* A table is not ready yet. */
	STACK_CUT_WAITING,
};
#define STACK_ENDS 8

/* Short texts for status and JSON: "whole", "copy", "unmapped" ... */
const char *stack_end_text(enum stack_end end);

struct stack_walk {
	/* ---- set by the caller ---- */
	enum unwind_machine machine;
	/* The registers of the leaf, and after the walk those of the last address. */
	struct user_registers registers;
	/*
	 * The copy of the stack, and the address of its first byte, which is the leaf's stack
	 * pointer.
	 */
	const uint8_t *copy;
	size_t copy_size;
	uint64_t copy_address;
	/*
	 * Finds the executable mapping at an address. Returns false if the address lacks such a
	 * mapping.
	 */
	bool (*find)(void *context, uint64_t address, struct stack_code *ret_code);
	void *context;
	/*
	 * Room for `max` addresses. The walk fills in the leaf's address first, then return
	 * addresses.
	 */
	uint64_t *addresses;
	size_t max;
	/* NULL: search the tables each time. */
	struct rule_cache *rules;

	/* ---- results ---- */
	size_t count;
	enum stack_end end;
	/* Steps by frame pointer in code without a rule, and over signal trampolines. */
	size_t frame_steps, signals;
	/*
	 * The size of a copy that contains all words that the walk read, and the word that it could
	 * not read.
	 */
	uint64_t needed;

	/* ---- the frame of the last address, between two steps ---- */
	/*
	 * The program counter is the address of an instruction that runs, not a return address: in
	 * the leaf, and in code that a signal interrupted. All registers are known in such a frame.
	 */
	bool exact;
	struct stack_code code;
	struct unwind_rule rule;
};

/*
 * Walks the stack; sets the results. At the end, `registers` belong to the frame of the last
 * address. The caller finds the place to continue in the kernel's chain by their frame pointer.
 */
void stack_walk_run(struct stack_walk *walk);

/*
 * The same in steps. A step prefetches the words that the next one reads. So the caller takes turns
 * with several walks, because each of these words is far from the CPU. Both functions return
 * whether the walk goes on; if not, the results are complete.
 */
bool stack_walk_begin(struct stack_walk *walk);
bool stack_walk_step(struct stack_walk *walk);

/*
 * Returns whether arm64's link register still has the return address at `offset` in the table's
 * file. In such a leaf, the kernel's chain lacks the caller, because the chain contains only
 * frames.
 */
bool stack_leaf_returns_by_link(const struct unwind_table *table, uint64_t offset);

/* Removes the pointer authentication code from a code address of arm64. */
static inline uint64_t stack_strip_address(enum unwind_machine machine, uint64_t address)
{
	/* user code lies below 2^48 */
	return machine == UNWIND_ARM64 ? address & ((1ull << 48) - 1) : address;
}
