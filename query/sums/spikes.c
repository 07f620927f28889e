// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/spikes.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/read/recorded.h"
#include "query/coverage/recorded-cpus.h"
#include "query/sums/spikes-run.h"
#include "tape/busy.h"

/* The time before and after the window in which to follow a spike that reaches into the window. */
#define AROUND_NS (3600 * NSEC_PER_SEC)

/*
 * The largest number of segments to open for clock errors and recorded CPUs. Opening a segment
 * takes 0.2 ms, as much as all other work on four segments.
 */
#define SEGMENTS_SEEN 64

/* The busy CPUs of one slot: the number of all, and of those that were mostly in the kernel. */
struct crowd {
	uint32_t all, kernel;
};

struct finder {
	const struct spikes_options *options;
	struct store_reader *reader;
	struct spikes *spikes;
	struct strings boots;
	/* "PID TID COMM", in the order of the numbers of the spikes' threads */
	struct strings thread_keys;
	/* indexed by CPU: the spike that the next second may continue */
	array_of(struct spikes_run) runs;
	/* The members below belong to the current segment. */
	/* indexed by slot */
	array_of(struct crowd) crowds;
	/* map the segment's numbers of names and threads to those of the spikes */
	array_of(uint32_t) names, threads;
	struct error *error;
};

static bool exceeds_thresholds(const struct finder *finder, const struct busy_cell *cell)
{
	return cell->busy >= finder->options->busy &&
	       cell->kernel + cell->irq >= finder->options->kernel;
}

static bool is_mostly_kernel(const struct busy_cell *cell)
{
	return 2 * (cell->kernel + cell->irq) >= cell->busy;
}

static bool is_crowded(const struct finder *finder, const struct busy *busy,
		       const struct busy_cell *cell)
{
	const struct crowd *crowd = &finder->crowds.items[cell->slot];
	uint64_t count = is_mostly_kernel(cell) ? crowd->kernel : crowd->all;

	return count > MAX(busy->cpus / 2, 1ull);
}

/*
 * Counts all busy CPUs, whatever thresholds the user chose. If only CPUs above a high threshold
 * counted, one of many busy CPUs would seem to be alone.
 */
static int count_crowds(struct finder *finder, const struct busy *busy)
{
	size_t slots = busy->slots.count;

	if (array_reserve(&finder->crowds, slots) < 0)
		return -ENOMEM;
	if (slots)
		memset(finder->crowds.items, 0, slots * sizeof(*finder->crowds.items));
	for (size_t i = 0; i < busy->cells.count; i++) {
		const struct busy_cell *cell = &busy->cells.items[i];
		struct crowd *crowd = &finder->crowds.items[cell->slot];

		crowd->all++;
		crowd->kernel += is_mostly_kernel(cell);
	}
	return 0;
}

static int map_name(struct finder *finder, const struct busy *busy, uint32_t name,
		    uint32_t *ret_name)
{
	const char *text = strings_at(&busy->names, name);
	uint32_t *ours = &finder->names.items[name];
	int r = 0;

	if (!*ours && name)
		r = strings_add(&finder->spikes->names, text, strlen(text), ours);
	*ret_name = *ours;
	return r;
}

static int spikes_add_thread(struct finder *finder, const struct busy *busy,
			     const struct busy_thread *thread, uint32_t *ours)
{
	struct spike_thread row = { thread->pid, thread->tid, 0 };
	char key[128];
	int size = snprintf(key, sizeof(key), "%d %d %.64s", thread->pid, thread->tid,
			    strings_at(&busy->names, thread->comm));
	int r = strings_add(&finder->thread_keys, key, size, ours);

	if (r < 0)
		return r;
	r = map_name(finder, busy, thread->comm, &row.comm);
	if (r < 0)
		return r;
	if (*ours >= finder->spikes->threads.count)
		return array_push(&finder->spikes->threads, row);
	return 0;
}

static int spikes_map_thread(struct finder *finder, const struct busy *busy, uint32_t number,
			     uint32_t *ret_thread)
{
	uint32_t *ours = &finder->threads.items[number];
	int r = 0;

	if (!*ours)
		r = spikes_add_thread(finder, busy, &busy->threads.items[number - 1], ours);
	*ret_thread = *ours;
	return r;
}

