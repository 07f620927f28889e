/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Recognises by name what kernel functions do, as far as a verdict depends on it. A stack contains
 * a kind of code if one of its functions is of that kind.
 */

#include <stdint.h>

#include "base/array.h"
#include "tape/tape.h"

enum code_kind {
	/* Visits memory cgroups one after the other, also the dying ones. */
	CODE_CGROUP_WALK,
	/*
	 * Allocates memory on a way that may have to free memory first. Such a stack is direct
	 * reclaim only if it contains CODE_RECLAIM too.
	 */
	CODE_DIRECT_RECLAIM,
	/* Frees memory for any reason. */
	CODE_RECLAIM,
	CODE_COMPACTION,
	CODE_SOFTIRQ,
	/* Receives packets in a softirq. */
	CODE_NET_RX,
	/* Waits for a spinning lock. */
	CODE_SPIN,
};
#define CODE_KINDS 7

/* The kinds of each stack of a tape, as bits. A zeroed struct is empty. */
struct code_marks {
	array_of(uint8_t) symbols, stacks;
};

/* Computes the marks of a tape. Returns 0 or -ENOMEM. May be called again for another tape. */
int code_marks_make(struct code_marks *marks, const struct tape *tape);
void code_marks_done(struct code_marks *marks);
/* Returns the bits (1 << enum code_kind) of a sample's whole stack. */
uint8_t code_marks_of(const struct code_marks *marks, const struct tape *tape, uint32_t stack,
		      uint32_t frame);

/* Returns the bits of one kernel function. */
uint8_t code_kinds_of(const char *symbol);
