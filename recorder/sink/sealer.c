// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sink/sealer.h"

#include <assert.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "naming/namer.h"
#include "recorder/sink/retainer.h"
#include "recorder/sink/unsaved.h"
#include "recorder/sink/spooler.h"
#include "base/worker.h"

/*
 * Invariants:
 * (1) the lock guards the members below it in the struct. The members above belong to the thread
 *     once it runs, except the spooler, whose own lock is taken inside of ours;
 * (2) tapes are sealed in the order in which they were put. The blocks of a tape that is sealed or
 *     unsaved are dropped;
 * (3) tapes.items[0] is the tape that the thread works on, if at_work. Nobody else looks into it.
 */

/* Symbol names of about 100,000 functions. */
#define NAMES_MAX_BYTES (16u << 20)

struct waiting_tape {
	struct tape *tape;
	uint64_t bytes;
	/* The number of the tape's blocks. The segment may get another number. */
	uint64_t sequence;
	bool named;
};

struct sealer {
	struct store_writer *writer;
	const struct sealer_options *options;
	/* NULL: none. */
	struct name_cache *cache;
	struct namer *namer;
	pthread_t thread;
	struct spooler *spooler;
	struct spooler_owner owner;
	struct retainer retainer;
	/* How often the store was found missing or replaced. */
	uint64_t renewed;
	/* Additional seconds before the next try after a failure. */
	unsigned int extra_seconds;
	/* A segment holds the unsaved loss of the recorder before us. */
	bool note_sealed;
	/* Spool files of earlier recorders could not be sealed yet. */
	bool leftovers;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	array_of(struct waiting_tape) tapes;
	/* Tapes that were not sealed by the end; a part of them is in the spool. */
	array_of(struct tape *) unsaved_tapes;
	bool at_work;
	/* The spooler found the disk full. */
	bool room_wanted;
	bool ending;
	/* The thread is about to end. */
	bool ended;
	/* The limits of the options, or newer limits. */
	struct store_limits limits;
	bool limits_noted;
	/* Loss that no segment holds yet; count 0: none. */
	struct tape_loss unsaved;
	struct sealer_status status;
};

/* Waits for work. Returns false if the end was requested and no work is left. */
static bool sealer_wait_for_work(struct sealer *sealer)
{
	bool there;

	pthread_mutex_lock(&sealer->lock);
	while (!sealer->tapes.count && !sealer->room_wanted && !sealer->ending)
		pthread_cond_wait(&sealer->changed, &sealer->lock);
	there = sealer->tapes.count || !sealer->ending;
	pthread_mutex_unlock(&sealer->lock);
	return there;
}

static void sealer_warn(struct sealer *sealer, const struct error *error)
{
	if (!*error->text)
		return;
	pthread_mutex_lock(&sealer->lock);
	sealer->status.warning = *error;
	pthread_mutex_unlock(&sealer->lock);
}

/* Gets the present limits, and writes them into the store if they are new. */
static void sealer_note_limits(struct sealer *sealer, struct store_limits *ret_limits,
			       struct error *warning)
{
	bool noted;

	pthread_mutex_lock(&sealer->lock);
	*ret_limits = sealer->limits;
	noted = sealer->limits_noted;
	sealer->limits_noted = true;
	pthread_mutex_unlock(&sealer->lock);
	if (!noted)
		retainer_note_limits(&sealer->retainer, ret_limits, warning);
}

static void sealer_check_space(struct sealer *sealer)
{
	struct store_limits limits;
	struct error warning = { 0 };

	sealer_note_limits(sealer, &limits, &warning);
	retainer_check(&sealer->retainer, &limits, &warning);
	sealer_warn(sealer, &warning);
}

