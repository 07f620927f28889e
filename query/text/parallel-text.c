// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invariants:
 * (1) One thread makes piece number n, in slot n modulo the number of slots.
 * (2) A slot belongs to the thread that makes its piece, then to the writer, then to the piece one
 *     round later.
 * (3) Threads take the pieces in order, and the writer writes them in order, so the writer always
 *     waits for a piece in progress.
 * (4) A thread waits on the semaphore `free` before it takes a piece. This semaphore starts at the
 *     number of slots and rises with each written piece. The previous piece in a slot has therefore
 *     always been written.
 *
 * Semaphores are used instead of conditions: pieces come every 0.1 ms, and a semaphore needs a
 * system call only if the thread has to wait.
 */
#include "query/text/parallel-text.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define SLOTS_PER_THREAD 2
/*
 * The largest number of threads. The single writer could not keep up with more threads, and each
 * thread needs memory for its pieces.
 */
#define THREADS_MAX 4

struct slot {
	struct buffer text;
	sem_t made;
};

struct job {
	const struct parallel_text *text;
	struct slot *slots;
	size_t slot_count;
	/* free slots */
	sem_t free;
	/* number of the next piece */
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
	struct job *job = context;

	while (true) {
		struct slot *slot;
		size_t piece;

		parallel_text_wait_for(&job->free);
		piece = job->next++;
		if (job->stopped || piece >= job->text->count)
			break;
		slot = &job->slots[piece % job->slot_count];
		job->text->make(job->text->context, piece, &slot->text);
		sem_post(&slot->made);
	}
	return NULL;
}

/* Writes a piece. Avoids a copy if the output's text is empty. */
static int parallel_text_put_piece(struct buffer *piece, struct output *output)
{
	struct buffer empty = output->text;

	if (buffer_failed(piece))
		return -ENOMEM;
	if (output->text.size) {
		buffer_bytes(&output->text, piece->data, piece->size);
	} else {
		output->text = *piece;
		*piece = empty;
	}
	output_flush(output);
	piece->size = 0;
	return 0;
}

static int write_slots(struct job *job, struct output *output)
{
	int r = 0;

	for (size_t piece = 0; r == 0 && piece < job->text->count && !output->failed; piece++) {
		struct slot *slot = &job->slots[piece % job->slot_count];

		parallel_text_wait_for(&slot->made);
		r = parallel_text_put_piece(&slot->text, output);
		sem_post(&job->free);
	}
	return r;
}

static int write_alone(const struct parallel_text *text, struct output *output)
{
	for (size_t piece = 0; piece < text->count && !output->failed; piece++) {
		text->make(text->context, piece, &output->text);
		if (buffer_failed(&output->text))
			return -ENOMEM;
		output_flush(output);
	}
	return 0;
}

/* Joins all threads before it returns, because they use the caller's data. */
static int write_in_threads(struct job *job, pthread_t *threads, unsigned int count,
			    struct output *output)
{
	unsigned int started = 0;
	int r;

	while (started < count && pthread_create(&threads[started], NULL, make_pieces, job) == 0)
		started++;
	r = started ? write_slots(job, output) : write_alone(job->text, output);
	job->stopped = true;
	for (unsigned int i = 0; i < started; i++)
		sem_post(&job->free);
	while (started)
		pthread_join(threads[--started], NULL);
	return r;
}

int parallel_text_write(const struct parallel_text *text, struct output *output)
{
	unsigned int count = MIN(text->threads, THREADS_MAX);
	struct job job = { .text = text, .slot_count = SLOTS_PER_THREAD * count };
	_cleanup_free_ pthread_t *threads = NULL;
	int r = -ENOMEM;

	if (count < 2 || text->count < 2)
		return write_alone(text, output);
	threads = calloc(count, sizeof(*threads));
	job.slots = calloc(job.slot_count, sizeof(*job.slots));
	for (size_t i = 0; job.slots && i < job.slot_count; i++)
		sem_init(&job.slots[i].made, 0, 0);
	sem_init(&job.free, 0, job.slot_count);
	if (threads && job.slots)
		r = write_in_threads(&job, threads, count, output);
	sem_destroy(&job.free);
	for (size_t i = 0; job.slots && i < job.slot_count; i++) {
		sem_destroy(&job.slots[i].made);
		buffer_done(&job.slots[i].text);
	}
	free(job.slots);
	return r;
}
