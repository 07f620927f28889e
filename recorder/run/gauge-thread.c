// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/gauge-thread.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "gauges/gauges.h"
#include "base/worker.h"

/* Invariant: the lock guards the members between the lock and the next comment in the struct. */

/*
 * When the drain does not take values for minutes, the thread drops newer values. Most gauges are
 * counters, so little is lost.
 */
#define VALUES_MAX (1u << 20)

/*
 * Names of cgroups come and go. With this number of names, the thread forgets all names and begins
 * to number at 0 again.
 */
#define NAMES_MAX 32768

/* The most threads that incidents name within a second; the thread skips others. */
#define NAMED_MAX 16

struct value {
	uint64_t monotonic_ns;
	uint32_t id;
	int64_t value;
};

/* Values that the thread read, and new names; their numbers continue those of the last batch. */
struct batch {
	array_of(struct value) values;
	/* each ends with a NUL */
	struct buffer names;
	/* the numbers of these names start at 0 again */
	bool anew;
};

struct gauge_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool ending;
	/* set right before the thread returns */
	bool ended;
	/* values are missing, because memory was short */
	bool starved;
	struct batch read;
	struct gauges_cost costs[PROGRESS_SOURCES_MAX];
	size_t cost_count;
	/* threads that incidents have named since the last reading */
	uint32_t named[NAMED_MAX];
	size_t named_count;

	/* belongs to the thread */
	const char *root;
	/* NULL: not made yet, or memory was short */
	struct gauges *gauges;
	struct gauges_sink sink;
	struct strings known;
	struct batch reading;
	uint64_t reading_ns;

	/* belongs to the taker */
	struct batch taken;
	/* index of the next value in `taken` */
	size_t next;
	/* all names so far */
	struct buffer names;
	/* where each name begins, by number */
	array_of(size_t) starts;
	/* row in the tape, by number; + 1 */
	array_of(uint32_t) rows;
	/* the tape of the rows; + 1 */
	uint64_t tape_sequence;
	/* that tape has gauges under names whose numbers were forgotten */
	bool renumbered;
};

static void batch_done(struct batch *batch)
{
	array_done(&batch->values);
	buffer_done(&batch->names);
}

/* The empty string has number 0, so an id is the number of the string, less 1. */
static int give_name(void *context, const char *name, uint32_t *ret_id)
{
	struct gauge_thread *reader = context;
	uint32_t before = strings_count(&reader->known), id;
	int r = strings_add(&reader->known, name, strlen(name), &id);

	if (r < 0)
		return r;
	if (id >= before)
		buffer_bytes(&reader->reading.names, name, strlen(name) + 1);
	*ret_id = id - 1;
	return buffer_failed(&reader->reading.names) ? -ENOMEM : 0;
}

static int gauge_thread_take_value(void *context, uint32_t id, int64_t value)
{
	struct gauge_thread *reader = context;

	return array_push(&reader->reading.values, (struct value){ reader->reading_ns, id, value });
}

/*
 * Drops all names, and the values that the drain has not taken, because their ids will mean other
 * names from now on. The caller holds the lock.
 */
static void gauge_thread_begin_anew(struct gauge_thread *reader)
{
	reader->gauges = gauges_free(reader->gauges);
	strings_done(&reader->known);
	batch_done(&reader->reading);
	batch_done(&reader->read);
	reader->reading = reader->read = (struct batch){ 0 };
	reader->read.anew = true;
}

/*
 * Forgets the names once the drain has taken everything, so that no value is dropped. The caller
 * holds the lock.
 */
static void gauge_thread_forget_names(struct gauge_thread *reader)
{
	if (strings_count(&reader->known) >= NAMES_MAX && !reader->read.values.count &&
	    !reader->read.names.size && !reader->read.anew)
		gauge_thread_begin_anew(reader);
}

/* Passes the threads that incidents have named on to the sources. */
static int gauge_thread_pass_named(struct gauge_thread *reader)
{
	uint32_t named[NAMED_MAX];
	size_t count;
	int r = 0;

	pthread_mutex_lock(&reader->lock);
	count = reader->named_count;
	memcpy(named, reader->named, count * sizeof(*named));
	reader->named_count = 0;
	pthread_mutex_unlock(&reader->lock);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = gauges_watch_thread(reader->gauges, named[i]);
	return r;
}

static int gauge_thread_read(struct gauge_thread *reader, uint64_t second)
{
	int r = reader->gauges ? 0 : gauges_new(reader->root, &reader->sink, &reader->gauges);

	if (r == 0)
		r = gauge_thread_pass_named(reader);
	reader->reading_ns = clock_ns(CLOCK_MONOTONIC);
	return r < 0 ? r : gauges_read(reader->gauges, second);
}

