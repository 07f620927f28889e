// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker reads a segment once for all windows in it: the samples, and the gauges. The incidents
 * come first, in an order of chance, each with the fewest controls that make it comparable. Then
 * come the further controls: the next one of each incident, and so on. So whenever the time is up,
 * the incidents that were read are comparable, and have about as many controls.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/workers.h"
#include "query/common/common-internal.h"
#include "query/sums/tally-tape.h"
#include "tape/clocks.h"

/* Rows with less time than this say nothing, in CPUs. */
#define ROW_LEAST 0.05f
/* A CPU is full from this part of the window on. */
#define FULL_LEAST 0.85

/*
 * A window of a large host has many samples. This number of them, taken by chance, suffices: for
 * threads and functions, and for each of the other sums.
 */
#define SAMPLES_MOST 16384
#define SAMPLES_OTHERS 4096

/* The first letter of a row's key. */
static const char letters[COMMON_KINDS + 1] = "tofpsgcm";

/* All windows of one segment. */
struct rows_item {
	uint32_t host;
	size_t segment;
	/* indexes of `order` */
	size_t from, to;
	/* 0: needed to compare an incident at all; then the order of the incidents */
	uint32_t rank;
	uint64_t set;
};

struct rows {
	struct common_run *run;
	/* the windows by host, segment and begin */
	array_of(uint32_t) order;
	array_of(struct rows_item) items;
	/* a time on CLOCK_MONOTONIC; 0: no limit */
	uint64_t until_ns;
};

/* The rows of one window. All are put twice: to find those with most time, and to add them. */
struct rows_window {
	struct common_run *run;
	uint32_t number;
	double length_ns;
	bool is_counting;
	array_of(float) seen;
	/* rows with less are left out; how many rows with just as much may be added still */
	float least;
	size_t ties;
};

static int rows_put(struct rows_window *to, enum common_kind kind, const char *name, double value)
{
	char key[1024];

	if (value < ROW_LEAST)
		return 0;
	if (to->is_counting)
		return array_push(&to->seen, value);
	if ((float)value < to->least || ((float)value == to->least && !to->ties))
		return 0;
	to->ties -= (float)value == to->least;
	snprintf(key, sizeof(key), "%c%s", letters[kind], name);
	return common_values_add(to->run, to->number, key, value);
}

/* Puts the machine, and each CPU. Notes the CPU that was full. */
static int rows_put_cpus(struct rows_window *to, const struct tally *tally)
{
	struct common_window *window = &to->run->windows.items[to->number];
	double length_ns = to->length_ns, most = FULL_LEAST, kernel_most = 0;
	char name[32];
	int r = rows_put(to, COMMON_MACHINE, "busy CPUs",
			 stack_class_work_ns(&tally->all) / length_ns);

	window->full_cpu = NO_CPU;
	for (uint32_t cpu = 0; r == 0 && cpu < tally->cpus.count; cpu++) {
		const struct stack_class *times = &tally->cpus.items[cpu];
		double busy = stack_class_work_ns(times) / length_ns;
		double kernel =
			(times->ns[STACK_CLASS_KERNEL] + times->ns[STACK_CLASS_IRQ]) / length_ns;

		kernel_most = MAX(kernel_most, kernel);
		if (busy >= FULL_LEAST && busy + kernel > most) {
			most = busy + kernel;
			window->full_cpu = cpu;
		}
		snprintf(name, sizeof(name), "%u", cpu);
		r = rows_put(to, COMMON_CPU, name, busy);
	}
	return r < 0 ? r : rows_put(to, COMMON_MACHINE, "most kernel time of one CPU", kernel_most);
}

/* Returns for each group its longest time on one CPU. */
static int rows_fullest(const struct tally *tally, uint64_t **ret_most)
{
	uint64_t *most = calloc(tally->groups.count + 1, sizeof(*most));

	if (!most)
		return -ENOMEM;
	for (size_t i = 0; i < tally->shares.list.count; i++) {
		const struct tally_row *row = &tally->shares.list.items[i];

		most[row->b] = MAX(most[row->b], row->ns);
	}
	*ret_most = most;
	return 0;
}

