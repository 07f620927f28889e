// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sink/sealer.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "naming/namer.h"
#include "recorder/sink/retainer.h"
#include "recorder/sink/unsaved.h"
#include "recorder/sink/spooler.h"
#include "base/worker.h"

/*
 * Invariants:
 * (1) the lock guards what stands below it in the struct; what stands above is the thread's alone
 * once it runs, but for the spooler, which has a lock of its own, taken inside of ours; (2) tapes
 * are sealed in the order in which they were put; the blocks of one that is sealed or unsaved are
 * dropped; (3) tapes.items[0] is the one at work, if one is; nobody else looks into that.
 */

/* Of names that are kept: those of a hundred thousand functions. */
#define NAMES_MAX_BYTES (16u << 20)

struct waiting {
	struct tape *tape;
	uint64_t bytes;
	/* of its blocks: it may be sealed as another one */
	uint64_t sequence;
	bool named;
};

struct sealer {
	struct store_writer *writer;
	const struct sealer_options *options;
	/* or NULL */
	struct name_cache *cache;
	struct namer *namer;
	pthread_t thread;
	struct spooler *spooler;
	struct spooler_owner owner;
	struct retainer retainer;
	/* times that the store was found gone or replaced */
	uint64_t renewed;
	/* seconds more, until what failed is tried again */
	unsigned int patience;
	/* of what the recorder before us could not store */
	bool heard;
	/* of recorders before us, that could not be sealed yet */
	bool leftovers;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	array_of(struct waiting) tapes;
	/* at the end; some of them is in the spool */
	array_of(struct tape *) unsaved_tapes;
	bool at_work;
	/* for the spool */
	bool room_wanted;
	bool ending;
	/* the thread is about to */
	bool ended;
	/* those of the options, or newer ones */
	struct store_limits limits;
	bool limits_noted;
	/* what was given up and no segment tells of yet; count 0: nothing */
	struct tape_loss unsaved;
	struct sealer_status status;
};

/* Waits for something to do; false when there is nothing and nothing will come. */
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

/* The limits that hold now, noted in the store. */
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
		retainer_note(&sealer->retainer, ret_limits, warning);
}

static void sealer_look_for_space(struct sealer *sealer)
{
	struct store_limits limits;
	struct error warning = { 0 };

	sealer_note_limits(sealer, &limits, &warning);
	retainer_look(&sealer->retainer, &limits, &warning);
	sealer_warn(sealer, &warning);
}

/* Removes what is beyond the limits. True when there is more room than before. */
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
	sealer->status.removed += retained.own;
	sealer->status.removed_bytes += retained.own_bytes;
	pthread_mutex_unlock(&sealer->lock);
	return retained.removed > 0;
}

/* The spooler's thread: the writer's limits are for ours. */
static void want_room(void *context)
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
		spooler_try_again(sealer->spooler);
}

/*
 * What the recorder before us could not store is told by its last words, until what it left is
 * recovered: these say how it ended, too.
 */
static bool is_inherited(const struct sealer *sealer)
{
	return sealer->leftovers && !sealer->heard && sealer->options->unsaved.count;
}

/* The oldest tape, how hard to pack it, and what it is to tell of. */
static bool take_tape(struct sealer *sealer, struct waiting *ret_waiting,
		      enum segment_effort *ret_effort, struct tape_loss *ret_shed)
{
	bool there;

	pthread_mutex_lock(&sealer->lock);
	there = sealer->tapes.count > 0;
	if (there) {
		*ret_waiting = sealer->tapes.items[0];
		*ret_effort =
			sealer->tapes.count > 1 || sealer->ending ? SEGMENT_HASTY : SEGMENT_USUAL;
		if (!is_inherited(sealer))
			*ret_shed = sealer->unsaved;
		sealer->at_work = true;
	}
	pthread_mutex_unlock(&sealer->lock);
	return there;
}

/* Takes a tape out of those that wait; the lock is held. */
static struct tape *take_out(struct sealer *sealer, size_t at)
{
	struct waiting *waiting = &sealer->tapes.items[at];
	struct tape *tape = waiting->tape;

