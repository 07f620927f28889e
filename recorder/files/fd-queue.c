// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/fd-queue.h"

#include <assert.h>

void fd_queue_put(struct fd_queue *queue, uint32_t item)
{
	assert(queue->count < FD_CACHE_MAX);
	queue->items[(queue->head + queue->count++) % FD_CACHE_MAX] = item;
}

void fd_queue_return(struct fd_queue *queue, uint32_t item)
{
	assert(queue->count < FD_CACHE_MAX);
	queue->head = (queue->head + FD_CACHE_MAX - 1) % FD_CACHE_MAX;
	queue->items[queue->head] = item;
	queue->count++;
}

uint32_t fd_queue_take(struct fd_queue *queue)
{
	uint32_t item = queue->items[queue->head];

	assert(queue->count);
	queue->head = (queue->head + 1) % FD_CACHE_MAX;
	queue->count--;
	return item;
}

uint32_t fd_queue_take_last(struct fd_queue *queue)
{
	assert(queue->count);
	return queue->items[(queue->head + --queue->count) % FD_CACHE_MAX];
}
