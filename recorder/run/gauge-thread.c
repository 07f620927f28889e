// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/gauge-thread.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "gauges/gauges.h"
#include "base/worker.h"

/* Invariant: the lock guards what stands between it and the next comment in the struct. */

/* Nobody has taken anything for minutes: what is newer is passed over, as gauges are for the most
 * part counters. */
#define VALUES_MAX (1u << 20)

/* cgroups come and go: beyond so many names all are forgotten, and given anew. */
#define NAMES_MAX 32768

struct value {
	uint64_t monotonic_ns;
	uint32_t id;
	int64_t value;
};

/* What was read, and names whose numbers go on from those before. */
struct batch {
	array_of(struct value) values;
	/* each with a NUL */
	struct buffer names;
	/* numbers begin with these names */
	bool anew;
};

struct gauge_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool ending;
	/* the thread is about to */
	bool ended;
	struct batch read;
	struct gauges_cost costs[PROGRESS_SOURCES_MAX];
	size_t cost_count;

	/* the thread's */
	const char *root;
	struct gauges *gauges;
	struct gauges_sink sink;
	struct strings known;
	struct batch reading;
	uint64_t reading_ns;

	/* the taker's */
	struct batch taken;
	/* of its values */
	size_t next;
	/* of all numbers so far */
	struct buffer names;
	/* in them, by number */
	array_of(size_t) starts;
	/* in the tape, by number; + 1 */
	array_of(uint32_t) rows;
	/* the tape that the rows are of; + 1 */
	uint64_t tape_sequence;
};

static void batch_done(struct batch *batch)
{
	array_done(&batch->values);
	buffer_done(&batch->names);
}

/* Numbers of strings begin behind that of the empty one. */
static int give_name(void *context, const char *name, uint32_t *ret_id)
{
	struct gauge_thread *watch = context;
	uint32_t before = strings_count(&watch->known), id;
	int r = strings_add(&watch->known, name, strlen(name), &id);

	if (r < 0)
		return r;
	if (id >= before)
		buffer_bytes(&watch->reading.names, name, strlen(name) + 1);
	*ret_id = id - 1;
	return buffer_failed(&watch->reading.names) ? -ENOMEM : 0;
}

static int gauge_thread_take_value(void *context, uint32_t id, int64_t value)
{
	struct gauge_thread *watch = context;

	return array_push(&watch->reading.values, (struct value){ watch->reading_ns, id, value });
}

/* Once all that was handed over is taken, nobody knows the old numbers any more. The lock is held.
 */
static int gauge_thread_forget_names(struct gauge_thread *watch)
{
	if (strings_count(&watch->known) < NAMES_MAX || watch->read.values.count ||
	    watch->read.names.size || watch->read.anew)
		return 0;
	gauges_free(watch->gauges);
	watch->gauges = NULL;
	strings_done(&watch->known);
	watch->read.anew = true;
	return gauges_new(watch->root, &watch->sink, &watch->gauges);
}

/* Names have to arrive, values need not. */
static void hand_over(struct gauge_thread *watch)
{
	struct batch *from = &watch->reading, *to = &watch->read;

	buffer_bytes(&to->names, from->names.data, from->names.size);
	from->names.size = 0;
	if (from->values.count && to->values.count + from->values.count <= VALUES_MAX &&
	    array_reserve(&to->values, to->values.count + from->values.count) == 0) {
		memcpy(to->values.items + to->values.count, from->values.items,
		       from->values.count * sizeof(*from->values.items));
		to->values.count += from->values.count;
	}
	from->values.count = 0;
	for (size_t i = 0; i < watch->cost_count; i++)
		gauges_cost(watch->gauges, i, &watch->costs[i]);
}

/* Waits for the next whole second of the clock. False at the end. The lock is held. */
static bool wait_for_second(struct gauge_thread *watch, uint64_t *second)
{
	uint64_t next = clock_ns(CLOCK_MONOTONIC) / NSEC_PER_SEC + 1;
	struct timespec until = { .tv_sec = next };

	while (!watch->ending && pthread_cond_timedwait(&watch->changed, &watch->lock, &until) == 0)
		;
	*second = next;
	return !watch->ending;
}

/* What a second behind the others is passed over when the thread comes late is no figure lost: they
 * are counters. */
