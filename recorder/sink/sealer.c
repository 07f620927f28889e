// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sink/sealer-internal.h"

#include <assert.h>
#include <sys/prctl.h>

#include "recorder/sink/unsaved.h"
#include "base/worker.h"

/* Least time to name a tape, unless more than BACKLOG tapes wait. */
#define NAMING_LEAST_NS (5 * NSEC_PER_SEC)
#define BACKLOG 3
#define FEARED_TEXT \
	"segment %llu has no names: a recorder ended while naming it; run perftape resolve"
/*
 * CPU time to read the files of programs for names. The first tape may need seconds. Later tapes
 * get most names from the cache, so a process that runs ever new files gets a small share.
 */
#define NAMING_WORK_NS (30 * NSEC_PER_SEC)
#define NAMING_WORK_SHARE 33
/* Time between two removals by the limits while the thread names a tape. */
#define RETAIN_NS (10 * NSEC_PER_SEC)

/* Size of the cache: names of about 100,000 functions. */
#define NAMES_MAX_BYTES (16u << 20)

/* Waits for work. Returns false after a request to end, when all work is done. */
static bool sealer_wait_for_work(struct sealer *sealer)
{
	bool there;

	pthread_mutex_lock(&sealer->lock);
	while (!sealer->tapes.count && !sealer->deferred.count && !sealer->room_wanted &&
	       !sealer->ending)
		pthread_cond_wait(&sealer->changed, &sealer->lock);
	there = sealer->tapes.count || sealer->deferred.count || !sealer->ending;
	pthread_mutex_unlock(&sealer->lock);
	return there;
}

void sealer_warn(struct sealer *sealer, const struct error *error)
{
	if (!*error->text)
		return;
	pthread_mutex_lock(&sealer->lock);
	sealer->status.warning = *error;
	pthread_mutex_unlock(&sealer->lock);
}

/* Sets *ret_limits to the present limits, and writes them into the store if they are new. */
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

bool sealer_retain(struct sealer *sealer)
{
	struct store_retained retained;
	struct store_limits limits;
	struct error warning = { 0 };

	sealer->retained_ns = clock_ns(CLOCK_MONOTONIC);
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

/* Asks the sealer's thread to apply the limits. The spooler's thread calls it. */
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

/*
 * Returns whether to recover an earlier recorder's spool before clearing its note, because the note
 * also states how that recorder ended.
 */
static bool sealer_must_recover(const struct sealer *sealer)
{
	return sealer->leftovers && !sealer->note_sealed && sealer->options->unsaved.count;
}

/*
 * Gets the oldest tape, the effort to pack it, and the loss to add to it. Returns false if no tape
 * waits in memory.
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

/*
 * Removes a sealed tape, and the loss that it now has. Keeps a loss that was added since
 * sealer_take_tape().
 */
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

/* Keeps the tape until sealer_stop(), when the size of its part in the spool is known. */
static void sealer_keep_for_note(struct sealer *sealer, const struct waiting_tape *waiting)
{
	if (array_push(&sealer->unsaved_tapes, *waiting) < 0)
		tape_free(waiting->tape);
}

/* The spool of a tape that began before somebody replaced the store is lost as a whole. */
static void sealer_add_unsaved_tape(struct sealer *sealer, const struct waiting_tape *waiting,
				    uint64_t spooled_ns)
{
	bool holds = store_writer_holds(sealer->writer, waiting->sequence);

	unsaved_add_tape(&sealer->status.unsaved, waiting->tape, holds ? spooled_ns : 0);
}

/* Keeps the tape for another try, unless it can never be sealed or the sealer ends. */
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
		sealer_remove_tape(sealer, 0);
		sealer_keep_for_note(sealer, waiting);
		pthread_cond_broadcast(&sealer->changed);
	}
	sealer->at_work = false;
	pthread_mutex_unlock(&sealer->lock);
}

/* Copies a path for display, with '?' for characters that could control a terminal. */
static void sealer_copy_path(const char *path, char *text, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && path[i]; i++)
		text[i] = path[i] >= ' ' && path[i] < 0x7f ? path[i] : '?';
	text[i] = 0;
}

/*
 * Applies the limits, at once if the disk is full, otherwise each RETAIN_NS. The namer calls it
 * before each file, and while it waits for an answer about a file.
 */
static void sealer_waits(void *context)
{
	struct sealer *sealer = context;

	sealer_make_room(sealer);
	if (clock_ns(CLOCK_MONOTONIC) - sealer->retained_ns >= RETAIN_NS)
		sealer_retain(sealer);
}

static void sealer_step(void *context, const char *path, size_t number, size_t count)
{
	struct sealer *sealer = context;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	pthread_mutex_lock(&sealer->lock);
	sealer_copy_path(path, sealer->status.naming.file, sizeof(sealer->status.naming.file));
	sealer->status.naming.number = number;
	sealer->status.naming.count = count;
	sealer->status.naming.since_ns = now;
	pthread_mutex_unlock(&sealer->lock);
	sealer_waits(sealer);
}

/* Returns the time to name a tape, so that sealing keeps up with recording. */
static uint64_t sealer_naming_budget(struct sealer *sealer)
{
	uint64_t share_ns = sealer->options->segment_ns / 3;
	bool behind;

	pthread_mutex_lock(&sealer->lock);
	behind = sealer->status.waiting > BACKLOG;
	pthread_mutex_unlock(&sealer->lock);
	if (!share_ns)
		return NAMER_BUDGET_NS;
	return behind ? share_ns : MAX(share_ns, NAMING_LEAST_NS);
}