static int start_maps(struct finder *finder, const struct busy *busy)
{
	size_t names = strings_count(&busy->names), threads = busy->threads.count + 1;

	if (array_reserve(&finder->names, names) < 0 ||
	    array_reserve(&finder->threads, threads) < 0)
		return -ENOMEM;
	memset(finder->names.items, 0, names * sizeof(*finder->names.items));
	memset(finder->threads.items, 0, threads * sizeof(*finder->threads.items));
	return 0;
}

static bool spikes_is_in_window(const struct finder *finder, uint64_t from_ns, uint64_t to_ns)
{
	const struct window *window = &finder->options->question.window;

	return !window->to_ns || (from_ns < window->to_ns && to_ns > window->from_ns);
}

/*
 * The kernel slews the wall clock by up to 500 ppm, so its seconds may be slightly short or long.
 */
static bool spikes_lasted(uint64_t length_ns, uint64_t min_ns)
{
	return length_ns && length_ns + length_ns / 1000 + NSEC_PER_MSEC >= min_ns;
}

/* Ends the run of a CPU and lists it as a spike if it is long enough. */
static int end_run(struct finder *finder, uint32_t cpu)
{
	const struct spikes_options *options = finder->options;
	struct spikes_run *run = &finder->runs.items[cpu];
	struct spike spike;
	int r = 0;

	if (run->counted_ns && spikes_lasted(run->length_ns, options->min_ns) &&
	    spikes_is_in_window(finder, run->from_ns, run->to_ns)) {
		spike = spikes_run_end(run, cpu);
		if (!spikes_lasted(spike.stretch.length_ns, options->min_ns))
			spike.stretch = (struct spike_stretch){ 0 };
		if (options->all || spikes_lasted(run->single_ns, options->min_ns))
			r = array_push(&finder->spikes->list, spike);
		else
			finder->spikes->crowded++;
	}
	*run = (struct spikes_run){ 0 };
	return r;
}

static int add_second(struct finder *finder, const struct busy *busy, const struct busy_cell *cell,
		      struct spikes_second *second)
{
	uint32_t cpu = cell->cpu;
	int r = 0;

	if (cell->thread)
		r = spikes_map_thread(finder, busy, cell->thread, &second->thread);
	if (r < 0)
		return r;
	r = map_name(finder, busy, cell->function, &second->function);
	while (r == 0 && finder->runs.count <= cpu)
		r = array_push(&finder->runs, (struct spikes_run){ 0 });
	if (r < 0)
		return r;
	if (!spikes_run_follows(&finder->runs.items[cpu], second))
		r = end_run(finder, cpu);
	if (r < 0)
		return r;
	spikes_run_add(&finder->runs.items[cpu], second);
	return r;
}

static int add_cell(struct finder *finder, uint32_t boot, const struct busy *busy,
		    const struct busy_cell *cell)
{
	const struct busy_slot *slot = &busy->slots.items[cell->slot];
	struct spikes_second second = {
		.from_ns = slot->realtime_ns,
		.to_ns = slot->realtime_ns + slot->length_ns,
		.perf_ns = slot->perf_ns,
		.length_ns = slot->length_ns,
		.boot = boot,
		.cell = cell,
		.machine = slot->machine,
		.crowded = is_crowded(finder, busy, cell),
	};

	second.outside =
		finder->options->clip && !spikes_is_in_window(finder, second.from_ns, second.to_ns);

	if (cell->cpu >= TAPE_CPUS_MAX)
		return 0;
	return add_second(finder, busy, cell, &second);
}

static int add_busy(struct finder *finder, const struct store_segment *segment,
		    const struct busy *busy)
{
	const struct cpu_set_filter *cpus = &finder->options->question.filter->cpus;
	uint32_t boot;
	int r = strings_add(&finder->boots, segment->boot_id, strlen(segment->boot_id), &boot);

	if (spikes_is_in_window(finder, segment->begin_ns, segment->end_ns))
		finder->spikes->unknown += !busy->known;
	if (r < 0)
		return r;
	r = count_crowds(finder, busy);
	if (r < 0)
		return r;
	r = start_maps(finder, busy);
	for (size_t i = 0; r == 0 && i < busy->cells.count; i++) {
		const struct busy_cell *cell = &busy->cells.items[i];

		if (exceeds_thresholds(finder, cell) && cpu_filter_passes(cpus, cell->cpu))
			r = add_cell(finder, boot, busy, cell);
	}
	return r;
}