static int batch_append(struct batch *to, const struct batch *from)
{
	if (to->values.count + from->values.count > VALUES_MAX || !from->values.count)
		return 0;
	if (array_reserve(&to->values, to->values.count + from->values.count) < 0)
		return -ENOMEM;
	memcpy(to->values.items + to->values.count, from->values.items,
	       from->values.count * sizeof(*from->values.items));
	to->values.count += from->values.count;
	return 0;
}

/*
 * Hands the values and names of this reading over to the drain. Without memory for a name, the
 * numbers of later names would be wrong, so the numbers begin anew. The caller holds the lock.
 */
static void hand_over(struct gauge_thread *reader, int r)
{
	struct batch *from = &reader->reading, *to = &reader->read;

	for (size_t i = 0; reader->gauges && i < reader->cost_count; i++)
		gauges_cost(reader->gauges, i, &reader->costs[i]);
	buffer_bytes(&to->names, from->names.data, from->names.size);
	from->names.size = 0;
	if (r == 0)
		r = batch_append(to, from);
	from->values.count = 0;
	if (r == 0 && !buffer_failed(&to->names))
		return;
	reader->starved = true;
	gauge_thread_begin_anew(reader);
}

/*
 * Waits for the next whole second of the clock. Returns false at the end. The caller holds the
 * lock.
 */
static bool wait_for_second(struct gauge_thread *reader, uint64_t *second)
{
	uint64_t next = clock_ns(CLOCK_MONOTONIC) / NSEC_PER_SEC + 1;
	struct timespec until = { .tv_sec = next };

	while (!reader->ending &&
	       pthread_cond_timedwait(&reader->changed, &reader->lock, &until) == 0)
		;
	*second = next;
	return !reader->ending;
}

/* When the thread is late, it skips seconds. Little is lost, because most gauges are counters. */
static void *gauge_thread_main(void *context)
{
	struct gauge_thread *reader = context;
	uint64_t second = 0, tick = 0;
	int r;

	prctl(PR_SET_NAME, "perftape-host");
	pthread_mutex_lock(&reader->lock);
	do {
		pthread_mutex_unlock(&reader->lock);
		r = gauge_thread_read(reader, tick++);
		pthread_mutex_lock(&reader->lock);
		hand_over(reader, r);
		gauge_thread_forget_names(reader);
	} while (wait_for_second(reader, &second));
	reader->ended = true;
	pthread_cond_broadcast(&reader->changed);
	pthread_mutex_unlock(&reader->lock);
	return NULL;
}

static void gauge_thread_free(struct gauge_thread *reader)
{
	gauges_free(reader->gauges);
	strings_done(&reader->known);
	batch_done(&reader->read);
	batch_done(&reader->reading);
	batch_done(&reader->taken);
	buffer_done(&reader->names);
	array_done(&reader->starts);
	array_done(&reader->rows);
	worker_lock_done(&reader->lock, &reader->changed);
	free(reader);
}

int gauge_thread_start(const char *root, struct gauge_thread **ret_reader, struct error *error)
{
	struct gauge_thread *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	worker_lock_init(&reader->lock, &reader->changed);
	reader->sink = (struct gauges_sink){ give_name, gauge_thread_take_value, reader };
	reader->root = root;
	r = gauges_new(root, &reader->sink, &reader->gauges);
	if (r == 0) {
		reader->cost_count =
			MIN(gauges_count(reader->gauges), (size_t)PROGRESS_SOURCES_MAX);
		r = worker_start(&reader->thread, gauge_thread_main, reader);
	}
	if (r < 0) {
		gauge_thread_free(reader);
		return error_set(error, r, "cannot start the gauge thread: %s", strerror(-r));
	}
	*ret_reader = reader;
	return 0;
}

int gauge_thread_stop(struct gauge_thread *reader, uint64_t patience_ns)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + patience_ns;
	struct timespec until = { until_ns / NSEC_PER_SEC, until_ns % NSEC_PER_SEC };
	bool ended;
	int r = 0;

	if (!reader)
		return 0;
	pthread_mutex_lock(&reader->lock);
	reader->ending = true;
	pthread_cond_broadcast(&reader->changed);
	while (!reader->ended && r == 0)
		r = pthread_cond_timedwait(&reader->changed, &reader->lock, &until);
	ended = reader->ended;
	pthread_mutex_unlock(&reader->lock);
	if (!ended)
		return -ETIMEDOUT;
	pthread_join(reader->thread, NULL);
	gauge_thread_free(reader);
	return 0;
}

void gauge_thread_watch(struct gauge_thread *reader, uint32_t tid)
{
	pthread_mutex_lock(&reader->lock);
	if (reader->named_count < NAMED_MAX)
		reader->named[reader->named_count++] = tid;
	pthread_mutex_unlock(&reader->lock);
}

