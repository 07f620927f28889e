// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of the sealer for other threads. They do not wait for the disk or for names, except
 * sealer_wait().
 */
#include "recorder/sink/sealer-internal.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/sink/unsaved.h"

void sealer_count_waiting(struct sealer *sealer)
{
	sealer->status.waiting = sealer->tapes.count + sealer->deferred.count;
}

struct tape *sealer_remove_tape(struct sealer *sealer, size_t at)
{
	struct waiting_tape *waiting = &sealer->tapes.items[at];
	struct tape *tape = waiting->tape;

	sealer->tapes.count--;
	memmove(waiting, waiting + 1, (sealer->tapes.count - at) * sizeof(*waiting));
	sealer_count_waiting(sealer);
	return tape;
}

void sealer_set_limits(struct sealer *sealer, const struct store_limits *limits)
{
	pthread_mutex_lock(&sealer->lock);
	sealer->limits = *limits;
	sealer->limits_noted = false;
	/* Make the thread apply the new limits now, not only after the next segment. */
	sealer->room_wanted = true;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
}

uint64_t sealer_next_number(struct sealer *sealer)
{
	return store_writer_number(sealer->writer);
}

bool sealer_has_room(struct sealer *sealer)
{
	return spooler_has_room(sealer->spooler);
}

int sealer_put_block(struct sealer *sealer, struct spool_block *block)
{
	return spooler_put(sealer->spooler, block);
}

/* Drops a tape, whose samples count as unsaved. The caller holds the lock. */
static void sealer_drop_tape(struct sealer *sealer, size_t at)
{
	const struct tape *tape = sealer->tapes.items[at].tape;

	unsaved_add(&sealer->unsaved, tape->begin_ns, tape->end_ns, tape->samples.count);
	sealer->status.unsaved_samples += tape->samples.count;
	tape_free(sealer_remove_tape(sealer, at));
}

/* Returns whether the whole tape is in the spool. */
static bool sealer_is_whole(struct sealer *sealer, const struct waiting_tape *waiting)
{
	struct spooler_status spool;

	spooler_status(sealer->spooler, &spool);
	return spool.spooled_ns >= waiting->tape->end_ns &&
	       store_writer_holds(sealer->writer, waiting->sequence);
}

/*
 * Frees a tape that then waits only in the spool. Returns 0 or -ENOMEM. The caller holds the lock.
 */
static int sealer_defer_tape(struct sealer *sealer, size_t at)
{
	const struct tape *tape = sealer->tapes.items[at].tape;
	struct deferred_tape deferred = { .sequence = sealer->tapes.items[at].sequence };

	unsaved_add(&deferred.samples, tape->begin_ns, tape->end_ns, tape->samples.count);
	if (array_push(&sealer->deferred, deferred) < 0)
		return -ENOMEM;
	tape_free(sealer_remove_tape(sealer, at));
	return 0;
}

/*
 * Defers a waiting tape if the whole tape is in the spool; otherwise drops it. The caller holds the
 * lock.
 */
static int sealer_unload_tape(struct sealer *sealer, size_t at)
{
	const struct waiting_tape *waiting = &sealer->tapes.items[at];
	int r;

	if (sealer_is_whole(sealer, waiting))
		return sealer_defer_tape(sealer, at);
	r = spooler_forget(sealer->spooler, waiting->sequence);
	if (r < 0)
		return r;
	sealer_drop_tape(sealer, at);
	return 0;
}

/*
 * Unloads waiting tapes beyond the memory limit. The thread that puts a tape does this, because the
 * sealer's thread may hang in the disk. Passes over a named tape whose spool is whole, because the
 * sealer would have to name it again.
 */
static void sealer_keep_bound(struct sealer *sealer)
{
	size_t at = sealer->at_work;
	uint64_t bytes = 0;

	for (size_t i = 0; i < sealer->tapes.count; i++)
		bytes += sealer->tapes.items[i].bytes;
	while (sealer->options->memory_bytes && bytes > sealer->options->memory_bytes &&
	       sealer->tapes.count > at + 1) {
		const struct waiting_tape *waiting = &sealer->tapes.items[at];
		uint64_t freed = waiting->bytes;

		if (waiting->named && sealer_is_whole(sealer, waiting))
			at++;
		else if (sealer_unload_tape(sealer, at) == 0)
			bytes -= freed;
		else
			return;
	}
}

int sealer_put(struct sealer *sealer, struct tape *tape)
{
	const struct waiting_tape waiting = { tape, tape_memory(tape), tape->sequence, false };
	int r;

	pthread_mutex_lock(&sealer->lock);
	r = array_push(&sealer->tapes, waiting);
	if (r == 0) {
		sealer_count_waiting(sealer);
		sealer_keep_bound(sealer);
	}
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	if (r < 0)
		tape_free(tape);
	return r;
}

void sealer_status(struct sealer *sealer, struct sealer_status *ret_status)
{
	struct spooler_status spool;

	spooler_status(sealer->spooler, &spool);
	pthread_mutex_lock(&sealer->lock);
	*ret_status = sealer->status;
	pthread_mutex_unlock(&sealer->lock);
	ret_status->spooled_ns = MAX(ret_status->spooled_ns, spool.spooled_ns);
	if (spool.blocked && !ret_status->store_blocked) {
		ret_status->store_blocked = true;
		ret_status->error = spool.error;
	}
}

int sealer_wait(struct sealer *sealer, size_t fewer_than)
{
	bool stalled;

	pthread_mutex_lock(&sealer->lock);
	while (sealer->status.waiting >= fewer_than && !sealer->status.store_blocked)
		pthread_cond_wait(&sealer->changed, &sealer->lock);
	stalled = sealer->status.store_blocked || sealer->status.failed;
	pthread_mutex_unlock(&sealer->lock);
	return stalled ? -EIO : 0;
}
