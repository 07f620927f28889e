// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/usual-rows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/workers.h"
#include "query/explain/binaries.h"
#include "query/explain/chance.h"
#include "query/sums/tally-tape.h"
#include "tape/clocks.h"

/* Rows with less time than this in all windows cannot explain anything. */
#define ROW_LEAST 0.05
/* The deviation that is added to that of each row, in CPUs. */
#define FLOOR 0.1
/* A row belongs to the core if the core has at least this part of its time. */
#define OF_CORE 0.6

/* The first letter of a row's key. A name follows. */
enum row_kind {
	ROW_MACHINE = 'm',
	ROW_FUNCTION = 'f',
	ROW_GROUP = 'g',
	ROW_FULLEST = 'c',
};

/* Time of a row in one window, in CPUs. */
struct usual_value {
	uint32_t row;
	uint32_t window;
	double value;
};

/* All windows of one segment, which a worker reads at once. */
struct usual_item {
	size_t segment;
	/* indexes of `windows`; the first window is the stall */
	size_t from, to;
};

/* The lock protects the rows and values, and the hook of the question. */
struct usual_run {
	const struct usual_options *options;
	struct store_reader *reader;
	struct store_segments segments;
	struct quiet_windows windows;
	array_of(struct usual_item) items;
	pthread_mutex_t lock;
	struct strings keys;
	array_of(struct usual_value) values;
	/* for each window: it was read */
	array_of(bool) read;
	struct binaries binaries;
};

static void usual_run_done(struct usual_run *run)
{
	array_done(&run->segments.list);
	array_done(&run->windows.list);
	array_done(&run->items);
	array_done(&run->values);
	array_done(&run->read);
	strings_done(&run->keys);
	binaries_done(&run->binaries);
	pthread_mutex_destroy(&run->lock);
}

static int usual_put(struct usual_run *run, size_t window, enum row_kind kind, const char *name,
		     double value)
{
	struct usual_value added = { .window = window, .value = value };
	char key[512];
	int size, r;

	if (value < ROW_LEAST)
		return 0;
	size = snprintf(key, sizeof(key), "%c%s", kind, name);
	r = strings_add(&run->keys, key, MIN(size, (int)sizeof(key) - 1), &added.row);
	return r < 0 ? r : array_push(&run->values, added);
}

/* Returns for each group its longest time on one CPU. */
static int usual_fullest(const struct tally *tally, uint64_t **ret_most)
{
	uint64_t *most = calloc(MAX(tally->groups.count, (size_t)1), sizeof(*most));

	if (!most)
		return -ENOMEM;
	for (size_t i = 0; i < tally->shares.list.count; i++) {
		const struct tally_row *row = &tally->shares.list.items[i];

		most[row->b] = MAX(most[row->b], row->ns);
	}
	*ret_most = most;
	return 0;
}

static int usual_take(struct usual_run *run, size_t window, const struct tally *tally)
{
	const struct quiet_window *span = &run->windows.list.items[window];
	double length_ns = span->to_ns - span->from_ns;
	_cleanup_free_ uint64_t *most = NULL;
	int r = usual_fullest(tally, &most);

	pthread_mutex_lock(&run->lock);
	if (r == 0)
		r = usual_put(run, window, ROW_MACHINE, "",
			      stack_class_work_ns(&tally->all) / length_ns);
	for (size_t i = 0; r == 0 && i < tally->functions.count; i++)
		r = usual_put(run, window, ROW_FUNCTION, strings_at(&tally->names, i),
			      tally->functions.items[i].total_ns / length_ns);
	for (size_t i = 0; r == 0 && i < tally->groups.count; i++) {
		const char *name = strings_at(&tally->names, i);

		r = usual_put(run, window, ROW_GROUP, name,
			      stack_class_work_ns(&tally->groups.items[i]) / length_ns);
		if (r == 0)
			r = usual_put(run, window, ROW_FULLEST, name, most[i] / length_ns);
	}
	run->read.items[window] = r == 0;
	pthread_mutex_unlock(&run->lock);
	return r;
}

static size_t usual_first_at(const struct tape *tape, size_t count, uint64_t realtime_ns)
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

