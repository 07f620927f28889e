/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Selects the symbols that are necessary to name a few addresses among a million symbols. The
 * caller passes all symbols twice: first to symbol_prefilter_note(), then to
 * symbol_prefilter_keeps(), which selects. A struct symbols of the selected ones gives the same
 * answers for the open addresses as one of all symbols.
 *
 * It selects, with all symbols at the same start,
 *   1. the innermost COVERS_KEPT starts of symbols whose size reaches over an open address;
 *   2. the last symbol before each open address, because it contains the address, or ends a symbol
 *      without a size before it;
 *   3. a symbol behind the last address, so that a symbol without a size before it does not end
 *      with the table;
 *   4. a symbol one byte behind an open address, because it may be a signal trampoline
 *      (symbolizer/trampolines.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "symbolizer/addresses.h"
#include "symbolizer/work-limit.h"

/*
 * Several symbols may have the same start, and the one that is shown may not reach to the address.
 * The address then belongs to the next symbol around it. So more than one start is kept.
 */
#define COVERS_KEPT 4

/* The starts of (1) for one address, the largest first; UINT64_MAX: none. */
struct symbol_covers {
	uint64_t starts[COVERS_KEPT];
};

/* Starts zeroed. Its memory depends only on the number of addresses. */
struct symbol_prefilter {
	/* The open addresses. */
	array_of(uint64_t) open;
	/* The starts of (2) in the order of the addresses, then of (3); UINT64_MAX: none. */
	array_of(uint64_t) last;
	/* The starts of (1) in the order of the addresses. */
	array_of(struct symbol_covers) covers;
	/* For each address, whether a symbol of (4) exists. */
	array_of(uint8_t) behind;
	/* After symbol_prefilter_sort(): all selected starts. */
	array_of(uint64_t) starts;
	/* Borrowed; may be NULL. It spends a unit for each address that a symbol reaches over. */
	struct work_limit *budget;
};

/* Returns 0 or -ENOMEM. Call symbol_prefilter_done() in any case. */
int symbol_prefilter_init(struct symbol_prefilter *prefilter, const struct addresses *addresses);
void symbol_prefilter_done(struct symbol_prefilter *prefilter);
/* Stops at once if the budget is spent. */
void symbol_prefilter_note(struct symbol_prefilter *prefilter, uint64_t start, uint64_t size);
/* Call it between the two passes. Returns 0 or -ENOMEM. */
int symbol_prefilter_sort(struct symbol_prefilter *prefilter);
bool symbol_prefilter_keeps(const struct symbol_prefilter *prefilter, uint64_t start);
