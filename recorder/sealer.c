// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/sealer.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <sys/prctl.h>

#include "naming/namer.h"

/*
 * Invariants:
 * (1) the lock guards `tapes`, `status` and `ending`, nothing else;
 * (2) the thread alone uses the writer and the namer;
 * (3) status.waiting is the number of those plus the one at work.
 */

struct sealer {
	struct store_writer *writer;
	struct namer *namer;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	array_of(struct tape *) tapes;
	struct sealer_status status;
	bool ending;
};

/* The next tape, oldest first; false when there is none and none will come. */
static bool take_tape(struct sealer *sealer, struct tape **ret_tape)
{
	bool there;

	pthread_mutex_lock(&sealer->lock);
	while (!sealer->tapes.count && !sealer->ending)
		pthread_cond_wait(&sealer->changed, &sealer->lock);
	there = sealer->tapes.count > 0;
	if (there) {
		*ret_tape = sealer->tapes.items[0];
		sealer->tapes.count--;
		memmove(sealer->tapes.items, sealer->tapes.items + 1,
			sealer->tapes.count * sizeof(*ret_tape));
	}
	pthread_mutex_unlock(&sealer->lock);
	return there;
}

static void report(struct sealer *sealer, const struct tape *tape, int r, uint64_t bytes,
	const struct error *error)
{
	struct sealer_status *status = &sealer->status;

	pthread_mutex_lock(&sealer->lock);
	status->waiting--;
	status->stalled = false;
	if (r >= 0) {
		status->segments++;
		status->bytes += bytes;
	} else {
		status->failed = r;
		status->given_up += tape->samples.count;
		status->error = *error;
	}
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
}

/* Says that the store cannot be written, and waits a second. False: do not try again. */
static bool stall(struct sealer *sealer, const struct error *error)
{
	struct timespec until;
	bool again;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	pthread_mutex_lock(&sealer->lock);
	sealer->status.stalled = true;
	sealer->status.error = *error;
	pthread_cond_broadcast(&sealer->changed);
	if (!sealer->ending)
		pthread_cond_timedwait(&sealer->changed, &sealer->lock, &until);
	again = !sealer->ending && sealer->status.waiting <= SEALER_WAITING_MAX;
	pthread_mutex_unlock(&sealer->lock);
	return again;
}

/* The host's disk may be full for an hour: nothing is given up as long as there is room to wait. */
static void seal(struct sealer *sealer, struct tape *tape)
{
	struct error error = { 0 };
	uint64_t bytes = 0;
	int r = namer_run(sealer->namer, tape);

	if (r < 0)
		error_set(&error, r, "out of memory while naming a segment");
	while (r == 0) {
		r = store_writer_seal(sealer->writer, tape, SEGMENT_USUAL, &bytes, &error);
		if (r >= 0 || !stall(sealer, &error))
			break;
		r = 0;
	}
	report(sealer, tape, r, bytes, &error);
}

static void *sealer_main(void *context)
{
	struct sealer *sealer = context;
	struct tape *tape;

	prctl(PR_SET_NAME, "perftape-seal");
	while (take_tape(sealer, &tape)) {
		seal(sealer, tape);
		tape_free(tape);
	}
	return NULL;
}

static void sealer_free(struct sealer *sealer)
{
	for (size_t i = 0; i < sealer->tapes.count; i++)
		tape_free(sealer->tapes.items[i]);
	array_done(&sealer->tapes);
	namer_free(sealer->namer);
	pthread_cond_destroy(&sealer->changed);
	pthread_mutex_destroy(&sealer->lock);
	free(sealer);
}

/* Signals are for the thread that drains. */
static int start_thread(struct sealer *sealer)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&sealer->thread, NULL, sealer_main, sealer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int sealer_start(struct store_writer *writer, const struct finder *finder,
	struct sealer **ret_sealer, struct error *error)
{
	struct sealer *sealer = calloc(1, sizeof(*sealer));
	int r;

	if (!sealer)
		return -ENOMEM;
	sealer->writer = writer;
	pthread_mutex_init(&sealer->lock, NULL);
	pthread_cond_init(&sealer->changed, NULL);
	r = namer_new(finder, &sealer->namer);
	if (r == 0)
		r = start_thread(sealer);
	if (r < 0) {
		sealer_free(sealer);
		return error_set(error, r, "starting the sealing thread: %s", strerror(-r));
	}
	*ret_sealer = sealer;
	return 0;
}

struct sealer *sealer_stop(struct sealer *sealer, struct sealer_status *ret_status)
{
	if (!sealer)
		return NULL;
	pthread_mutex_lock(&sealer->lock);
	sealer->ending = true;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	pthread_join(sealer->thread, NULL);
	if (ret_status)
		*ret_status = sealer->status;
	sealer_free(sealer);
	return NULL;
}

uint64_t sealer_number(struct sealer *sealer)
{
	return store_writer_number(sealer->writer);
}

int sealer_put(struct sealer *sealer, struct tape *tape)
{
	int r;

	pthread_mutex_lock(&sealer->lock);
	r = array_push(&sealer->tapes, tape);
	if (r == 0)
		sealer->status.waiting++;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	if (r < 0)
		tape_free(tape);
	return r;
}

void sealer_status(struct sealer *sealer, struct sealer_status *ret_status)
{
	pthread_mutex_lock(&sealer->lock);
	*ret_status = sealer->status;
	pthread_mutex_unlock(&sealer->lock);
}

int sealer_wait(struct sealer *sealer, size_t fewer_than)
{
	bool stalled;

	pthread_mutex_lock(&sealer->lock);
	while (sealer->status.waiting >= fewer_than && !sealer->status.stalled)
		pthread_cond_wait(&sealer->changed, &sealer->lock);
	stalled = sealer->status.stalled || sealer->status.failed;
	pthread_mutex_unlock(&sealer->lock);
	return stalled ? -EIO : 0;
}
