/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Selects the symbols that are necessary to name a few addresses among a million symbols. The
 * caller passes all symbols twice: first to symbol_prefilter_note(), then to
 * symbol_prefilter_keeps(), which selects. A struct symbols of the selected symbols names the
 * unresolved addresses exactly as a struct symbols of all symbols.
 *
 * symbol_prefilter_keeps() selects all symbols at these starts:
 *   1. the innermost COVERS_KEPT starts of symbols that contain an unresolved address;
 *   2. the last start at or before each unresolved address, because its symbol contains the
 *      address, or ends an earlier symbol without a size;
 *   3. the last start behind the last address, so that an earlier symbol without a size does not
 *      end with the table;
 *   4. a start one byte behind an unresolved address, because its symbol may be a signal trampoline
 *      (symbolizer/trampolines.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "symbolizer/addresses.h"
#include "symbolizer/work-limit.h"

/*
 * Several symbols may have the same start, and the symbol that perf shows may end before the
 * address. The address then belongs to the next symbol around it. So the prefilter keeps more than
 * one start.
 */
#define COVERS_KEPT 4

/*
 * The starts of the symbols that may cover one address, the largest start first. Unused places have
 * UINT64_MAX.
 */
struct symbol_covers {
	uint64_t starts[COVERS_KEPT];
};

/* Starts zeroed. Its memory depends only on the number of addresses. */
struct symbol_prefilter {
	/* The unresolved addresses. */
	array_of(uint64_t) open;
	/* The starts of (2) in the order of the addresses, then of (3); UINT64_MAX: none. */
	array_of(uint64_t) last;
	/* The starts of (1) in the order of the addresses. */
	array_of(struct symbol_covers) covers;
	/* For each address, whether a symbol of (4) exists. */
	array_of(uint8_t) behind;
	/* After symbol_prefilter_sort(): all selected starts. */
	array_of(uint64_t) starts;
	/*
	 * Borrowed; may be NULL. symbol_prefilter_note() spends a unit for each address in a
	 * symbol.
	 */
	struct work_limit *budget;
};

/* Returns 0 or -ENOMEM. Call symbol_prefilter_done() in any case. */
int symbol_prefilter_init(struct symbol_prefilter *prefilter, const struct addresses *addresses);
void symbol_prefilter_done(struct symbol_prefilter *prefilter);
/* Stops at once if the budget is spent. */
void symbol_prefilter_note(struct symbol_prefilter *prefilter, uint64_t start, uint64_t size);
/* Sorts the selected starts. Call this function between the two passes. Returns 0 or -ENOMEM. */
int symbol_prefilter_sort(struct symbol_prefilter *prefilter);
bool symbol_prefilter_keeps(const struct symbol_prefilter *prefilter, uint64_t start);