static void *host_main(void *context)
{
	struct gauge_thread *watch = context;
	uint64_t second = 0, tick = 0;

	prctl(PR_SET_NAME, "perftape-host");
	pthread_mutex_lock(&watch->lock);
	do {
		pthread_mutex_unlock(&watch->lock);
		watch->reading_ns = clock_ns(CLOCK_MONOTONIC);
		(void)gauges_read(watch->gauges, tick++);
		pthread_mutex_lock(&watch->lock);
		hand_over(watch);
	} while (wait_for_second(watch, &second) && gauge_thread_forget_names(watch) == 0);
	watch->ended = true;
	pthread_cond_broadcast(&watch->changed);
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

static void gauge_thread_free(struct gauge_thread *watch)
{
	gauges_free(watch->gauges);
	strings_done(&watch->known);
	batch_done(&watch->read);
	batch_done(&watch->reading);
	batch_done(&watch->taken);
	buffer_done(&watch->names);
	array_done(&watch->starts);
	array_done(&watch->rows);
	worker_lock_done(&watch->lock, &watch->changed);
	free(watch);
}

int gauge_thread_start(const char *root, struct gauge_thread **ret_watch, struct error *error)
{
	struct gauge_thread *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	worker_lock_init(&watch->lock, &watch->changed);
	watch->sink = (struct gauges_sink){ give_name, gauge_thread_take_value, watch };
	watch->root = root;
	r = gauges_new(root, &watch->sink, &watch->gauges);
	if (r == 0) {
		watch->cost_count = MIN(gauges_count(watch->gauges), (size_t)PROGRESS_SOURCES_MAX);
		r = worker_start(&watch->thread, host_main, watch);
	}
	if (r < 0) {
		gauge_thread_free(watch);
		return error_set(error, r, "starting the thread that reads the host's figures: %s",
				 strerror(-r));
	}
	*ret_watch = watch;
	return 0;
}

int gauge_thread_stop(struct gauge_thread *watch, uint64_t patience_ns)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + patience_ns;
	struct timespec until = { until_ns / NSEC_PER_SEC, until_ns % NSEC_PER_SEC };
	bool ended;
	int r = 0;

	if (!watch)
		return 0;
	pthread_mutex_lock(&watch->lock);
	watch->ending = true;
	pthread_cond_broadcast(&watch->changed);
	while (!watch->ended && r == 0)
		r = pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
	ended = watch->ended;
	pthread_mutex_unlock(&watch->lock);
	if (!ended)
		return -ETIMEDOUT;
	pthread_join(watch->thread, NULL);
	gauge_thread_free(watch);
	return 0;
}

static int learn_names(struct gauge_thread *watch)
{
	struct buffer *names = &watch->taken.names;
	size_t at;

	if (watch->taken.anew)
		watch->names.size = watch->starts.count = watch->rows.count = 0;
	watch->taken.anew = false;
	at = watch->names.size;
	buffer_bytes(&watch->names, names->data, names->size);
	if (buffer_failed(names) || buffer_failed(&watch->names))
		return -ENOMEM;
	names->size = 0;
	for (; at < watch->names.size; at += strlen((char *)watch->names.data + at) + 1)
		if (array_push(&watch->starts, at) < 0 || array_push(&watch->rows, 0) < 0)
			return -ENOMEM;
	return 0;
}

static int gauge_thread_put_value(struct gauge_thread *watch, struct tape *tape, uint64_t time_ns,
				  const struct value *value)
{
	uint32_t *row;
	int r = 0;

	if (value->id >= watch->rows.count)
		return 0; /* its name found no memory */
	row = &watch->rows.items[value->id];
	if (!*row) {
		r = tape_add_gauge(tape, (char *)watch->names.data + watch->starts.items[value->id],
				   row);
		*row = r == 0 ? *row + 1 : 0;
	}
	return r < 0 ? r : tape_add_point(tape, *row - 1, time_ns, value->value);
}

/* What comes next is the last batch's rest, or a new batch. */
static int next_batch(struct gauge_thread *watch)
{
	struct batch empty = watch->taken;

	if (watch->next < watch->taken.values.count || pthread_mutex_trylock(&watch->lock) != 0)
		return 0;
	empty.values.count = 0;
	watch->taken = watch->read;
	watch->read = empty;
	pthread_mutex_unlock(&watch->lock);
	watch->next = 0;
	return learn_names(watch);
}

int gauge_thread_take(struct gauge_thread *watch, struct tape *tape,
		      const struct tape_anchor *anchor)
{
	int r;

	if (!watch)
		return 0;
	r = next_batch(watch);
	if (watch->tape_sequence != tape->sequence + 1 && watch->rows.count)
		memset(watch->rows.items, 0, watch->rows.count * sizeof(*watch->rows.items));
	watch->tape_sequence = tape->sequence + 1;
	for (; r == 0 && watch->next < watch->taken.values.count; watch->next++) {
		const struct value *value = &watch->taken.values.items[watch->next];
		uint64_t time_ns = anchor->perf_ns + (value->monotonic_ns - anchor->monotonic_ns);

		if (time_ns >= tape->end_ns)
			break;
		r = gauge_thread_put_value(watch, tape, time_ns, value);
	}
	return r;
}

void gauge_thread_tell(struct gauge_thread *watch, struct recorder_progress *progress)
{
	if (!watch || pthread_mutex_trylock(&watch->lock) != 0)
		return;
	progress->source_count = 0;
	for (size_t i = 0; i < watch->cost_count; i++) {
		const struct gauges_cost *cost = &watch->costs[i];
		struct progress_source *source;

		if (!cost->source)
			continue; /* it was not asked yet */
		source = &progress->sources[progress->source_count++];
		*source = (struct progress_source){ "", cost->reads, cost->failures, cost->cpu_ns,
						    cost->longest_ns };
		snprintf(source->name, sizeof(source->name), "%s", cost->source);
	}
	pthread_mutex_unlock(&watch->lock);
}