/* Computes the busy seconds from the samples of a segment that does not store them. */
static int spikes_add_samples(struct finder *finder, struct store_segment *segment)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	const struct question *question = &finder->options->question;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error error = { 0 };
	_cleanup_(busy_done) struct busy busy = { 0 };
	int r = store_reader_load(finder->reader, segment, &want, &tape, &error);

	if (error_is_exhaustion(r))
		return error_set(finder->error, r, "%s", error.text);
	if (r < 0) {
		snprintf(segment->damage, sizeof(segment->damage), "%.*s",
			 (int)sizeof(segment->damage) - 1, error.text);
		return 0;
	}
	if (tape->unsealed && question->name)
		r = question->name(question->context, tape);
	if (r < 0)
		return r;
	r = tape_sort_samples(tape);
	if (r < 0)
		return r;
	r = busy_make(tape, &busy);
	return r < 0 ? r : add_busy(finder, segment, &busy);
}

static int spikes_take_segment(void *context, const struct store_segment *segment,
			       const struct busy *busy)
{
	struct finder *finder = context;
	bool in_window = spikes_is_in_window(finder, segment->begin_ns, segment->end_ns);
	struct store_segment ours = *segment;
	int r = 0;

	if (busy) {
		r = add_busy(finder, segment, busy);
	} else if (in_window && !*segment->damage && (segment->samples || segment->unsealed)) {
		r = spikes_add_samples(finder, &ours);
		finder->spikes->read += !segment->unsealed;
		if (!segment->unsealed && finder->options->progress)
			finder->options->progress(finder->options->progress_context,
						  finder->spikes->read, finder->spikes->read);
	}
	if (r < 0 || !in_window)
		return r;
	finder->spikes->segments++;
	return array_push(&finder->spikes->found.list, ours);
}

