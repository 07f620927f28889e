/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Processes items 0 to count - 1 in several threads, which take them in turn. */

#include <stddef.h>
#include <stdint.h>

struct workers {
	/* At least 1. */
	unsigned int threads;
	size_t count;
	/*
	 * Processes an item; several threads call it at once. Returns 0, or a negative errno, which
	 * prevents further items.
	 */
	int (*work)(void *context, unsigned int worker, size_t item);
	void *context;
	/*
	 * Returns about how many bytes of memory the work on an item takes; one thread calls it at
	 * a time. The items that threads work on at once stay within `memory_bytes`; a larger item
	 * runs alone. If the next item does not fit, the thread ends and leaves the item to the
	 * others. NULL: no limit.
	 */
	uint64_t (*cost)(void *context, size_t item);
	uint64_t memory_bytes;
	/* A time on CLOCK_MONOTONIC; 0: no limit. No item except the first begins after it. */
	uint64_t until_ns;
	/*
	 * Reports the number of processed items and the number of all items. Called from one thread
	 * at a time. May be NULL.
	 */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

/*
 * Processes the items and waits for all threads. If some threads cannot start, the others do the
 * work. Returns 0 or the first failure. *ret_done is the number of processed items.
 */
int workers_run(const struct workers *workers, size_t *ret_done);
