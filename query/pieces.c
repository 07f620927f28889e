// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invariants:
 * (1) piece number n is made in slot n modulo the count of slots, and by one thread;
 * (2) a slot is the maker's until it is done, then the writer's until that is, then free: its piece is SLOTS further on;
 * (3) pieces are taken in order, so that the one that the writer waits for is always under way.
 */
#include "query/pieces.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define SLOTS_A_THREAD 2
/* One thread writes: more than this it cannot keep busy, and each takes room for its pieces. */
#define THREADS_MAX 4

struct slot {
	struct buffer text;
	size_t piece; /* that it is for next */
	bool made;
};

struct making {
	const struct pieces *pieces;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct slot *slots;
	size_t slot_count;
	size_t next; /* piece */
	bool stopped;
};

static void *make_pieces(void *context)
{
	struct making *making = context;

	pthread_mutex_lock(&making->lock);
	while (!making->stopped && making->next < making->pieces->count) {
		size_t piece = making->next++;
		struct slot *slot = &making->slots[piece % making->slot_count];

		while (!making->stopped && slot->piece != piece)
			pthread_cond_wait(&making->changed, &making->lock);
		if (making->stopped)
			break;
		pthread_mutex_unlock(&making->lock);
		making->pieces->make(making->pieces->context, piece, &slot->text);
		pthread_mutex_lock(&making->lock);
		slot->made = true;
		pthread_cond_broadcast(&making->changed);
	}
	pthread_mutex_unlock(&making->lock);
	return NULL;
}

/* Without copying it, where nothing is before it. */
static int put_piece(struct buffer *text, struct output *output)
{
	struct buffer empty = output->text;

	if (buffer_failed(text))
		return -ENOMEM;
	if (output->text.size) {
		buffer_bytes(&output->text, text->data, text->size);
	} else {
		output->text = *text;
		*text = empty;
	}
	output_flush(output);
	text->size = 0;
	return 0;
}

static int write_slots(struct making *making, struct output *output)
{
	int r = 0;

	for (size_t piece = 0; r == 0 && piece < making->pieces->count && !output->failed;
		piece++) {
		struct slot *slot = &making->slots[piece % making->slot_count];

		pthread_mutex_lock(&making->lock);
		while (!slot->made)
			pthread_cond_wait(&making->changed, &making->lock);
		pthread_mutex_unlock(&making->lock);
		r = put_piece(&slot->text, output);
		pthread_mutex_lock(&making->lock);
		slot->made = false;
		slot->piece = piece + making->slot_count;
		pthread_cond_broadcast(&making->changed);
		pthread_mutex_unlock(&making->lock);
	}
	return r;
}

static void stop(struct making *making)
{
	pthread_mutex_lock(&making->lock);
	making->stopped = true;
	pthread_cond_broadcast(&making->changed);
	pthread_mutex_unlock(&making->lock);
}

static int write_alone(const struct pieces *pieces, struct output *output)
{
	for (size_t piece = 0; piece < pieces->count && !output->failed; piece++) {
		pieces->make(pieces->context, piece, &output->text);
		if (buffer_failed(&output->text))
			return -ENOMEM;
		output_flush(output);
	}
	return 0;
}

/* The threads must not outlive what they work with. */
static int write_in_threads(
	struct making *making, pthread_t *threads, unsigned int count, struct output *output)
{
	unsigned int started = 0;
	int r;

	while (started < count && pthread_create(&threads[started], NULL, make_pieces, making) == 0)
		started++;
	r = started ? write_slots(making, output) : write_alone(making->pieces, output);
	stop(making);
	while (started)
		pthread_join(threads[--started], NULL);
	return r;
}

int pieces_write(const struct pieces *pieces, struct output *output)
{
	unsigned int count = MIN(pieces->threads, THREADS_MAX);
	struct making making = { .pieces = pieces, .slot_count = SLOTS_A_THREAD * count };
	_cleanup_free_ pthread_t *threads = NULL;
	int r = -ENOMEM;

	if (count < 2 || pieces->count < 2)
		return write_alone(pieces, output);
	threads = calloc(count, sizeof(*threads));
	making.slots = calloc(making.slot_count, sizeof(*making.slots));
	for (size_t i = 0; making.slots && i < making.slot_count; i++)
		making.slots[i].piece = i;
	pthread_mutex_init(&making.lock, NULL);
	pthread_cond_init(&making.changed, NULL);
	if (threads && making.slots)
		r = write_in_threads(&making, threads, count, output);
	pthread_cond_destroy(&making.changed);
	pthread_mutex_destroy(&making.lock);
	for (size_t i = 0; making.slots && i < making.slot_count; i++)
		buffer_done(&making.slots[i].text);
	free(making.slots);
	return r;
}