/* Removes what exceeds the limits. Returns whether that freed space. */
static bool sealer_retain(struct sealer *sealer)
{
	struct store_retained retained;
	struct store_limits limits;
	struct error warning = { 0 };

	if (!sealer->options->limits)
		return false;
	sealer_note_limits(sealer, &limits, &warning);
	retainer_run(&sealer->retainer, &limits, &retained, &warning);
	sealer_warn(sealer, &warning);
	pthread_mutex_lock(&sealer->lock);
	retainer_add(&retained, &sealer->status.retained);
	pthread_mutex_unlock(&sealer->lock);
	return retained.removed > 0;
}

/* Runs in the spooler's thread; only the sealer's thread may apply limits. */
static void sealer_request_room(void *context)
{
	struct sealer *sealer = context;

	pthread_mutex_lock(&sealer->lock);
	sealer->room_wanted = true;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
}

static void sealer_make_room(struct sealer *sealer)
{
	bool wanted;

	pthread_mutex_lock(&sealer->lock);
	wanted = sealer->room_wanted;
	sealer->room_wanted = false;
	pthread_mutex_unlock(&sealer->lock);
	if (wanted && sealer_retain(sealer))
		spooler_retry(sealer->spooler);
}

/* The note also says how that recorder ended, so it stays until its spool is recovered. */
static bool sealer_must_recover(const struct sealer *sealer)
{
	return sealer->leftovers && !sealer->note_sealed && sealer->options->unsaved.count;
}

/*
 * Sets the oldest tape, the effort to pack it, and the loss to add. Returns false without a tape.
 */
static bool sealer_take_tape(struct sealer *sealer, struct waiting_tape *ret_waiting,
			     enum segment_effort *ret_effort, struct tape_loss *ret_unsaved)
{
	bool there;

	pthread_mutex_lock(&sealer->lock);
	there = sealer->tapes.count > 0;
	if (there) {
		*ret_waiting = sealer->tapes.items[0];
		*ret_effort =
			sealer->tapes.count > 1 || sealer->ending ? SEGMENT_HASTY : SEGMENT_USUAL;
		if (!sealer_must_recover(sealer))
			*ret_unsaved = sealer->unsaved;
		sealer->at_work = true;
	}
	pthread_mutex_unlock(&sealer->lock);
	return there;
}

/* Removes a tape from those that wait. The caller holds the lock. */
static struct tape *sealer_remove_tape(struct sealer *sealer, size_t at)
{
	struct waiting_tape *waiting = &sealer->tapes.items[at];
	struct tape *tape = waiting->tape;

	sealer->tapes.count--;
	memmove(waiting, waiting + 1, (sealer->tapes.count - at) * sizeof(*waiting));
	sealer->status.waiting = sealer->tapes.count;
	return tape;
}

/* Keeps the loss that was added after sealer_take_tape(), because no segment holds it. */
static void sealer_finish_tape(struct sealer *sealer, const struct waiting_tape *waiting,
			       const struct tape_loss *unsaved, uint64_t bytes)
{
	struct sealer_status *status = &sealer->status;
	bool note_sealed = false;

	pthread_mutex_lock(&sealer->lock);
	assert(sealer->at_work && sealer->tapes.items[0].tape == waiting->tape);
	status->segments++;
	status->bytes += bytes;
	status->spooled_ns = MAX(status->spooled_ns, waiting->tape->end_ns);
	if (unsaved->count) {
		sealer->unsaved.count -= unsaved->count;
		sealer->unsaved.from_ns = unsaved->to_ns;
		note_sealed = !sealer->note_sealed;
		sealer->note_sealed = true;
	}
	spooler_drop(sealer->spooler, waiting->sequence);
	tape_free(sealer_remove_tape(sealer, 0));
	sealer->at_work = false;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	if (note_sealed && sealer->options->unsaved.count)
		store_writer_clear_unsaved(sealer->writer);
}

/* Keeps the tape until it is known how much of it the spool holds. */
static void sealer_keep_for_note(struct sealer *sealer, struct tape *tape)
{
	if (array_push(&sealer->unsaved_tapes, tape) < 0)
		tape_free(tape);
}