/* Adds up the samples of one window, which lie together if the wall clock was not set back. */
static int usual_add_window(struct usual_run *run, struct tape *tape, uint64_t sample_ns,
			    size_t window)
{
	const struct quiet_window *span = &run->windows.list.items[window];
	struct tape_sample *samples = tape->samples.items;
	size_t count = tape->samples.count;
	size_t from = usual_first_at(tape, count, span->from_ns);
	size_t to = usual_first_at(tape, count, span->to_ns);
	_cleanup_(cleanup_tally) struct tally *tally = NULL;
	int r = tally_new(&tally);

	if (r < 0)
		return r;
	tape->samples.items = samples + from;
	tape->samples.count = MAX(to, from) - from;
	r = tally_add_samples(tally, tape, NULL, sample_ns, TALLY_ALL);
	tape->samples.items = samples;
	tape->samples.count = count;
	return r < 0 ? r : usual_take(run, window, tally);
}

/* Names the frames of a tape that is not sealed, and notes its files. */
static int usual_note_files(struct usual_run *run, struct tape *tape, bool in_stall)
{
	const struct question *question = run->options->question;
	int r = 0;

	if (tape->unsealed && question->name)
		r = question->name(question->context, tape);
	return r < 0 ? r : binaries_add(&run->binaries, tape, in_stall);
}

static int usual_prepare(struct usual_run *run, struct tape *tape, bool in_stall)
{
	int r;

	pthread_mutex_lock(&run->lock);
	r = usual_note_files(run, tape, in_stall);
	pthread_mutex_unlock(&run->lock);
	return r;
}

