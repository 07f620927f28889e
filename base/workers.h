/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Items 0 to count - 1, taken in turn by threads. */

#include <stddef.h>
#include <stdint.h>

struct workers {
	/* at least 1 */
	unsigned int threads;
	size_t count;
	/* 0, or a negative errno, after which no item is begun; called from several threads at
	 * once. */
	int (*work)(void *context, unsigned int worker, size_t item);
	void *context;
	/* CLOCK_MONOTONIC: from then on no item but the first is begun; 0: all are */
	uint64_t until_ns;
	/* How many items of how many are done; called from one thread at a time. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

/* The first failure, or 0 with the number of items that were done. Where no more threads can be
 * had, those that there are do the work. */
int workers_run(const struct workers *workers, size_t *ret_done);