	sealer->tapes.count--;
	memmove(waiting, waiting + 1, (sealer->tapes.count - at) * sizeof(*waiting));
	sealer->status.waiting = sealer->tapes.count;
	return tape;
}

/* What has been unsaved since it was taken, it does not tell of. */
static void sealer_sealed(struct sealer *sealer, const struct waiting *waiting,
			  const struct tape_loss *unsaved, uint64_t bytes)
{
	struct sealer_status *status = &sealer->status;
	bool heard = false;

	pthread_mutex_lock(&sealer->lock);
	status->segments++;
	status->bytes += bytes;
	status->spooled_ns = MAX(status->spooled_ns, waiting->tape->end_ns);
	if (unsaved->count) {
		sealer->unsaved.count -= unsaved->count;
		sealer->unsaved.from_ns = unsaved->to_ns;
		heard = !sealer->heard;
		sealer->heard = true;
	}
	spooler_drop(sealer->spooler, waiting->sequence);
	tape_free(take_out(sealer, 0));
	sealer->at_work = false;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	if (heard && sealer->options->unsaved.count)
		store_writer_heard(sealer->writer);
}

/* Until it is known how much of it came into the spool. */
static void keep_unsaved(struct sealer *sealer, struct tape *tape)
{
	if (array_push(&sealer->unsaved_tapes, tape) < 0)
		tape_free(tape);
}

/* It stays where it is, to be tried again, unless there is no hope. */
static void not_sealed(struct sealer *sealer, const struct waiting *waiting, int r,
		       const struct error *error)
{
	pthread_mutex_lock(&sealer->lock);
	sealer->tapes.items[0].named = waiting->named;
	if (sealer->ending || r == -EFBIG || !waiting->tape->anchors.count) {
		sealer->status.failed = r;
		sealer->status.unsaved_samples += waiting->tape->samples.count;
		sealer->status.error = *error;
		keep_unsaved(sealer, take_out(sealer, 0));
		pthread_cond_broadcast(&sealer->changed);
	}
	sealer->at_work = false;
	pthread_mutex_unlock(&sealer->lock);
}

static int name_tape(struct sealer *sealer, struct waiting *waiting, struct error *error)
{
	int r = waiting->named ? 0 : namer_run(sealer->namer, waiting->tape);

	waiting->named = r == 0;
	return r < 0 ? error_set(error, r, "out of memory while naming a segment") : 0;
}

/* What was sealed before this one went with the store that was there. */
static void note_renewed(struct sealer *sealer)
{
	if (store_writer_renewed(sealer->writer) == sealer->renewed)
		return;
	sealer->renewed = store_writer_renewed(sealer->writer);
	pthread_mutex_lock(&sealer->lock);
	sealer->status.away = sealer->status.segments;
	sealer->status.away_bytes = sealer->status.bytes;
	pthread_mutex_unlock(&sealer->lock);
}

/* The oldest tape that waits. 1 when it was sealed, 0 when there is none. */
static int seal_one(struct sealer *sealer, struct error *error)
{
	enum segment_effort effort;
	struct waiting waiting;
	struct tape_loss unsaved = { 0 };
	uint64_t bytes = 0;
	size_t losses;
	int r;

	if (!take_tape(sealer, &waiting, &effort, &unsaved))
		return 0;
	losses = waiting.tape->losses.count;
	r = name_tape(sealer, &waiting, error);
	if (r == 0 && unsaved.count)
		r = array_push(&waiting.tape->losses, unsaved);
	if (r == 0)
		r = store_writer_seal(sealer->writer, waiting.tape, effort, &bytes, error);
	if (store_is_full(r) && sealer_retain(sealer))
		r = store_writer_seal(sealer->writer, waiting.tape, effort, &bytes, error);
	if (r == 1)
		sealer_warn(sealer, error);
	if (r >= 0) {
		note_renewed(sealer);
		sealer_sealed(sealer, &waiting, &unsaved, bytes);
		sealer_retain(sealer);
		return 1;
	}
	/* by the next time it may be more */
	waiting.tape->losses.count = losses;
	not_sealed(sealer, &waiting, r, error);
	return r;
}

