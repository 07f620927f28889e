/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Which of a million symbols have to be kept to name a few addresses. The table is gone through twice: first sieve_note() sees where
 * every symbol lies, then sieve_keeps() says which ones matter. A struct symbols that is made of those alone answers for the open
 * addresses of `wanted` what one of all of them would.
 *
 * What matters are, with all the symbols that start where they do,
 *  (1) those whose size reaches over an open address;
 *  (2) the last one before each open address, for it has the address, or ends what has no size before it;
 *  (3) one behind the last address, so that what has no size before it does not end with the table.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "symbolizer/addresses.h"

/* Zeroed to start. */
struct sieve {
	array_of(uint64_t) addresses; /* those that are open */
	array_of(uint64_t) last; /* (2), by address; (3) behind them; UINT64_MAX: none */
	array_of(uint64_t) starts; /* (1); after sieve_sort() all */
};

/* 0 or -ENOMEM; sieve_done() in any case. */
int sieve_init(struct sieve *sieve, const struct wanted *wanted);
void sieve_done(struct sieve *sieve);
int sieve_note(struct sieve *sieve, uint64_t start, uint64_t size);
/* Between the two. */
int sieve_sort(struct sieve *sieve);
bool sieve_keeps(const struct sieve *sieve, uint64_t start);