/* Keeps the tape for another try, unless it can never be sealed. */
static void sealer_handle_failure(struct sealer *sealer, const struct waiting_tape *waiting, int r,
				  const struct error *error)
{
	pthread_mutex_lock(&sealer->lock);
	assert(sealer->at_work && sealer->tapes.items[0].tape == waiting->tape);
	sealer->tapes.items[0].named = waiting->named;
	if (sealer->ending || r == -EFBIG || !waiting->tape->anchors.count) {
		sealer->status.failed = r;
		sealer->status.unsaved_samples += waiting->tape->samples.count;
		sealer->status.error = *error;
		sealer_keep_for_note(sealer, sealer_remove_tape(sealer, 0));
		pthread_cond_broadcast(&sealer->changed);
	}
	sealer->at_work = false;
	pthread_mutex_unlock(&sealer->lock);
}

static int sealer_name(struct sealer *sealer, struct waiting_tape *waiting, struct error *error)
{
	int r = waiting->named ? 0 : namer_run(sealer->namer, waiting->tape);

	waiting->named = r == 0;
	return r < 0 ? error_set(error, r, "naming a segment: out of memory") : 0;
}

/* If the store was removed or replaced, the segments that were sealed before are gone. */
static void sealer_check_renewed(struct sealer *sealer)
{
	if (store_writer_replacements(sealer->writer) == sealer->renewed)
		return;
	sealer->renewed = store_writer_replacements(sealer->writer);
	pthread_mutex_lock(&sealer->lock);
	sealer->status.away = sealer->status.segments;
	sealer->status.away_bytes = sealer->status.bytes;
	pthread_mutex_unlock(&sealer->lock);
}

/* Seals the oldest tape. Returns 1 if it is sealed, 0 if no tape waits, or a negative errno. */
static int sealer_seal_one(struct sealer *sealer, struct error *error)
{
	enum segment_effort effort;
	struct waiting_tape waiting;
	struct tape_loss unsaved = { 0 };
	uint64_t bytes = 0;
	size_t losses;
	int r;

	if (!sealer_take_tape(sealer, &waiting, &effort, &unsaved))
		return 0;
	losses = waiting.tape->losses.count;
	r = sealer_name(sealer, &waiting, error);
	if (r == 0 && unsaved.count)
		r = array_push(&waiting.tape->losses, unsaved);
	if (r == 0)
		r = store_writer_seal(sealer->writer, waiting.tape, effort, &bytes, error);
	if (store_is_full(r) && sealer_retain(sealer))
		r = store_writer_seal(sealer->writer, waiting.tape, effort, &bytes, error);
	if (r == 1)
		sealer_warn(sealer, error);
	if (r >= 0) {
		sealer_check_renewed(sealer);
		sealer_finish_tape(sealer, &waiting, &unsaved, bytes);
		sealer_retain(sealer);
		return 1;
	}
	/* The loss may be greater at the next try. */
	waiting.tape->losses.count = losses;
	sealer_handle_failure(sealer, &waiting, r, error);
	return r;
}

/*
 * Reports that the store cannot be written and waits for a second. Waits longer each time if only
 * encoding the whole segment shows that the store still fails.
 */
static void sealer_wait_retry(struct sealer *sealer, int r, const struct error *error)
{
	struct timespec until = worker_second_from_now();

	until.tv_sec += r == -ENOSPC ? 0 : sealer->extra_seconds;
	sealer->extra_seconds = MIN(2 * sealer->extra_seconds + 1, 15u);
	pthread_mutex_lock(&sealer->lock);
	sealer->status.store_blocked = true;
	sealer->status.error = *error;
	pthread_cond_broadcast(&sealer->changed);
	while (!sealer->ending &&
	       pthread_cond_timedwait(&sealer->changed, &sealer->lock, &until) == 0)
		;
	pthread_mutex_unlock(&sealer->lock);
}

