/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Selects the symbols that are necessary to name a few addresses among a million symbols. The
 * caller passes all symbols twice: first to symbol_prefilter_note(), then to
 * symbol_prefilter_keeps(), which selects. A struct symbols of the selected ones gives the same
 * answers for the open addresses as one of all symbols.
 *
 * It selects, with all symbols at the same start,
 *   1. symbols whose size reaches over an open address;
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

/* Starts zeroed. */
struct symbol_prefilter {
	/* The open addresses. */
	array_of(uint64_t) open;
	/* The starts of (2) in the order of the addresses, then of (3); UINT64_MAX: none. */
	array_of(uint64_t) last;
	/* The starts of (1) and (4); after symbol_prefilter_sort() all selected starts. */
	array_of(uint64_t) starts;
};

/* Each function returns 0 or -ENOMEM. Call symbol_prefilter_done() in any case. */
int symbol_prefilter_init(struct symbol_prefilter *prefilter, const struct addresses *addresses);
void symbol_prefilter_done(struct symbol_prefilter *prefilter);
int symbol_prefilter_note(struct symbol_prefilter *prefilter, uint64_t start, uint64_t size);
/* Call it between the two passes. */
int symbol_prefilter_sort(struct symbol_prefilter *prefilter);
bool symbol_prefilter_keeps(const struct symbol_prefilter *prefilter, uint64_t start);