static uint64_t sealer_naming_work(struct sealer *sealer)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t more_ns = (now_ns - sealer->naming_filled_ns) / NAMING_WORK_SHARE;

	sealer->naming_filled_ns = now_ns;
	sealer->naming_left_ns = MIN(sealer->naming_left_ns + more_ns, NAMING_WORK_NS);
	return sealer->naming_left_ns;
}

/*
 * Names a tape, unless a recorder died while it named this tape. If the mark for that cannot be
 * written, because the disk may be full, names only a tape of this recorder.
 */
static int sealer_name_tape(struct sealer *sealer, struct namer *namer, struct tape *tape,
			    bool recovered, struct error *error)
{
	struct error unmarked = { 0 };
	int r = store_writer_mark_naming(sealer->writer, tape, &unmarked);

	if (r < 0 && recovered) {
		*error = unmarked;
		return r;
	}
	if (r == 1) {
		error_set(&unmarked, 0, FEARED_TEXT, (unsigned long long)tape->sequence);
		sealer_warn(sealer, &unmarked);
		r = namer_skip(tape);
	} else {
		namer_set_budget(namer, sealer_naming_budget(sealer));
		namer_observe(namer, sealer_step, sealer_waits, sealer);
		namer_set_work(namer, sealer_naming_work(sealer));
		r = namer_run(namer, tape);
		sealer->naming_left_ns = namer_work_left(namer);
	}
	pthread_mutex_lock(&sealer->lock);
	sealer->status.naming = (struct sealer_naming){ 0 };
	pthread_mutex_unlock(&sealer->lock);
	return r < 0 ? error_set(error, r, "naming a segment: out of memory") : 0;
}

int sealer_name(struct sealer *sealer, struct waiting_tape *waiting, struct error *error)
{
	int r = waiting->named
			? 0
			: sealer_name_tape(sealer, sealer->namer, waiting->tape, false, error);

	waiting->named = r == 0;
	return r;
}

/* If the store was removed or replaced, counts the segments so far as away. */
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

static int sealer_name_and_seal(struct sealer *sealer, struct waiting_tape *waiting,
				enum segment_effort effort, const struct tape_loss *unsaved,
				uint64_t *ret_bytes, struct error *error)
{
	int r = sealer_name(sealer, waiting, error);

	if (r < 0)
		return r;
	if (unsaved->count)
		r = array_push(&waiting->tape->losses, *unsaved);
	if (r < 0)
		return r;
	return store_writer_seal(sealer->writer, waiting->tape, effort, ret_bytes, error);
}

/*
 * Seals the oldest tape in memory. Returns 1 if it is sealed, 0 if no tape waits, or a negative
 * errno.
 */
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
	r = sealer_name_and_seal(sealer, &waiting, effort, &unsaved, &bytes, error);
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
	/* Remove the loss again: it may be greater at the next try. */
	waiting.tape->losses.count = losses;
	sealer_handle_failure(sealer, &waiting, r, error);
	return r;
}

/*
 * Reports that the store cannot be written and waits for a second. Waits longer after each further
 * failure, except on a full disk, because each try encodes the whole segment.
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

static int sealer_name_recovered(struct sealer *sealer, struct tape *tape, struct error *error)
{
	_cleanup_(cleanup_namer) struct namer *other = NULL;
	struct namer *namer = sealer->namer;
	struct finder elsewhere = sealer->options->finder;
	int r = 0;

	elsewhere.live = false;
	if (strcmp(tape_fact(tape, "boot_id"), sealer->options->boot_id) != 0) {
		r = namer_new(&elsewhere, sealer->cache, &other);
		namer = other;
	}
	return r < 0 ? r : sealer_name_tape(sealer, namer, tape, true, error);
}

/*
 * Names and seals a tape of an earlier recorder. If the tape is of this boot, its processes may
 * still run; otherwise only files can give names.
 */
static int sealer_seal_recovered(void *context, struct store_writer *writer, struct tape *tape)
{
	struct sealer *sealer = context;
	struct error error = { 0 };
	int r = sealer_name_recovered(sealer, tape, &error);

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
	if (r == 0)
		r = sealer_seal_deferred(sealer, &error);
	if (r < 0) {
		sealer_wait_retry(sealer, r, &error);
		return;
	}
	sealer->extra_seconds = 0;
	/*
	 * The store can be written now, so try the remaining spool files of earlier recorders
	 * again.
	 */
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
	array_done(&sealer->deferred);
	tape_free(sealer->resumed.tape);
	for (size_t i = 0; i < sealer->unsaved_tapes.count; i++)
		tape_free(sealer->unsaved_tapes.items[i].tape);
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
	sealer->naming_left_ns = NAMING_WORK_NS;
	sealer->naming_filled_ns = clock_ns(CLOCK_MONOTONIC);
	worker_lock_init(&sealer->lock, &sealer->changed);
	/* Ignore a failure: without the cache, the namer searches names again. */
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
	/* End the spooler last, so that it writes the blocks of tapes that could not be sealed. */
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
		sealer_add_unsaved_tape(sealer, &sealer->unsaved_tapes.items[i], spooled_ns);
	if (ret_status)
		*ret_status = sealer->status;
	sealer_free(sealer);
	return NULL;
}