static int rows_put_names(struct rows_window *to, const struct tally *tally, const uint64_t *most)
{
	int r = rows_put_cpus(to, tally);

	for (size_t i = 0; r == 0 && i < tally->functions.count; i++)
		r = rows_put(to, COMMON_FUNCTION, strings_at(&tally->names, i),
			     tally->functions.items[i].total_ns / to->length_ns);
	for (size_t i = 0; r == 0 && i < tally->groups.count; i++) {
		const char *name = strings_at(&tally->names, i);

		r = rows_put(to, COMMON_THREAD, name,
			     stack_class_work_ns(&tally->groups.items[i]) / to->length_ns);
		if (r != 0)
			return r;
		r = rows_put(to, COMMON_THREAD_ON_CPU, name, most[i] / to->length_ns);
	}
	return r;
}

static int rows_put_groups(struct rows_window *to, const struct tally *tally, enum common_kind kind)
{
	int r = 0;

	for (size_t i = 1; r == 0 && i < tally->groups.count; i++) {
		const char *name = strings_at(&tally->names, i);

		/* "[no cgroup]" is no group */
		if (*name != '[')
			r = rows_put(to, kind, name,
				     stack_class_work_ns(&tally->groups.items[i]) / to->length_ns);
	}
	return r;
}

/* The samples of one window, added up in three ways. */
struct rows_sums {
	struct tally *names, *paths, *cgroups;
	uint64_t *most;
};

static void rows_sums_done(struct rows_sums *sums)
{
	tally_free(sums->names);
	tally_free(sums->paths);
	tally_free(sums->cgroups);
	free(sums->most);
}

/*
 * Adds at most about this number of the tape's samples, and lets each stand for several. Each is
 * taken or left by chance, because the CPUs follow each other in a fixed order.
 */
static int rows_add_some(struct tally *tally, struct tape *tape, uint64_t sample_ns,
			 unsigned int parts, size_t most)
{
	struct tape_sample *all = tape->samples.items, *some;
	size_t count = tape->samples.count, every = (count + most - 1) / most, taken = 0;
	int r;

	if (every <= 1)
		return tally_add_samples(tally, tape, NULL, sample_ns, parts);
	some = calloc(count, sizeof(*some));
	if (!some)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (hash_u64(all[i].time_ns + i) % every == 0)
			some[taken++] = all[i];
	tape->samples.items = some;
	tape->samples.count = taken;
	r = tally_add_samples(tally, tape, NULL, sample_ns * every, parts);
	tape->samples.items = all;
	tape->samples.count = count;
	free(some);
	return r;
}

static int rows_sum(struct tape *tape, uint64_t sample_ns, struct rows_sums *sums)
{
	int r = tally_new(&sums->names);

	if (r < 0)
		return r;
	r = tally_new(&sums->paths);
	if (r < 0)
		return r;
	r = tally_new(&sums->cgroups);
	if (r < 0)
		return r;
	sums->paths->by = TALLY_BY_PATH;
	sums->cgroups->by = TALLY_BY_CGROUP;
	r = rows_add_some(sums->names, tape, sample_ns, TALLY_ALL, SAMPLES_MOST);
	if (r < 0)
		return r;
	r = rows_add_some(sums->paths, tape, sample_ns, TALLY_GROUPS, SAMPLES_OTHERS);
	if (r < 0)
		return r;
	r = rows_add_some(sums->cgroups, tape, sample_ns, TALLY_GROUPS, SAMPLES_OTHERS);
	return r < 0 ? r : rows_fullest(sums->names, &sums->most);
}

static int rows_put_all(struct rows_window *to, const struct rows_sums *sums)
{
	int r = rows_put_names(to, sums->names, sums->most);

	if (r < 0)
		return r;
	r = rows_put_groups(to, sums->paths, COMMON_PATH);
	return r < 0 ? r : rows_put_groups(to, sums->cgroups, COMMON_CGROUP);
}

static int rows_compare_down(const void *a, const void *b)
{
	float left = *(const float *)a, right = *(const float *)b;

	return (left < right) - (left > right);
}

/* Finds the time that a row needs to be among those with most. */
static int rows_count_all(struct rows_window *to, const struct rows_sums *sums)
{
	int r;

	to->is_counting = true;
	r = rows_put_all(to, sums);
	to->is_counting = false;
	if (r < 0 || to->seen.count <= COMMON_ROWS_MOST)
		return r;
	qsort(to->seen.items, to->seen.count, sizeof(*to->seen.items), rows_compare_down);
	to->least = to->seen.items[COMMON_ROWS_MOST - 1];
	for (size_t i = COMMON_ROWS_MOST; i-- > 0 && to->seen.items[i] == to->least;)
		to->ties++;
	return 0;
}

