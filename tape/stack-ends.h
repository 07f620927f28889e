/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* How the user's part of each stack of a tape ends (docs/FORMAT.md, marks in stacks). */

#include <stdint.h>

#include "tape/tape.h"

/* Counts of samples with a user stack. */
struct stack_shares {
	/* The stack reaches the outermost caller. */
	uint64_t whole;
	/* The stack ends early. */
	uint64_t cut;
	/* Frame pointers alone show the stack's callers: some may be missing or wrong. */
	uint64_t frame_pointers;
};

enum stack_ends_kind {
	/* The stack is empty, or is the kernel's alone. */
	STACK_ENDS_NO_USER,
	STACK_ENDS_WHOLE,
	STACK_ENDS_CUT,
	STACK_ENDS_FRAME_POINTERS,
};

/*
 * Sets *ret_kinds to the kind of each stack, by its number. The caller frees it. Returns 0 or
 * -ENOMEM.
 */
int stack_ends_make(const struct tape *tape, uint8_t **ret_kinds);
/* Adds samples with a stack of that kind. */
void stack_ends_add(struct stack_shares *shares, enum stack_ends_kind kind, uint64_t count);
