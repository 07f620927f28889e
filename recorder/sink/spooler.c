// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sink/spooler.h"

#include <assert.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "base/worker.h"

/*
 * Invariants:
 * (1) the lock guards the members below it in the struct. The members above belong to the thread
 *     once the thread runs;
 * (2) the thread writes blocks in the order in which they were put. A block that cannot be packed
 *     or written stays in `block` until the thread writes or drops it.
 */

/* Room for the last block of one tape and the first block of the next. */
#define BLOCKS_MAX 2

struct spooler {
	struct store_writer *writer;
	const struct spooler_owner *owner;
	pthread_t thread;
	/* The block that the thread works on. */
	struct spool_block block;
	struct zstd_packer *packer;
	/* The block's bytes for the file; empty: not packed yet. */
	struct buffer packed;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	array_of(struct spool_block) blocks;
	array_of(uint64_t) forgotten;
	bool at_work;
	/* The number of the block's tape. */
	uint64_t work_sequence;
	/* The thread need not write the block any more. */
	bool dropped;
	/* Try again now, because there may be free disk space. */
	bool retry;
	bool ending;
	/* The thread is about to end. */
	bool ended;
	struct spooler_status status;
};

/* Frees the block at work. The caller holds the lock. */
static void spooler_end_block(struct spooler *spooler)
{
	spooler->at_work = spooler->dropped = false;
	spool_block_done(&spooler->block);
	spooler->packed.size = 0;
}

/*
 * Removes the spools of unsaved tapes. The caller holds the lock; the function releases it during
 * disk access.
 */
static void spooler_forget_all(struct spooler *spooler)
{
	while (spooler->forgotten.count) {
		uint64_t sequence = spooler->forgotten.items[--spooler->forgotten.count];

		pthread_mutex_unlock(&spooler->lock);
		store_writer_forget(spooler->writer, sequence);
		pthread_mutex_lock(&spooler->lock);
	}
}

/*
 * Takes the next block, unless a block is at work. Returns false if no block is to be written. The
 * caller holds the lock.
 */
static bool spooler_take_block(struct spooler *spooler)
{
	if (spooler->dropped)
		spooler_end_block(spooler);
	if (!spooler->at_work && spooler->blocks.count) {
		assert(!spooler->packed.size);
		spooler->at_work = true;
		spooler->block = spooler->blocks.items[0];
		spooler->work_sequence = spooler->block.sequence;
		spooler->blocks.count--;
		memmove(spooler->blocks.items, spooler->blocks.items + 1,
			spooler->blocks.count * sizeof(*spooler->blocks.items));
	}
	return spooler->at_work;
}

static int spooler_write_block(struct spooler *spooler, struct error *error)
{
	const struct spool_block *block = &spooler->block;
	int r = spooler->packed.size ? 0 : spool_pack(block, spooler->packer, &spooler->packed);

	if (r < 0) {
		spooler->packed.size = 0;
		return error_set(error, r, "spooling: out of memory");
	}
	return store_writer_spool(spooler->writer, block->sequence, spooler->packed.data,
				  spooler->packed.size, error);
}

/* Waits for a second, or until spooler_retry(), or until the end. The caller holds the lock. */
static void spooler_wait_retry(struct spooler *spooler, const struct error *error)
{
	struct timespec until = worker_second_from_now();

	spooler->status.blocked = true;
	spooler->status.error = *error;
	while (!spooler->ending && !spooler->retry &&
	       pthread_cond_timedwait(&spooler->changed, &spooler->lock, &until) == 0)
		;
	spooler->retry = false;
}

/*
 * Writes the block at work, with the lock released, and notes the result. Returns false if the
 * write failed and the spooler ends, so that it does not try again.
 */
static bool spooler_work(struct spooler *spooler)
{
	uint64_t until_ns = spooler->block.until_ns;
	bool ending = spooler->ending;
	struct error error = { 0 };
	int r;

	pthread_mutex_unlock(&spooler->lock);
	r = spooler_write_block(spooler, &error);
	if (store_is_full(r))
		spooler->owner->make_room(spooler->owner->context);
	pthread_mutex_lock(&spooler->lock);
	if (r < 0) {
		if (!ending)
			spooler_wait_retry(spooler, &error);
		return !ending;
	}
	spooler_end_block(spooler);
	if (r == 0)
		spooler->status.spooled_ns = MAX(spooler->status.spooled_ns, until_ns);
	spooler->status.blocked = false;
	return true;
}

static void *spooler_main(void *context)
{
	struct spooler *spooler = context;
	bool on = true;

	prctl(PR_SET_NAME, "perftape-spool");
	pthread_mutex_lock(&spooler->lock);
	while (on) {
		spooler_forget_all(spooler);
		if (spooler_take_block(spooler))
			on = spooler_work(spooler);
		else if (spooler->ending)
			on = false;
		else
			pthread_cond_wait(&spooler->changed, &spooler->lock);
	}
	spooler->ended = true;
	pthread_mutex_unlock(&spooler->lock);
	return NULL;
}