static void rows_window_done(struct rows_window *to)
{
	array_done(&to->seen);
}

static int rows_take(struct common_run *run, uint32_t number, const struct tape *tape,
		     const struct rows_sums *sums)
{
	struct common_window *window = &run->windows.items[number];
	_cleanup_(rows_window_done) struct rows_window to = {
		.run = run,
		.number = number,
		.length_ns = window->to_ns - window->from_ns,
	};
	int r = rows_count_all(&to, sums);

	if (r < 0)
		return r;
	pthread_mutex_lock(&run->lock);
	r = rows_put_all(&to, sums);
	if (r == 0)
		r = common_window_gauges_add(run, number, tape);
	window->read = r == 0;
	pthread_mutex_unlock(&run->lock);
	return r;
}

static size_t rows_first_at(const struct tape *tape, size_t count, uint64_t realtime_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tape_to_realtime(tape, tape->samples.items[middle].time_ns, NULL) < realtime_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int rows_add_window(struct common_run *run, struct tape *tape, uint64_t sample_ns,
			   uint32_t number)
{
	const struct common_window *window = &run->windows.items[number];
	struct tape_sample *samples = tape->samples.items;
	size_t count = tape->samples.count;
	size_t from = rows_first_at(tape, count, window->from_ns);
	size_t to = rows_first_at(tape, count, window->to_ns);
	_cleanup_(rows_sums_done) struct rows_sums sums = { 0 };
	int r;

	/* an incident without a sample is not recorded; a control without one is idle */
	if (from >= to && !window->rank)
		return 0;
	tape->samples.items = samples + from;
	tape->samples.count = MAX(to, from) - from;
	r = rows_sum(tape, sample_ns, &sums);
	if (r == 0)
		r = rows_take(run, number, tape, &sums);
	tape->samples.items = samples;
	tape->samples.count = count;
	return r;
}

static int rows_name_frames(struct common_run *run, struct tape *tape)
{
	const struct question *question = &run->options->question;
	int r;

	if (!tape->unsealed || !question->name)
		return 0;
	pthread_mutex_lock(&run->lock);
	r = question->name(question->context, tape);
	pthread_mutex_unlock(&run->lock);
	return r;
}

static const struct common_segment *rows_segment(const struct rows *rows,
						 const struct rows_item *item)
{
	return &rows->run->hosts.items[item->host].segments.items[item->segment];
}

/* Returns whether the time is up. Only the incidents' windows are read then. */
static bool rows_is_late(const struct rows *rows)
{
	return rows->until_ns && clock_ns(CLOCK_MONOTONIC) > rows->until_ns;
}

/* Counts a segment that cannot be read, unless retention removed it meanwhile. */
static int rows_note_failure(struct common_run *run, int failed)
{
	if (error_is_exhaustion(failed))
		return failed;
	pthread_mutex_lock(&run->lock);
	run->answer->damaged += failed != -ENOENT;
	pthread_mutex_unlock(&run->lock);
	return 0;
}

/* Skips a segment that cannot be read; the other windows are enough. */
static int rows_work(void *context, unsigned int worker, size_t number)
{
	struct rows *rows = context;
	struct common_run *run = rows->run;
	const struct rows_item *item = &rows->items.items[number];
	const struct common_segment *segment = rows_segment(rows, item);
	const struct common_window *windows = run->windows.items;
	const struct segment_want want = { windows[rows->order.items[item->from]].from_ns, 0,
					   SEGMENT_SAMPLES | SEGMENT_LOSSES | SEGMENT_CONTEXT, 1 };
	struct segment_want wanted = want;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	uint64_t sample_ns;
	int r;

	for (size_t i = item->from; i < item->to; i++) {
		struct common_window *window = &run->windows.items[rows->order.items[i]];

		window->tried = true;
		wanted.to_ns = MAX(wanted.to_ns, window->to_ns);
	}
	r = store_reader_load(run->options->stores[segment->store].reader, &segment->about, &wanted,
			      &tape, NULL);
	if (r < 0)
		return rows_note_failure(run, r);
	if (!clocks_wall_rises(tape))
		return 0;
	r = rows_name_frames(run, tape);
	sample_ns = stack_class_sample_ns(tape, segment->about.samples);
	for (size_t i = item->from; r == 0 && i < item->to; i++)
		if (!windows[rows->order.items[i]].rank || !rows_is_late(rows))
			r = rows_add_window(run, tape, sample_ns, rows->order.items[i]);
	return r;
}

static uint64_t rows_cost(void *context, size_t number)
{
	struct rows *rows = context;
	const struct common_segment *segment = rows_segment(rows, &rows->items.items[number]);

	return store_reader_memory(rows->run->options->stores[segment->store].reader,
				   &segment->about);
}

static int rows_compare_windows(const void *a, const void *b, void *context)
{
	const struct common_window *windows = context;
	const struct common_window *left = &windows[*(const uint32_t *)a];
	const struct common_window *right = &windows[*(const uint32_t *)b];

	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	if (left->segment != right->segment)
		return left->segment < right->segment ? -1 : 1;
	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

static int rows_compare_items(const void *a, const void *b)
{
	const struct rows_item *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	if (left->set != right->set)
		return left->set < right->set ? -1 : 1;
	return (left->from > right->from) - (left->from < right->from);
}

static int rows_add_items(struct rows *rows)
{
	const struct common_run *run = rows->run;

	for (uint32_t i = 0; i < run->windows.count; i++)
		if (array_push(&rows->order, i) < 0)
			return -ENOMEM;
	if (rows->order.count)
		qsort_r(rows->order.items, rows->order.count, sizeof(*rows->order.items),
			rows_compare_windows, run->windows.items);
	for (size_t i = 0; i < rows->order.count; i++) {
		const struct common_window *window = &run->windows.items[rows->order.items[i]];
		uint32_t rank = window->rank <= COMMON_CONTROLS_LEAST ? 0 : window->rank;
		uint64_t set = rank ? 0 : hash_u64(window->set);
		struct rows_item *last =
			rows->items.count ? &rows->items.items[rows->items.count - 1] : NULL;

		if (last && last->host == window->host && last->segment == window->segment) {
			last->to++;
			last->set = MIN(last->set, set);
			last->rank = MIN(last->rank, rank);
		} else if (array_push(&rows->items,
				      (struct rows_item){ window->host, window->segment, i, i + 1,
							  rank, set }) < 0) {
			return -ENOMEM;
		}
	}
	if (rows->items.count)
		qsort(rows->items.items, rows->items.count, sizeof(*rows->items.items),
		      rows_compare_items);
	return 0;
}

static void rows_count(struct common_run *run)
{
	struct common_answer *answer = run->answer;

	for (size_t i = 0; i < run->windows.count; i++) {
		const struct common_window *window = &run->windows.items[i];
		struct common_case *of = &answer->cases.items[window->set];

		if (!window->rank)
			answer->late += !window->tried;
		if (window->rank || !window->read)
			continue;
		of->read = true;
		of->full_cpu = window->full_cpu;
	}
	for (size_t i = 0; i < answer->cases.count; i++)
		answer->unread += !answer->cases.items[i].read;
	answer->unread -= MIN(answer->late, answer->unread);
}

/* Returns the size of all segments to read. */
static uint64_t rows_bytes(const struct rows *rows)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < rows->items.count; i++)
		bytes += rows_segment(rows, &rows->items.items[i])->about.bytes;
	return bytes;
}

static void common_window_rows_done(struct rows *rows)
{
	array_done(&rows->order);
	array_done(&rows->items);
}

int common_window_rows_read(struct common_run *run, struct error *error)
{
	_cleanup_(common_window_rows_done) struct rows rows = { .run = run };
	struct workers workers = {
		.threads = run->options->threads,
		.work = rows_work,
		.context = &rows,
		.cost = rows_cost,
		.memory_bytes = LOADER_MEMORY_BYTES,
		.progress = run->options->progress,
		.progress_context = run->options->progress_context,
	};
	size_t done = 0;
	int r = rows_add_items(&rows);

	if (r < 0)
		return r;
	workers.count = rows.items.count;
	if (rows_bytes(&rows) > COMMON_FEW_BYTES)
		rows.until_ns = clock_ns(CLOCK_MONOTONIC) + run->options->limit_ns;
	workers.until_ns = rows.until_ns;
	r = workers_run(&workers, &done);
	if (r < 0)
		return r;
	run->answer->limited = rows_is_late(&rows);
	rows_count(run);
	return 0;
}
