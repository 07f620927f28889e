// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/spikes.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/read/recorded.h"
#include "query/coverage/recorded-cpus.h"
#include "query/sums/spikes-run.h"
#include "tape/busy.h"

/* So far around a window it is looked at what reaches into it. */
#define AROUND_NS (3600 * NSEC_PER_SEC)

/* Of so many segments it is seen how far off their clocks may be, and which CPUs the host had: each
 * takes 0.2 ms, as much as all else that is asked of four. */
#define SEGMENTS_SEEN 64

/* Busy CPUs of one slot: all, and those that were mostly in the kernel. */
struct crowd {
	uint32_t all, kernel;
};

struct finding {
	const struct spikes_options *options;
	struct store_reader *reader;
	struct spikes *spikes;
	struct strings boots;
	/* "PID TID COMM", by the numbers of the spikes' threads */
	struct strings thread_keys;
	/* by CPU: what may go on */
	array_of(struct spikes_run) runs;
	/* of one segment */
	/* by slot */
	array_of(struct crowd) crowds;
	/* the spikes' numbers, by the segment's */
	array_of(uint32_t) names, threads;
	struct error *error;
};

static bool spikes_counts(const struct finding *finding, const struct busy_cell *cell)
{
	return cell->busy >= finding->options->busy &&
	       cell->kernel + cell->irq >= finding->options->kernel;
}

static bool is_kernels(const struct busy_cell *cell)
{
	return 2 * (cell->kernel + cell->irq) >= cell->busy;
}

static bool is_crowded(const struct finding *finding, const struct busy *busy,
		       const struct busy_cell *cell)
{
	const struct crowd *crowd = &finding->crowds.items[cell->slot];
	uint64_t count = is_kernels(cell) ? crowd->kernel : crowd->all;

	return count > MAX(busy->cpus / 2, 1ull);
}

/* Of all that were busy, whatever was asked for: else a threshold would bring to light, as a single
 * CPU, one of many. */
static int count_crowds(struct finding *finding, const struct busy *busy)
{
	size_t slots = busy->slots.count;

	if (array_reserve(&finding->crowds, slots) < 0)
		return -ENOMEM;
	if (slots)
		memset(finding->crowds.items, 0, slots * sizeof(*finding->crowds.items));
	for (size_t i = 0; i < busy->cells.count; i++) {
		const struct busy_cell *cell = &busy->cells.items[i];
		struct crowd *crowd = &finding->crowds.items[cell->slot];

		crowd->all++;
		crowd->kernel += is_kernels(cell);
	}
	return 0;
}

static int map_name(struct finding *finding, const struct busy *busy, uint32_t name,
		    uint32_t *ret_name)
{
	const char *text = strings_at(&busy->names, name);
	uint32_t *ours = &finding->names.items[name];
	int r = 0;

	if (!*ours && name)
		r = strings_add(&finding->spikes->names, text, strlen(text), ours);
	*ret_name = *ours;
	return r;
}

static int spikes_map_thread(struct finding *finding, const struct busy *busy, uint32_t number,
			     uint32_t *ret_thread)
{
	const struct busy_thread *thread = &busy->threads.items[number - 1];
	struct spike_thread row = { thread->pid, thread->tid, 0 };
	uint32_t *ours = &finding->threads.items[number];
	char key[128];
	int size, r = 0;

	if (!*ours) {
		size = snprintf(key, sizeof(key), "%d %d %.64s", thread->pid, thread->tid,
				strings_at(&busy->names, thread->comm));
		r = strings_add(&finding->thread_keys, key, size, ours);
		if (r == 0)
			r = map_name(finding, busy, thread->comm, &row.comm);
		if (r == 0 && *ours >= finding->spikes->threads.count)
			r = array_push(&finding->spikes->threads, row);
	}
	*ret_thread = *ours;
	return r;
}

static int start_maps(struct finding *finding, const struct busy *busy)
{
	size_t names = strings_count(&busy->names), threads = busy->threads.count + 1;

	if (array_reserve(&finding->names, names) < 0 ||
	    array_reserve(&finding->threads, threads) < 0)
		return -ENOMEM;
	memset(finding->names.items, 0, names * sizeof(*finding->names.items));
	memset(finding->threads.items, 0, threads * sizeof(*finding->threads.items));
	return 0;
}

static bool spikes_is_in_window(const struct finding *finding, uint64_t from_ns, uint64_t to_ns)
{
	const struct window *window = &finding->options->question.window;

	return !window->to_ns || (from_ns < window->to_ns && to_ns > window->from_ns);
}

/* A second of the wall clock, which is slewed by up to 500 ppm, takes a hair less than a second or
 * more. */
static bool spikes_lasted(uint64_t length_ns, uint64_t min_ns)
{
	return length_ns && length_ns + length_ns / 1000 + NSEC_PER_MSEC >= min_ns;
}