/* Says that the store cannot be written, and waits a second; longer each time where it takes making
 * the segment to learn that it still cannot be. */
static void sealer_stall(struct sealer *sealer, int r, const struct error *error)
{
	struct timespec until = worker_second_from_now();

	until.tv_sec += r == -ENOSPC ? 0 : sealer->patience;
	sealer->patience = MIN(2 * sealer->patience + 1, 15u);
	pthread_mutex_lock(&sealer->lock);
	sealer->status.store_blocked = true;
	sealer->status.error = *error;
	pthread_cond_broadcast(&sealer->changed);
	while (!sealer->ending &&
	       pthread_cond_timedwait(&sealer->changed, &sealer->lock, &until) == 0)
		;
	pthread_mutex_unlock(&sealer->lock);
}

/* What a recorder before us left: of this boot its processes may still run, of another one only
 * files can tell names. */
static int seal_recovered(void *context, struct store_writer *writer, struct tape *tape)
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

	r = store_writer_recover(sealer->writer, seal_recovered, sealer, &recovered, &error);
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
	r = seal_one(sealer, &error);
	if (r < 0) {
		sealer_stall(sealer, r, &error);
		return;
	}
	sealer->patience = 0;
	/* the store can be written: it may take now what it did not take at the start */
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
		sealer_look_for_space(sealer);
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

static int start_threads(struct sealer *sealer, struct error *error)
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
	sealer->writer = writer;
	sealer->retainer.writer = writer;
	sealer->options = options;
	if (options->limits)
		sealer->limits = *options->limits;
	sealer->unsaved = options->unsaved;
	sealer->owner = (struct spooler_owner){ want_room, sealer };
	worker_lock_init(&sealer->lock, &sealer->changed);
	/* without it names are found anew */
	if (options->names_dir)
		name_cache_open(options->names_dir, NAMES_MAX_BYTES, &sealer->cache);
	r = namer_new(&options->finder, sealer->cache, &sealer->namer);
	if (r < 0)
		error_set(error, r, "out of memory");
	else
		r = start_threads(sealer, error);
	if (r < 0) {
		sealer_free(sealer);
		return r;
	}
	*ret_sealer = sealer;
	return 0;
}

void sealer_limit(struct sealer *sealer, const struct store_limits *limits)
{
	pthread_mutex_lock(&sealer->lock);
	sealer->limits = *limits;
	sealer->limits_noted = false;
	/* what is beyond them now is not kept until the next segment is there */
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
	/* not earlier: the blocks of what could not be sealed are all that stays of it */
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
		unsaved_behind(&sealer->status.unsaved, sealer->unsaved_tapes.items[i], spooled_ns);
	if (ret_status)
		*ret_status = sealer->status;
	sealer_free(sealer);
	return NULL;
}

uint64_t sealer_number(struct sealer *sealer)
{
	return store_writer_number(sealer->writer);
}

bool sealer_takes_block(struct sealer *sealer)
{
	return spooler_takes(sealer->spooler);
}

int sealer_put_block(struct sealer *sealer, struct spool_block *block)
{
	return spooler_put(sealer->spooler, block);
}

/* Gives up one tape; the lock is held. */
static void leave_tape_unsaved(struct sealer *sealer, size_t at)
{
	const struct tape *tape = sealer->tapes.items[at].tape;

	unsaved_add(&sealer->unsaved, tape->begin_ns, tape->end_ns, tape->samples.count);
	sealer->status.unsaved_samples += tape->samples.count;
	tape_free(take_out(sealer, at));
}

/* Who puts a tape sheds: the thread may hang in the disk for as long as it likes. The one that was
 * just put stays. */
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
		leave_tape_unsaved(sealer, first);
	}
}

int sealer_put(struct sealer *sealer, struct tape *tape)
{
	const struct waiting waiting = { tape, tape_memory(tape), tape->sequence, false };
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
	if (spool.stalled && !ret_status->store_blocked) {
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