/* Skips a segment that cannot be read; the other windows are enough. */
static int usual_work(void *context, unsigned int worker, size_t number)
{
	struct usual_run *run = context;
	const struct usual_item *item = &run->items.items[number];
	const struct quiet_window *first = &run->windows.list.items[item->from];
	const struct quiet_window *last = &run->windows.list.items[item->to - 1];
	const struct store_segment *segment = &run->segments.list.items[item->segment];
	const struct segment_want want = { first->from_ns, last->to_ns,
					   SEGMENT_SAMPLES | SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	uint64_t sample_ns;
	int r = store_reader_load(run->reader, segment, &want, &tape, NULL);

	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	if (!clocks_wall_rises(tape))
		return 0;
	r = usual_prepare(run, tape, item->from == 0);
	sample_ns = stack_class_sample_ns(tape, segment->samples);
	for (size_t i = item->from; r == 0 && i < item->to; i++)
		r = usual_add_window(run, tape, sample_ns, i);
	return r;
}

static uint64_t usual_cost(void *context, size_t item)
{
	struct usual_run *run = context;

	return store_reader_memory(run->reader,
				   &run->segments.list.items[run->items.items[item].segment]);
}

/*
 * Orders the segments by halves, quarters, eighths. Whenever the workers stop, the windows that
 * they have read are evenly spread. The first item is the stall's.
 */
static int usual_spread(struct usual_run *run)
{
	size_t count = run->items.count, bits = 0, next = 1;
	struct usual_item *ordered = malloc(MAX(count, (size_t)1) * sizeof(*ordered));

	if (!ordered)
		return -ENOMEM;
	if (count)
		ordered[0] = run->items.items[0];
	while (((size_t)1 << bits) < count)
		bits++;
	for (size_t i = 0; i < (size_t)1 << bits; i++) {
		size_t at = 0;

		for (size_t bit = 0; bit < bits; bit++)
			at |= (i >> bit & 1) << (bits - 1 - bit);
		if (at + 1 < count)
			ordered[next++] = run->items.items[at + 1];
	}
	free(run->items.items);
	run->items.items = ordered;
	return 0;
}

static int usual_add_items(struct usual_run *run)
{
	for (size_t i = 0; i < run->windows.list.count; i++) {
		struct usual_item *last =
			run->items.count ? &run->items.items[run->items.count - 1] : NULL;
		size_t segment = run->windows.list.items[i].segment;

		/* the stall is an item of its own: the windows are in the order of time */
		if (last && last->from && last->segment == segment)
			last->to++;
		else if (array_push(&run->items, (struct usual_item){ segment, i, i + 1 }) < 0)
			return -ENOMEM;
	}
	return usual_spread(run);
}

/*
 * Returns the time of the stall that is compared: all of it, or of a long stall the part where the
 * worst core was full. Choosing a part by what it contains makes it more unusual than a part chosen
 * blindly, so sets the number of parts that could have been chosen.
 */
static struct quiet_span usual_span(const struct evidence *evidence, unsigned int *ret_places)
{
	const struct evidence_core *core = evidence->cores;
	struct quiet_span span = { evidence->stall_from_ns, evidence->stall_to_ns };
	uint64_t length_ns = span.to_ns - span.from_ns;

	*ret_places = 1;
	if (length_ns <= USUAL_LENGTH_NS + USUAL_LENGTH_NS / 4)
		return span;
	*ret_places = (length_ns + USUAL_LENGTH_NS - 1) / USUAL_LENGTH_NS;
	if (evidence->core_count && core->full)
		span.from_ns = MAX(span.from_ns, MIN(core->from_ns, span.to_ns - USUAL_LENGTH_NS));
	span.to_ns = MIN(span.to_ns, span.from_ns + USUAL_LENGTH_NS);
	return span;
}

/* Returns the longest part of the span in one segment. */
static struct quiet_window usual_stall(const struct usual_run *run, struct quiet_span span)
{
	struct quiet_window stall = { 0 };
	uint64_t most_ns = 0;

	for (size_t i = 0; i < run->segments.list.count; i++) {
		const struct store_segment *segment = &run->segments.list.items[i];
		uint64_t begin_ns = MAX(segment->begin_ns, span.from_ns);
		uint64_t end_ns = MIN(segment->end_ns, span.to_ns);

		if (end_ns <= begin_ns || end_ns - begin_ns <= most_ns)
			continue;
		most_ns = end_ns - begin_ns;
		stall = (struct quiet_window){ i, begin_ns, end_ns };
	}
	return stall;
}

static int usual_choose(struct usual_run *run, struct evidence *evidence, struct error *error)
{
	uint64_t around_ns = run->options->around_ns;
	struct quiet_window stall;
	int r = store_reader_find(run->reader,
				  evidence->stall_from_ns - MIN(around_ns, evidence->stall_from_ns),
				  evidence->stall_to_ns + around_ns, &run->segments, error);

	if (r < 0)
		return r;
	stall = usual_stall(run, usual_span(evidence, &evidence->quiet.places));
	if (stall.to_ns == stall.from_ns)
		return 0;
	r = quiet_choose(&run->segments, run->options->excluded, stall.to_ns - stall.from_ns,
			 USUAL_WINDOWS, &run->windows);
	if (r < 0)
		return r;
	if (array_push(&run->windows.list, stall) < 0)
		return -ENOMEM;
	/* the stall comes first */
	memmove(run->windows.list.items + 1, run->windows.list.items,
		(run->windows.list.count - 1) * sizeof(*run->windows.list.items));
	run->windows.list.items[0] = stall;
	if (array_reserve(&run->read, run->windows.list.count) < 0)
		return -ENOMEM;
	run->read.count = run->windows.list.count;
	memset(run->read.items, 0, run->read.count * sizeof(*run->read.items));
	return usual_add_items(run);
}

/* Makes a matrix of the values in the windows that were read. */
struct usual_matrix {
	struct chance_input input;
	double *values;
	struct evidence_chance *chances;
};

static void usual_matrix_done(struct usual_matrix *matrix)
{
	free(matrix->values);
	free(matrix->chances);
}

static int usual_matrix_make(const struct usual_run *run, struct usual_matrix *matrix)
{
	_cleanup_free_ uint32_t *columns = calloc(run->windows.list.count, sizeof(*columns));
	size_t rows = strings_count(&run->keys), windows = 0;

	if (!columns)
		return -ENOMEM;
	for (size_t i = 0; i < run->read.count; i++)
		columns[i] = run->read.items[i] ? windows++ : 0;
	matrix->values = calloc(rows * MAX(windows, (size_t)1), sizeof(*matrix->values));
	matrix->chances = calloc(rows, sizeof(*matrix->chances));
	if (!matrix->values || !matrix->chances)
		return -ENOMEM;
	for (size_t i = 0; i < run->values.count; i++) {
		const struct usual_value *value = &run->values.items[i];

		matrix->values[value->row * windows + columns[value->window]] = value->value;
	}
	matrix->input = (struct chance_input){ rows, windows, matrix->values, FLOOR };
	return chance_judge(&matrix->input, matrix->chances);
}

static void usual_set_row(const struct usual_run *run, const struct usual_matrix *matrix,
			  enum row_kind kind, const char *name, struct evidence_row *row)
{
	const struct chance_input *input = &matrix->input;
	const double *values;
	double sum = 0;
	uint32_t number;
	char key[512];

	snprintf(key, sizeof(key), "%c%s", kind, name);
	number = strings_find(&run->keys, key, strlen(key));
	*row = (struct evidence_row){ .chance = { .windows = input->windows - 1,
						  .as_much = input->windows - 1,
						  .tried = input->rows,
						  .p = 1 } };
	if (!number)
		return;
	values = matrix->values + number * input->windows;
	row->now = values[0];
	for (size_t i = 1; i < input->windows; i++) {
		sum += values[i];
		row->most = MAX(row->most, values[i]);
	}
	row->usual = sum / MAX(input->windows - 1, (size_t)1);
	row->is_new = input->windows > 1 && row->now > 0 && row->most == 0;
	row->chance = matrix->chances[number];
}

/*
 * A row is the core's if the core has most of its time. Otherwise it may stand out for another
 * reason: every program has main().
 */
static bool usual_is_of_core(const struct evidence_row *row, double share)
{
	return share >= OF_CORE * row->now;
}

static struct evidence_row usual_row_of_core(const struct usual_run *run,
					     const struct usual_matrix *matrix, enum row_kind kind,
					     const char *name, double share)
{
	struct evidence_row row;

	usual_set_row(run, matrix, kind, name, &row);
	if (usual_is_of_core(&row, share))
		return row;
	row.chance.as_much = row.chance.windows;
	row.chance.p = 1;
	return row;
}

static void usual_set_thread(const struct usual_run *run, const struct usual_matrix *matrix,
			     const struct evidence *evidence, struct evidence_thread *thread)
{
	char group[TALLY_GROUP_SIZE];
	struct evidence_row fullest;

	tally_group_name(evidence_name(evidence, thread->comm), group);
	thread->row = usual_row_of_core(run, matrix, ROW_GROUP, group, thread->share);
	fullest = usual_row_of_core(run, matrix, ROW_FULLEST, group, thread->share);
	if (fullest.chance.p < thread->row.chance.p)
		thread->row = fullest;
}

static void usual_set_core(const struct usual_run *run, const struct usual_matrix *matrix,
			   const struct evidence *evidence, struct evidence_core *core)
{
	for (size_t i = 0; i < core->thread_count; i++)
		usual_set_thread(run, matrix, evidence, &core->threads[i]);
	core->leaf_row = (struct evidence_row){ .chance.p = 1 };
	for (size_t i = 0; i < core->path_count; i++) {
		struct evidence_step *step = &core->path[i];
		struct evidence_row row =
			usual_row_of_core(run, matrix, ROW_FUNCTION,
					  evidence_name(evidence, step->function), step->share);

		step->is_new = row.is_new;
		if (i == 0 || row.chance.p <= core->leaf_row.chance.p)
			core->leaf_row = row;
	}
	core->compared = true;
}

static void usual_describe(const struct usual_run *run, struct evidence_quiet *quiet)
{
	const struct quiet_window *windows = run->windows.list.items;

	quiet->length_ns = windows[0].to_ns - windows[0].from_ns;
	for (size_t i = 1; i < run->windows.list.count; i++) {
		if (!run->read.items[i])
			continue;
		quiet->from_ns =
			quiet->count ? MIN(quiet->from_ns, windows[i].from_ns) : windows[i].from_ns;
		quiet->to_ns = MAX(quiet->to_ns, windows[i].to_ns);
		quiet->count++;
	}
}

static int usual_judge(const struct usual_run *run, struct evidence *evidence)
{
	_cleanup_(usual_matrix_done) struct usual_matrix matrix = { 0 };
	int r = usual_matrix_make(run, &matrix);

	if (r < 0)
		return r;
	usual_describe(run, &evidence->quiet);
	usual_set_row(run, &matrix, ROW_MACHINE, "", &evidence->machine);
	for (size_t i = 0; i < evidence->core_count; i++)
		usual_set_core(run, &matrix, evidence, &evidence->cores[i]);
	return 0;
}

static int usual_read(struct usual_run *run)
{
	const struct workers workers = {
		.threads = run->options->threads,
		.count = run->items.count,
		.work = usual_work,
		.context = run,
		.cost = usual_cost,
		.memory_bytes = LOADER_MEMORY_BYTES,
		.until_ns = run->items.count <= USUAL_FEW
				    ? 0
				    : clock_ns(CLOCK_MONOTONIC) + run->options->limit_ns,
	};
	size_t done;

	return workers_run(&workers, &done);
}

int usual_rows_compare(struct store_reader *reader, const struct usual_options *options,
		       struct evidence *evidence, struct error *error)
{
	_cleanup_(usual_run_done) struct usual_run run = {
		.options = options,
		.reader = reader,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int r = usual_choose(&run, evidence, error);

	if (r < 0)
		return r;
	if (run.items.count)
		r = usual_read(&run);
	if (r < 0)
		return r;
	if (run.read.count && run.read.items[0])
		r = usual_judge(&run, evidence);
	return r < 0 ? r : binaries_find_changed(&run.binaries, evidence);
}