/* Puts what was found on a CPU on the list, if it is long enough. */
static int end_run(struct finding *finding, uint32_t cpu)
{
	const struct spikes_options *options = finding->options;
	struct spikes_run *run = &finding->runs.items[cpu];
	struct spike spike;
	int r = 0;

	if (spikes_lasted(run->length_ns, options->min_ns) &&
	    spikes_is_in_window(finding, run->from_ns, run->to_ns)) {
		spike = spikes_run_end(run, cpu);
		if (!spikes_lasted(spike.stretch.length_ns, options->min_ns))
			spike.stretch = (struct spike_stretch){ 0 };
		if (options->all || spikes_lasted(run->single_ns, options->min_ns))
			r = array_push(&finding->spikes->list, spike);
		else
			finding->spikes->crowded++;
	}
	*run = (struct spikes_run){ 0 };
	return r;
}

static int add_second(struct finding *finding, const struct busy *busy,
		      const struct busy_cell *cell, struct spikes_second *second)
{
	uint32_t cpu = cell->cpu;
	int r = 0;

	if (cell->thread)
		r = spikes_map_thread(finding, busy, cell->thread, &second->thread);
	if (r == 0)
		r = map_name(finding, busy, cell->function, &second->function);
	while (r == 0 && finding->runs.count <= cpu)
		r = array_push(&finding->runs, (struct spikes_run){ 0 });
	if (r == 0 && !spikes_run_follows(&finding->runs.items[cpu], second))
		r = end_run(finding, cpu);
	if (r == 0)
		spikes_run_add(&finding->runs.items[cpu], second);
	return r;
}

static int add_cell(struct finding *finding, uint32_t boot, const struct busy *busy,
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
		.crowded = is_crowded(finding, busy, cell),
	};

	if (cell->cpu >= TAPE_CPUS_MAX)
		return 0;
	return add_second(finding, busy, cell, &second);
}

static int add_busy(struct finding *finding, const struct store_segment *segment,
		    const struct busy *busy)
{
	const struct cpu_set_filter *cpus = &finding->options->question.filter->cpus;
	uint32_t boot;
	int r = strings_add(&finding->boots, segment->boot_id, strlen(segment->boot_id), &boot);

	if (spikes_is_in_window(finding, segment->begin_ns, segment->end_ns))
		finding->spikes->unknown += !busy->known;
	if (r == 0)
		r = count_crowds(finding, busy);
	if (r == 0)
		r = start_maps(finding, busy);
	for (size_t i = 0; r == 0 && i < busy->cells.count; i++) {
		const struct busy_cell *cell = &busy->cells.items[i];

		if (spikes_counts(finding, cell) && cpu_filter_passes(cpus, cell->cpu))
			r = add_cell(finding, boot, busy, cell);
	}
	return r;
}

/* Of a segment that does not say it itself, by its samples. */
static int spikes_add_samples(struct finding *finding, struct store_segment *segment)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	const struct question *question = &finding->options->question;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error error = { 0 };
	struct busy busy = { 0 };
	int r = store_reader_load(finding->reader, segment, &want, &tape, &error);

	if (error_is_exhaustion(r))
		return error_set(finding->error, r, "%s", error.text);
	if (r < 0) {
		snprintf(segment->damage, sizeof(segment->damage), "%.*s",
			 (int)sizeof(segment->damage) - 1, error.text);
		return 0;
	}
	if (tape->unsealed && question->name)
		r = question->name(question->context, tape);
	if (r == 0)
		r = tape_sort_samples(tape);
	if (r == 0)
		r = busy_make(tape, &busy);
	if (r == 0)
		r = add_busy(finding, segment, &busy);
	busy_done(&busy);
	return r;
}