static int compare_spikes(const void *a, const void *b)
{
	const struct spike *left = a, *right = b;

	if (left->from_ns != right->from_ns)
		return left->from_ns < right->from_ns ? -1 : 1;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static void spikes_sort(struct spikes *spikes, int (*compare)(const void *, const void *))
{
	if (spikes->list.count)
		qsort(spikes->list.items, spikes->list.count, sizeof(*spikes->list.items), compare);
}

static int spikes_collect(struct finder *finder)
{
	struct spikes *spikes = finder->spikes;
	const struct recorded_losses losses = {
		.cpus = &finder->options->question.filter->cpus,
		.known = true,
	};
	uint64_t from_ns = spikes->window.from_ns, to_ns = spikes->window.to_ns;
	int r = array_push(&spikes->threads, (struct spike_thread){ 0 });

	if (r == 0)
		r = store_reader_busy(finder->reader, from_ns - MIN(from_ns, AROUND_NS),
				      to_ns ? to_ns + MIN(AROUND_NS, UINT64_MAX - to_ns)
					    : UINT64_MAX,
				      spikes_take_segment, finder, finder->error);
	for (uint32_t i = 0; r == 0 && i < finder->runs.count; i++)
		r = end_run(finder, i);
	spikes_sort(spikes, compare_spikes);
	if (r == 0 && !to_ns)
		spikes->window = recorded_window(&spikes->found);
	spikes->losses = finder->options->losses || spikes->found.list.count <= SEGMENTS_SEEN;
	return r < 0 ? r
		     : recorded_cover(finder->reader, &spikes->found, &spikes->window,
				      spikes->losses ? &losses : NULL, &spikes->coverage,
				      finder->error);
}

int spikes_find(struct store_reader *reader, const struct spikes_options *options,
		struct spikes *ret_spikes, struct error *error)
{
	struct finder finder = {
		.options = options, .reader = reader, .spikes = ret_spikes, .error = error
	};
	int r;

	*ret_spikes = (struct spikes){ .window = options->question.window };
	r = spikes_collect(&finder);
	array_done(&finder.runs);
	array_done(&finder.crowds);
	array_done(&finder.names);
	array_done(&finder.threads);
	strings_done(&finder.boots);
	strings_done(&finder.thread_keys);
	return r;
}

void spikes_done(struct spikes *spikes)
{
	array_done(&spikes->coverage.gaps);
	array_done(&spikes->found.list);
	array_done(&spikes->list);
	array_done(&spikes->threads);
	strings_done(&spikes->names);
}

/* Returns how long the kernel had the CPU; 0 if other code had it most of the time. */
static uint64_t kernel_ns(const struct spike *spike)
{
	return 2 * (spike->kernel + spike->irq) >= spike->busy ? spike->counted_ns
							       : spike->stretch.length_ns;
}

static int compare_weights(const void *a, const void *b)
{
	const struct spike *left = a, *right = b;

	if (kernel_ns(left) != kernel_ns(right))
		return kernel_ns(left) > kernel_ns(right) ? -1 : 1;
	if (left->length_ns != right->length_ns)
		return left->length_ns > right->length_ns ? -1 : 1;
	return compare_spikes(a, b);
}

void spikes_sort_by_weight(struct spikes *spikes)
{
	spikes_sort(spikes, compare_weights);
}

void spikes_limit(struct spikes *spikes, size_t limit)
{
	if (spikes->list.count <= limit)
		return;
	spikes_sort(spikes, compare_weights);
	spikes->limited += spikes->list.count - limit;
	spikes->list.count = limit;
	spikes_sort(spikes, compare_spikes);
}

/* Returns true if a spike of the list begins in the segment. The list is sorted by time. */
static bool begin_in(const struct spikes *spikes, const struct store_segment *segment)
{
	size_t first = 0, behind = spikes->list.count;

	/* begins are rounded */
	while (first < behind) {
		size_t middle = first + (behind - first) / 2;

		if (spikes->list.items[middle].from_ns + NSEC_PER_MSEC < segment->begin_ns)
			first = middle + 1;
		else
			behind = middle;
	}
	return !*segment->damage && first < spikes->list.count &&
	       spikes->list.items[first].from_ns < segment->end_ns;
}

static int spikes_read_clock(struct store_reader *reader, const struct store_segment *segment,
			     struct spikes *spikes, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error own = { 0 };
	int r = store_reader_load(reader, segment, &want, &tape, &own);

	if (error_is_exhaustion(r))
		return error_set(error, r, "%s", own.text);
	/* skip a segment that is gone or damaged by now */
	if (r == 0)
		spikes->coverage.clock_error_ns =
			MAX(spikes->coverage.clock_error_ns, recorded_clock_error(tape));
	return 0;
}

int spikes_add_clock_error(struct store_reader *reader, struct spikes *spikes, struct error *error)
{
	const struct store_segment *segments = spikes->found.list.items;
	size_t count = 0, seen = 0;
	int r = 0;

	for (size_t i = 0; i < spikes->found.list.count; i++)
		count += begin_in(spikes, &segments[i]);
	for (size_t i = 0; r == 0 && i < spikes->found.list.count; i++)
		if (begin_in(spikes, &segments[i]) && seen++ % (count / SEGMENTS_SEEN + 1) == 0)
			r = spikes_read_clock(reader, &segments[i], spikes, error);
	return r;
}

static int read_cpus(struct store_reader *reader, const struct store_segment *segment,
		     const struct cpu_set_filter *asked, struct coverage_parts *parts,
		     struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error own = { 0 };
	int r = *segment->damage ? 1 : store_reader_load(reader, segment, &want, &tape, &own);

	if (r == 0)
		return recorded_cpus_add(parts, asked, tape);
	return error_is_exhaustion(r) ? error_set(error, r, "%s", own.text) : 0;
}

/*
 * Reads every step-th segment. With `others`, reads the remaining segments until one of them has a
 * selected CPU.
 */
static int read_all_cpus(struct store_reader *reader, const struct store_segments *segments,
			 size_t step, bool others, const struct cpu_set_filter *asked,
			 struct coverage_parts *parts, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < segments->list.count; i++)
		if ((i % step != 0) == others && !(others && parts->asked_recorded))
			r = read_cpus(reader, &segments->list.items[i], asked, parts, error);
	return r;
}

int spikes_add_unrecorded_cpus(struct store_reader *reader, const struct cpu_set_filter *asked,
			       struct spikes *spikes, struct error *error)
{
	size_t step = spikes->found.list.count / SEGMENTS_SEEN + 1;
	_cleanup_(coverage_parts_done) struct coverage_parts parts = { 0 };
	int r = 0;

	/* reading all losses has already shown all CPUs */
	if (!asked->wanted.count || spikes->losses)
		return 0;
	for (int others = 0; r == 0 && others < 2; others++)
		r = read_all_cpus(reader, &spikes->found, step, others, asked, &parts, error);
	return r < 0 ? r : recorded_cpus_finish(&spikes->coverage, &parts);
}
