/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Which of a million symbols have to be kept to name a few addresses. The table is gone through
 * twice: first symbol_prefilter_note() sees where every symbol lies, then symbol_prefilter_keeps()
 * says which ones matter. A struct symbols that is made of those alone answers for the open
 * addresses of `addresses` what one of all of them would.
 *
 * What matters are, with all the symbols that start where they do,
 *  (1) those whose size reaches over an open address;
 *  (2) the last one before each open address, for it has the address, or ends what has no size
 * before it; (3) one behind the last address, so that what has no size before it does not end with
 * the table.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "symbolizer/addresses.h"

/* Zeroed to start. */
struct symbol_prefilter {
	/* those that are open */
	array_of(uint64_t) open;
	/* (2), by address; (3) behind them; UINT64_MAX: none */
	array_of(uint64_t) last;
	/* (1); after symbol_prefilter_sort() all */
	array_of(uint64_t) starts;
};

/* 0 or -ENOMEM; symbol_prefilter_done() in any case. */
int symbol_prefilter_init(struct symbol_prefilter *prefilter, const struct addresses *addresses);
void symbol_prefilter_done(struct symbol_prefilter *prefilter);
int symbol_prefilter_note(struct symbol_prefilter *prefilter, uint64_t start, uint64_t size);
/* Between the two. */
int symbol_prefilter_sort(struct symbol_prefilter *prefilter);
bool symbol_prefilter_keeps(const struct symbol_prefilter *prefilter, uint64_t start);