static int spikes_see_segment(void *context, const struct store_segment *segment,
			      const struct busy *busy)
{
	struct finding *finding = context;
	bool in_window = spikes_is_in_window(finding, segment->begin_ns, segment->end_ns);
	struct store_segment ours = *segment;
	int r = 0;

	if (busy) {
		r = add_busy(finding, segment, busy);
	} else if (in_window && !*segment->damage && (segment->samples || segment->unsealed)) {
		r = spikes_add_samples(finding, &ours);
		finding->spikes->read += !segment->unsealed;
		if (!segment->unsealed && finding->options->progress)
			finding->options->progress(finding->options->progress_context,
						   finding->spikes->read, finding->spikes->read);
	}
	if (r < 0 || !in_window)
		return r;
	finding->spikes->segments++;
	return array_push(&finding->spikes->found.list, ours);
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

static int spikes_find_here2(struct finding *finding)
{
	struct spikes *spikes = finding->spikes;
	const struct recorded_losses losses = {
		.cpus = &finding->options->question.filter->cpus,
		.known = true,
	};
	uint64_t from_ns = spikes->window.from_ns, to_ns = spikes->window.to_ns;
	int r = array_push(&spikes->threads, (struct spike_thread){ 0 });

	if (r == 0)
		r = store_reader_busy(finding->reader, from_ns - MIN(from_ns, AROUND_NS),
				      to_ns ? to_ns + MIN(AROUND_NS, UINT64_MAX - to_ns)
					    : UINT64_MAX,
				      spikes_see_segment, finding, finding->error);
	for (uint32_t i = 0; r == 0 && i < finding->runs.count; i++)
		r = end_run(finding, i);
	spikes_sort(spikes, compare_spikes);
	if (r == 0 && !to_ns)
		spikes->window = recorded_window(&spikes->found);
	spikes->losses = finding->options->losses || spikes->found.list.count <= SEGMENTS_SEEN;
	return r < 0 ? r
		     : recorded_cover(finding->reader, &spikes->found, &spikes->window,
				      spikes->losses ? &losses : NULL, &spikes->coverage,
				      finding->error);
}

int spikes_find(struct store_reader *reader, const struct spikes_options *options,
		struct spikes *ret_spikes, struct error *error)
{
	struct finding finding = {
		.options = options, .reader = reader, .spikes = ret_spikes, .error = error
	};
	int r;

	*ret_spikes = (struct spikes){ .window = options->question.window };
	r = spikes_find_here2(&finding);
	array_done(&finding.runs);
	array_done(&finding.crowds);
	array_done(&finding.names);
	array_done(&finding.threads);
	strings_done(&finding.boots);
	strings_done(&finding.thread_keys);
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

/* How long the kernel had it; 0 where it was mostly somebody else's. */
static uint64_t kernel_ns(const struct spike *spike)
{
	return 2 * (spike->kernel + spike->irq) >= spike->busy ? spike->length_ns
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

void spikes_limit(struct spikes *spikes, size_t limit)
{
	if (spikes->list.count <= limit)
		return;
	spikes_sort(spikes, compare_weights);
	spikes->limited += spikes->list.count - limit;
	spikes->list.count = limit;
	spikes_sort(spikes, compare_spikes);
}

/* Do spikes of the list, which is in the order of time, begin in the segment? */
static bool is_begun_in(const struct spikes *spikes, const struct store_segment *segment)
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

static int see_clock(struct store_reader *reader, const struct store_segment *segment,
		     struct spikes *spikes, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct error own = { 0 };
	int r = store_reader_load(reader, segment, &want, &tape, &own);

	if (error_is_exhaustion(r))
		return error_set(error, r, "%s", own.text);
	/* one that is gone since, or damaged: what is known of the others is said */
	if (r == 0)
		spikes->coverage.clock_error_ns =
			MAX(spikes->coverage.clock_error_ns, recorded_clock_error(tape));
	return 0;
}

int spikes_tell_clock(struct store_reader *reader, struct spikes *spikes, struct error *error)
{
	const struct store_segment *segments = spikes->found.list.items;
	size_t count = 0, seen = 0;
	int r = 0;

	for (size_t i = 0; i < spikes->found.list.count; i++)
		count += is_begun_in(spikes, &segments[i]);
	for (size_t i = 0; r == 0 && i < spikes->found.list.count; i++)
		if (is_begun_in(spikes, &segments[i]) && seen++ % (count / SEGMENTS_SEEN + 1) == 0)
			r = see_clock(reader, &segments[i], spikes, error);
	return r;
}

static int see_cpus(struct store_reader *reader, const struct store_segment *segment,
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

/* Those whose number leaves no rest, or the others of them: these only for as long as none of the
 * CPUs was found. */
static int see_all_cpus(struct store_reader *reader, const struct store_segments *segments,
			size_t step, bool others, const struct cpu_set_filter *asked,
			struct coverage_parts *parts, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < segments->list.count; i++)
		if ((i % step != 0) == others && !(others && parts->asked_recorded))
			r = see_cpus(reader, &segments->list.items[i], asked, parts, error);
	return r;
}

int spikes_tell_cpus(struct store_reader *reader, const struct cpu_set_filter *asked,
		     struct spikes *spikes, struct error *error)
{
	size_t step = spikes->found.list.count / SEGMENTS_SEEN + 1;
	struct coverage_parts parts = { 0 };
	int r = 0;

	/* who looked at all losses has seen all CPUs */
	if (!asked->wanted.count || spikes->losses)
		return 0;
	for (int others = 0; r == 0 && others < 2; others++)
		r = see_all_cpus(reader, &spikes->found, step, others, asked, &parts, error);
	if (r == 0)
		r = recorded_cpus_finish(&spikes->coverage, &parts);
	coverage_parts_done(&parts);
	return r;
}