static void spooler_free(struct spooler *spooler)
{
	spooler_end_block(spooler);
	zstd_packer_free(spooler->packer);
	buffer_done(&spooler->packed);
	for (size_t i = 0; i < spooler->blocks.count; i++)
		spool_block_done(&spooler->blocks.items[i]);
	array_done(&spooler->blocks);
	array_done(&spooler->forgotten);
	worker_lock_done(&spooler->lock, &spooler->changed);
	free(spooler);
}

int spooler_start(struct store_writer *writer, const struct spooler_owner *owner,
		  struct spooler **ret_spooler, struct error *error)
{
	struct spooler *spooler = calloc(1, sizeof(*spooler));
	int r;

	if (!spooler)
		return -ENOMEM;
	spooler->writer = writer;
	spooler->owner = owner;
	worker_lock_init(&spooler->lock, &spooler->changed);
	r = zstd_packer_new(SPOOL_PACK_LEVEL, &spooler->packer);
	if (r == 0)
		r = worker_start(&spooler->thread, spooler_main, spooler);
	if (r < 0) {
		spooler_free(spooler);
		return error_set(error, r, "starting the spooling thread: %s", strerror(-r));
	}
	*ret_spooler = spooler;
	return 0;
}

void spooler_end(struct spooler *spooler)
{
	pthread_mutex_lock(&spooler->lock);
	spooler->ending = true;
	pthread_cond_broadcast(&spooler->changed);
	pthread_mutex_unlock(&spooler->lock);
}

bool spooler_ended(struct spooler *spooler)
{
	bool ended;

	pthread_mutex_lock(&spooler->lock);
	ended = spooler->ended;
	pthread_mutex_unlock(&spooler->lock);
	return ended;
}

struct spooler *spooler_stop(struct spooler *spooler, uint64_t *ret_spooled_ns)
{
	if (!spooler)
		return NULL;
	spooler_end(spooler);
	pthread_join(spooler->thread, NULL);
	if (ret_spooled_ns)
		*ret_spooled_ns = spooler->status.spooled_ns;
	spooler_free(spooler);
	return NULL;
}

bool spooler_has_room(struct spooler *spooler)
{
	bool takes;

	pthread_mutex_lock(&spooler->lock);
	takes = spooler->blocks.count < BLOCKS_MAX;
	pthread_mutex_unlock(&spooler->lock);
	return takes;
}

int spooler_put(struct spooler *spooler, struct spool_block *block)
{
	int r;

	pthread_mutex_lock(&spooler->lock);
	r = array_push(&spooler->blocks, *block);
	pthread_cond_broadcast(&spooler->changed);
	pthread_mutex_unlock(&spooler->lock);
	if (r < 0)
		spool_block_done(block);
	*block = (struct spool_block){ 0 };
	return r;
}

/* Drops the blocks of tapes `first` to `last`. The caller holds the lock. */
static void spooler_drop_range(struct spooler *spooler, uint64_t first, uint64_t last)
{
	size_t kept = 0;

	for (size_t i = 0; i < spooler->blocks.count; i++)
		if (spooler->blocks.items[i].sequence >= first &&
		    spooler->blocks.items[i].sequence <= last)
			spool_block_done(&spooler->blocks.items[i]);
		else
			spooler->blocks.items[kept++] = spooler->blocks.items[i];
	spooler->blocks.count = kept;
	spooler->dropped |= spooler->at_work && spooler->work_sequence >= first &&
			    spooler->work_sequence <= last;
}

void spooler_drop(struct spooler *spooler, uint64_t sequence)
{
	pthread_mutex_lock(&spooler->lock);
	spooler_drop_range(spooler, 0, sequence);
	pthread_mutex_unlock(&spooler->lock);
}

int spooler_forget(struct spooler *spooler, uint64_t sequence)
{
	int r;

	pthread_mutex_lock(&spooler->lock);
	r = array_push(&spooler->forgotten, sequence);
	if (r == 0)
		spooler_drop_range(spooler, sequence, sequence);
	pthread_cond_broadcast(&spooler->changed);
	pthread_mutex_unlock(&spooler->lock);
	return r;
}

void spooler_retry(struct spooler *spooler)
{
	pthread_mutex_lock(&spooler->lock);
	spooler->retry = true;
	pthread_cond_broadcast(&spooler->changed);
	pthread_mutex_unlock(&spooler->lock);
}

void spooler_status(struct spooler *spooler, struct spooler_status *ret_status)
{
	pthread_mutex_lock(&spooler->lock);
	*ret_status = spooler->status;
	pthread_mutex_unlock(&spooler->lock);
}
