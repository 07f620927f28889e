/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Runs the instructions of an entry of .eh_frame, which say how the rule changes from instruction
 * to instruction of a function. Private to unwind/.
 */

#include "unwind/cfi-entries.h"
#include "unwind/unwind-table.h"

/* The registers that a walk follows, besides the CFA. */
enum cfi_tracked {
	CFI_RETURN,
	CFI_FRAME,
	/* x86-64: RBX, on which _dl_runtime_resolve() builds its CFA. */
	CFI_BASE,
	/*
	 * Usually CFI_PLACE_UNSAID, because the CFA is the caller's stack pointer. longjmp() loads
	 * another stack pointer.
	 */
	CFI_STACK,
};
#define CFI_TRACKED 4

/* The rule while the program runs. Its numbers may be too large for a struct unwind_rule. */
struct cfi_state {
	/* REGISTER, PLT, MEMORY or STRANGE; UNKNOWN before the first definition. */
	enum unwind_rule_kind kind;
	uint64_t number;
	int64_t offset, offset2;
	struct cfi_place {
		enum cfi_place_kind {
			CFI_PLACE_UNSAID,
			CFI_PLACE_SAME,
			CFI_PLACE_CFA,
			CFI_PLACE_FRAME,
			CFI_PLACE_REGISTER,
			/*
			 * The register lacks a value, like the return address in the outermost
			 * frame.
			 */
			CFI_PLACE_UNDEFINED,
			/*
			 * The entry computes the value in a way that cfi-program.c does not
			 * evaluate.
			 */
			CFI_PLACE_STRANGE,
		} kind;
		int64_t offset;
	} places[CFI_TRACKED];
};

struct cfi_run {
	const struct cfi_entries *entries;
	const struct cfi_common *common;
	enum unwind_machine machine;
	/* The state after the common entry, from which OP_RESTORE restores registers. */
	const struct cfi_state *initial;
	/* The address that the program has reached, and the first address after the function. */
	uint64_t address, end;
	/* Takes the state that holds from `address` on. Returns 0 or a negative errno. */
	int (*emit)(void *context, uint64_t address, const struct cfi_state *state);
	void *context;
};

/*
 * Runs the program of a common entry. Returns the state after the program; STRANGE if the program
 * is invalid.
 */
struct cfi_state cfi_run_common(const struct cfi_entries *entries, const struct cfi_common *common,
				enum unwind_machine machine);
/*
 * Runs a function's program and emits its states in the order of addresses, each below `end`. After
 * an instruction that is invalid, the rest of the function is UNKNOWN. Returns 0 or the error of
 * `emit`.
 */
int cfi_run_function(struct cfi_run *run, const struct cfi_function *function);

/* Turns a state into a rule. */
void cfi_state_rule(const struct cfi_state *state, const struct cfi_common *common,
		    enum unwind_machine machine, struct unwind_rule *ret_rule);
