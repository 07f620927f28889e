/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Cached files in an order: indexes of the cache's list, each at most once. Private to opener.c. */

#include "recorder/files/fd-cache.h"

struct fd_queue {
	uint32_t items[FD_CACHE_MAX];
	size_t head;
	size_t count;
};

/* Puts an item behind the others. */
void fd_queue_put(struct fd_queue *queue, uint32_t item);
/* Puts an item in front of the others. */
void fd_queue_return(struct fd_queue *queue, uint32_t item);
/* Takes the first or the last item of a queue that is not empty. */
uint32_t fd_queue_take(struct fd_queue *queue);
uint32_t fd_queue_take_last(struct fd_queue *queue);