static void gauge_thread_unlearn(struct gauge_thread *reader)
{
	reader->names.size = reader->starts.count = reader->rows.count = 0;
	reader->taken.anew = false;
	reader->renumbered = true;
}

static int learn_names(struct gauge_thread *reader)
{
	struct buffer *names = &reader->taken.names;
	size_t at;

	if (reader->taken.anew)
		gauge_thread_unlearn(reader);
	at = reader->names.size;
	buffer_bytes(&reader->names, names->data, names->size);
	if (buffer_failed(names) || buffer_failed(&reader->names))
		return -ENOMEM;
	names->size = 0;
	for (; at < reader->names.size; at += strlen((char *)reader->names.data + at) + 1)
		if (array_push(&reader->starts, at) < 0 || array_push(&reader->rows, 0) < 0)
			return -ENOMEM;
	return 0;
}

/* Finds or adds the gauge's row, because a tape has each name once. */
static int gauge_thread_add_row(const struct gauge_thread *reader, struct tape *tape,
				const char *name, uint32_t *ret_row)
{
	uint32_t known;
	int r = reader->renumbered ? strings_add(&tape->strings, name, strlen(name), &known) : 0;

	for (size_t i = 0; r == 0 && reader->renumbered && i < tape->gauges.count; i++)
		if (tape->gauges.items[i].name == known) {
			*ret_row = i;
			return 0;
		}
	return r == 0 ? tape_add_gauge(tape, name, ret_row) : r;
}

static int gauge_thread_put_value(struct gauge_thread *reader, struct tape *tape, uint64_t time_ns,
				  const struct value *value)
{
	uint32_t *row;
	int r = 0;

	if (value->id >= reader->rows.count)
		return 0; /* the name of the gauge is missing, because memory was short */
	row = &reader->rows.items[value->id];
	if (!*row) {
		r = gauge_thread_add_row(
			reader, tape, (char *)reader->names.data + reader->starts.items[value->id],
			row);
		*row = r == 0 ? *row + 1 : 0;
	}
	return r < 0 ? r : tape_add_point(tape, *row - 1, time_ns, value->value);
}

/* Takes a new batch when the last one is used up. */
static int next_batch(struct gauge_thread *reader)
{
	struct batch empty = reader->taken;

	if (reader->next < reader->taken.values.count || pthread_mutex_trylock(&reader->lock) != 0)
		return 0;
	empty.values.count = 0;
	reader->taken = reader->read;
	reader->read = empty;
	pthread_mutex_unlock(&reader->lock);
	reader->next = 0;
	return learn_names(reader);
}

static void gauge_thread_begin_tape(struct gauge_thread *reader, const struct tape *tape)
{
	if (reader->rows.count)
		memset(reader->rows.items, 0, reader->rows.count * sizeof(*reader->rows.items));
	reader->renumbered = false;
	reader->tape_sequence = tape->sequence + 1;
}

int gauge_thread_take(struct gauge_thread *reader, struct tape *tape,
		      const struct tape_anchor *anchor)
{
	int r;

	if (!reader)
		return 0;
	if (reader->tape_sequence != tape->sequence + 1)
		gauge_thread_begin_tape(reader, tape);
	r = next_batch(reader);
	for (; r == 0 && reader->next < reader->taken.values.count; reader->next++) {
		const struct value *value = &reader->taken.values.items[reader->next];
		uint64_t time_ns = anchor->perf_ns + (value->monotonic_ns - anchor->monotonic_ns);

		if (time_ns >= tape->end_ns)
			break;
		r = gauge_thread_put_value(reader, tape, time_ns, value);
	}
	return r;
}

void gauge_thread_trouble(struct gauge_thread *reader, struct error *trouble)
{
	if (!reader || pthread_mutex_trylock(&reader->lock) != 0)
		return;
	if (reader->starved)
		error_set(trouble, 0, "out of memory for gauges of the host; values are missing");
	pthread_mutex_unlock(&reader->lock);
}

void gauge_thread_fill(struct gauge_thread *reader, struct recorder_progress *progress)
{
	if (!reader || pthread_mutex_trylock(&reader->lock) != 0)
		return;
	progress->source_count = 0;
	for (size_t i = 0; i < reader->cost_count; i++) {
		const struct gauges_cost *cost = &reader->costs[i];
		struct progress_source *source;

		if (!cost->source)
			continue; /* the source was not read yet */
		source = &progress->sources[progress->source_count++];
		*source = (struct progress_source){ "", cost->reads, cost->failures, cost->cpu_ns,
						    cost->longest_ns };
		snprintf(source->name, sizeof(source->name), "%s", cost->source);
	}
	pthread_mutex_unlock(&reader->lock);
}
