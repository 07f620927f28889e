// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invariants:
 * (1) piece number n is made in slot n modulo the count of slots, and by one thread;
 * (2) a slot is the maker's until it is made, then the writer's until that is written, then free:
 * its piece is the count of slots further on; (3) pieces are taken in order, so that the one that
 * the writer waits for is always under way, and written in order; (4) a piece is taken after a
 * `free`, of which there are as many as slots and one more for each piece that was written: so the
 * piece before it in its slot was written.
 *
 * Semaphores, not conditions: there is a piece every tenth of a millisecond, and who does not have
 * to wait makes no call of the kernel.
 */
#include "query/text/parallel-text.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define SLOTS_A_THREAD 2
/* One thread writes: more than this it cannot keep busy, and each takes room for its pieces. */
#define THREADS_MAX 4

struct slot {
	struct buffer text;
	sem_t made;
};

struct making {
	const struct parallel_text *pieces;
	struct slot *slots;
	size_t slot_count;
	/* slots */
	sem_t free;
	/* piece */
	_Atomic size_t next;
	_Atomic bool stopped;
};

static void parallel_text_wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0)
		;
}

static void *make_pieces(void *context)
{
	struct making *making = context;

	while (true) {
		struct slot *slot;
		size_t piece;

		parallel_text_wait_for(&making->free);
		piece = making->next++;
		if (making->stopped || piece >= making->pieces->count)
			break;
		slot = &making->slots[piece % making->slot_count];
		making->pieces->make(making->pieces->context, piece, &slot->text);
		sem_post(&slot->made);
	}
	return NULL;
}

/* Without copying it, where nothing is before it. */
static int parallel_text_put_piece(struct buffer *text, struct output *output)
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

		parallel_text_wait_for(&slot->made);
		r = parallel_text_put_piece(&slot->text, output);
		sem_post(&making->free);
	}
	return r;
}

static int write_alone(const struct parallel_text *pieces, struct output *output)
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
static int write_in_threads(struct making *making, pthread_t *threads, unsigned int count,
			    struct output *output)
{
	unsigned int started = 0;
	int r;

	while (started < count && pthread_create(&threads[started], NULL, make_pieces, making) == 0)
		started++;
	r = started ? write_slots(making, output) : write_alone(making->pieces, output);
	making->stopped = true;
	for (unsigned int i = 0; i < started; i++)
		sem_post(&making->free);
	while (started)
		pthread_join(threads[--started], NULL);
	return r;
}

int parallel_text_write(const struct parallel_text *pieces, struct output *output)
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
		sem_init(&making.slots[i].made, 0, 0);
	sem_init(&making.free, 0, making.slot_count);
	if (threads && making.slots)
		r = write_in_threads(&making, threads, count, output);
	sem_destroy(&making.free);
	for (size_t i = 0; making.slots && i < making.slot_count; i++) {
		sem_destroy(&making.slots[i].made);
		buffer_done(&making.slots[i].text);
	}
	free(making.slots);
	return r;
}