/* Its processes may still run if the tape is of this boot; otherwise only files can give names. */
static int sealer_seal_recovered(void *context, struct store_writer *writer, struct tape *tape)
{
	struct sealer *sealer = context;
	_cleanup_(cleanup_namer) struct namer *other = NULL;
	struct namer *namer = sealer->namer;
	struct finder elsewhere = sealer->options->finder;
	struct error error = { 0 };
	int r = 0;

	elsewhere.live = false;
	if (strcmp(tape_fact(tape, "boot_id"), sealer->options->boot_id) != 0) {
		r = namer_new(&elsewhere, sealer->cache, &other);
		namer = other;
	}
	if (r == 0)
		r = namer_run(namer, tape);
	if (r == 0)
		r = store_writer_seal(writer, tape, SEGMENT_USUAL, NULL, &error);
	if (store_is_full(r) && sealer_retain(sealer))
		r = store_writer_seal(writer, tape, SEGMENT_USUAL, NULL, &error);
	if (r != 0)
		sealer_warn(sealer, &error);
	return MIN(r, 0);
}

static void sealer_recover(struct sealer *sealer)
{
	struct store_recovered recovered = { 0 };
	struct error error = { 0 };
	int r;

	r = store_writer_recover(sealer->writer, sealer_seal_recovered, sealer, &recovered, &error);
	if (r < 0 && *error.text)
		sealer_warn(sealer, &error);
	sealer->leftovers = r < 0;
	pthread_mutex_lock(&sealer->lock);
	store_recovered_add(&sealer->status.recovered, &recovered);
	pthread_mutex_unlock(&sealer->lock);
}

static void sealer_work(struct sealer *sealer)
{
	struct error error = { 0 };
	int r;

	sealer_make_room(sealer);
	r = sealer_seal_one(sealer, &error);
	if (r < 0) {
		sealer_wait_retry(sealer, r, &error);
		return;
	}
	sealer->extra_seconds = 0;
	/* The store can be written now, so it may accept what it refused at the start. */
	if (r == 1 && sealer->leftovers)
		sealer_recover(sealer);
	pthread_mutex_lock(&sealer->lock);
	sealer->status.store_blocked = false;
	pthread_mutex_unlock(&sealer->lock);
}

static void *sealer_main(void *context)
{
	struct sealer *sealer = context;

	prctl(PR_SET_NAME, "perftape-seal");
	if (sealer->options->limits)
		sealer_check_space(sealer);
	if (sealer->options->boot_id)
		sealer_recover(sealer);
	while (sealer_wait_for_work(sealer))
		sealer_work(sealer);
	pthread_mutex_lock(&sealer->lock);
	sealer->ended = true;
	pthread_mutex_unlock(&sealer->lock);
	return NULL;
}

static void sealer_free(struct sealer *sealer)
{
	for (size_t i = 0; i < sealer->tapes.count; i++)
		tape_free(sealer->tapes.items[i].tape);
	array_done(&sealer->tapes);
	for (size_t i = 0; i < sealer->unsaved_tapes.count; i++)
		tape_free(sealer->unsaved_tapes.items[i]);
	array_done(&sealer->unsaved_tapes);
	namer_free(sealer->namer);
	name_cache_close(sealer->cache);
	worker_lock_done(&sealer->lock, &sealer->changed);
	free(sealer);
}

static int sealer_start_threads(struct sealer *sealer, struct error *error)
{
	int r = spooler_start(sealer->writer, &sealer->owner, &sealer->spooler, error);

	if (r < 0)
		return r;
	r = worker_start(&sealer->thread, sealer_main, sealer);
	if (r < 0) {
		spooler_stop(sealer->spooler, NULL);
		return error_set(error, r, "starting the sealing thread: %s", strerror(-r));
	}
	return 0;
}

int sealer_start(struct store_writer *writer, const struct sealer_options *options,
		 struct sealer **ret_sealer, struct error *error)
{
	struct sealer *sealer = calloc(1, sizeof(*sealer));
	int r;

	if (!sealer)
		return -ENOMEM;
	sealer->writer = sealer->retainer.writer = writer;
	sealer->options = options;
	if (options->limits)
		sealer->limits = *options->limits;
	sealer->unsaved = options->unsaved;
	sealer->owner = (struct spooler_owner){ sealer_request_room, sealer };
	worker_lock_init(&sealer->lock, &sealer->changed);
	/* Without the cache, names are searched again. */
	if (options->names_dir)
		name_cache_open(options->names_dir, NAMES_MAX_BYTES, &sealer->cache);
	r = namer_new(&options->finder, sealer->cache, &sealer->namer);
	if (r < 0)
		error_set(error, r, "out of memory");
	else
		r = sealer_start_threads(sealer, error);
	if (r < 0) {
		sealer_free(sealer);
		return r;
	}
	*ret_sealer = sealer;
	return 0;
}

void sealer_set_limits(struct sealer *sealer, const struct store_limits *limits)
{
	pthread_mutex_lock(&sealer->lock);
	sealer->limits = *limits;
	sealer->limits_noted = false;
	/* Apply the new limits now, and not after the next segment. */
	sealer->room_wanted = true;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
}

void sealer_end(struct sealer *sealer)
{
	pthread_mutex_lock(&sealer->lock);
	sealer->ending = true;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
}

bool sealer_ended(struct sealer *sealer)
{
	bool ended;

	pthread_mutex_lock(&sealer->lock);
	ended = sealer->ended;
	pthread_mutex_unlock(&sealer->lock);
	if (!ended)
		return false;
	/* End the spooler last: only its blocks remain of tapes that could not be sealed. */
	spooler_end(sealer->spooler);
	return spooler_ended(sealer->spooler);
}

struct sealer *sealer_stop(struct sealer *sealer, struct sealer_status *ret_status)
{
	uint64_t spooled_ns;

	if (!sealer)
		return NULL;
	sealer_end(sealer);
	pthread_join(sealer->thread, NULL);
	sealer->spooler = spooler_stop(sealer->spooler, &spooled_ns);
	sealer->status.unsaved = sealer->unsaved;
	for (size_t i = 0; i < sealer->unsaved_tapes.count; i++)
		unsaved_add_tape(&sealer->status.unsaved, sealer->unsaved_tapes.items[i],
				 spooled_ns);
	if (ret_status)
		*ret_status = sealer->status;
	sealer_free(sealer);
	return NULL;
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

/* Drops a tape as unsaved. The caller holds the lock. */
static void sealer_drop_tape(struct sealer *sealer, size_t at)
{
	const struct tape *tape = sealer->tapes.items[at].tape;

	unsaved_add(&sealer->unsaved, tape->begin_ns, tape->end_ns, tape->samples.count);
	sealer->status.unsaved_samples += tape->samples.count;
	tape_free(sealer_remove_tape(sealer, at));
}

/* The thread that puts a tape drops others, because the sealer's thread may hang in the disk. */
static void sealer_keep_bound(struct sealer *sealer)
{
	size_t first = sealer->at_work;
	uint64_t bytes = 0;

	for (size_t i = 0; i < sealer->tapes.count; i++)
		bytes += sealer->tapes.items[i].bytes;
	while (sealer->options->memory_bytes && bytes > sealer->options->memory_bytes &&
	       sealer->tapes.count > first + 1 &&
	       spooler_forget(sealer->spooler, sealer->tapes.items[first].sequence) == 0) {
		bytes -= sealer->tapes.items[first].bytes;
		sealer_drop_tape(sealer, first);
	}
}

int sealer_put(struct sealer *sealer, struct tape *tape)
{
	const struct waiting_tape waiting = { tape, tape_memory(tape), tape->sequence, false };
	int r;

	pthread_mutex_lock(&sealer->lock);
	r = array_push(&sealer->tapes, waiting);
	if (r == 0) {
		sealer->status.waiting = sealer->tapes.count;
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
