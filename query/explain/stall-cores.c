// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/stall-cores.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/explain/core-details.h"
#include "query/explain/stall-grid.h"
#include "query/explain/stall-samples.h"
#include "query/read/series.h"

/* A CPU counts as full if it had no idle time for this long, or for most of a shorter stall. */
#define FULL_NS (2 * NSEC_PER_SEC)
#define FULL_SHARE 0.6
#define FULL_LEAST_NS NSEC_PER_SEC
/* The least mean load of a full stretch. */
#define FULL_MEAN 0.92

struct candidate {
	uint32_t cpu;
	struct stall_run run;
	bool full;
	double score;
};

struct stall_cores {
	struct stall_samples samples;
	struct stall_grid grid;
	array_of(struct candidate) candidates;
};

static int stall_fill_grid(struct stall_cores *cores, const struct window *window)
{
	const struct selection *selection = cores->samples.selection;
	int r = stall_grid_init(&cores->grid, window->from_ns, window->to_ns);

	for (size_t row = 0; r == 0 && row < selection->rows.count; row++) {
		struct stall_sample sample = stall_samples_at(&cores->samples, row);

		r = stall_grid_add(&cores->grid, sample.realtime_ns, sample.sample->cpu,
				   sample.kind, sample.ns);
	}
	return r;
}

static uint64_t stall_run_ns(const struct stall_run *run)
{
	return (run->to - run->from) * STALL_GRID_CELL_NS;
}

/*
 * The kernel lets nothing else run while it works, so its time counts most. Only time in the stall
 * counts: a CPU that is always full is hardly its cause.
 */
static double candidate_score(const struct stall_cores *cores, const struct candidate *candidate,
			      struct stall_run stall, const struct evidence_incident *incident)
{
	struct stall_run both = { MAX(candidate->run.from, stall.from),
				  MIN(candidate->run.to, stall.to) };
	struct stack_class sum = stall_grid_sum(&cores->grid, candidate->cpu, both);
	double score = sum.ns[STACK_CLASS_KERNEL] + sum.ns[STACK_CLASS_IRQ] +
		       0.4 * sum.ns[STACK_CLASS_USER];
	bool serves = incident->cpu_source && incident->cpu == candidate->cpu;

	if (candidate->full)
		score *= 10;
	return serves ? 2 * score + 1 : score;
}

/* Returns whether the stretch is long enough, and has hardly any idle time in all. */
static bool candidate_is_full(const struct stall_cores *cores, const struct candidate *candidate,
			      uint64_t least_ns)
{
	struct stack_class sum = stall_grid_sum(&cores->grid, candidate->cpu, candidate->run);
	uint64_t length_ns = stall_run_ns(&candidate->run);

	return length_ns >= least_ns && stack_class_work_ns(&sum) >= FULL_MEAN * length_ns;
}

static int stall_add_candidate(struct stall_cores *cores, const struct evidence *evidence,
			       uint32_t cpu)
{
	struct stall_run stall = { stall_grid_column(&cores->grid, evidence->stall_from_ns),
				   stall_grid_column(&cores->grid, evidence->stall_to_ns) };
	uint64_t stall_ns = evidence->stall_to_ns - evidence->stall_from_ns;
	uint64_t least_ns = MAX(MIN(FULL_NS, (uint64_t)(FULL_SHARE * stall_ns)), FULL_LEAST_NS);
	struct candidate added = { .cpu = cpu };

	stall.to = MAX(stall.to, stall.from + 1);
	added.run = stall_grid_run(&cores->grid, cpu, stall.from, stall.to);
	added.full = candidate_is_full(cores, &added, least_ns);
	if (!added.full)
		added.run = stall;
	added.score = candidate_score(cores, &added, stall, &evidence->incident);
	return array_push(&cores->candidates, added);
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->score != right->score)
		return left->score > right->score ? -1 : 1;
	return left->cpu < right->cpu ? -1 : 1;
}

static bool stall_is_recorded(const struct coverage *strips, uint64_t at_ns)
{
	for (size_t i = 0; i < strips->gaps.count; i++) {
		const struct coverage_gap *gap = &strips->gaps.items[i];

		if (!*gap->cpus && gap->from_ns <= at_ns && gap->to_ns > at_ns)
			return false;
	}
	return true;
}

static void stall_put_strip(const struct stall_cores *cores, struct evidence_core *core)
{
	const struct coverage *strips = &cores->samples.selection->coverage;

	for (uint32_t cell = 0; cell < EVIDENCE_STRIP; cell++) {
		uint32_t from = (uint64_t)cell * cores->grid.columns / EVIDENCE_STRIP;
		uint32_t to = (uint64_t)(cell + 1) * cores->grid.columns / EVIDENCE_STRIP;
		uint64_t middle_ns;
		double sum = 0;

		to = MAX(to, from + 1);
		middle_ns = cores->grid.from_ns + (from + to) * STALL_GRID_CELL_NS / 2;
		if (!stall_is_recorded(strips, middle_ns)) {
			core->strip[cell] = EVIDENCE_STRIP_UNKNOWN;
			continue;
		}
		for (uint32_t column = from; column < to; column++)
			sum += stall_grid_busy(&cores->grid, core->cpu, column);
		core->strip[cell] = MIN(100 * sum / (to - from) + 0.5, 100.0);
	}
}

static int stall_add_core(struct stall_cores *cores, struct evidence *evidence,
			  const struct candidate *candidate)
{
	struct evidence_core *core = &evidence->cores[evidence->core_count];

	*core = (struct evidence_core){
		.cpu = candidate->cpu,
		.full = candidate->full,
		.from_ns = cores->grid.from_ns + candidate->run.from * STALL_GRID_CELL_NS,
		.to_ns = cores->grid.from_ns + candidate->run.to * STALL_GRID_CELL_NS,
		.gauges = __builtin_nan(""),
		.steal = __builtin_nan(""),
	};
	stall_put_strip(cores, core);
	evidence->core_count++;
	return core_details_read(&cores->samples, evidence, core);
}

/* Adds all full CPUs that there is room for, else the busiest one. */
static int stall_add_cores(struct stall_cores *cores, struct evidence *evidence)
{
	int r = 0;

	for (uint32_t cpu = 0; r == 0 && cpu < cores->grid.cpus; cpu++)
		r = stall_add_candidate(cores, evidence, cpu);
	if (cores->candidates.count)
		qsort(cores->candidates.items, cores->candidates.count,
		      sizeof(*cores->candidates.items), compare_candidates);
	for (size_t i = 0; r == 0 && i < cores->candidates.count; i++) {
		const struct candidate *candidate = &cores->candidates.items[i];

		evidence->full_cpus += candidate->full;
		if (evidence->core_count < EVIDENCE_CORES && candidate->score > 0 &&
		    (candidate->full || i == 0))
			r = stall_add_core(cores, evidence, candidate);
	}
	return r;
}

static void stall_add_machine(const struct stall_cores *cores, struct evidence *evidence)
{
	struct stall_run stall = {
		stall_grid_column(&cores->grid, evidence->stall_from_ns),
		stall_grid_column(&cores->grid, evidence->stall_to_ns),
	};
	double length_ns;

	stall.to = MAX(stall.to, stall.from + 1);
	length_ns = stall_run_ns(&stall);
	for (uint32_t cpu = 0; cpu < cores->grid.cpus; cpu++) {
		struct stack_class sum = stall_grid_sum(&cores->grid, cpu, stall);

		evidence->machine.now += stack_class_work_ns(&sum) / length_ns;
	}
}

static bool stall_wants_gauge(void *context, const char *name)
{
	return false;
}

/* The coverage is that of the stall: its surroundings are only in the strips. */
static int stall_read_coverage(struct store_reader *reader, const struct question *question,
			       struct evidence *evidence, struct error *error)
{
	struct series_options options = { .question = *question, .wants = stall_wants_gauge };

	options.question.window = (struct window){
		.from_ns = evidence->stall_from_ns,
		.to_ns = MAX(evidence->stall_to_ns, evidence->stall_from_ns + 1),
	};
	return series_run(reader, &options, &evidence->coverage, error);
}

static int stall_push_gap(struct coverage *coverage, const struct coverage_gap *unread,
			  uint64_t from_ns, uint64_t to_ns)
{
	struct coverage_gap gap = *unread;

	if (from_ns >= to_ns)
		return 0;
	gap.from_ns = from_ns;
	gap.to_ns = to_ns;
	coverage->covered_ns -= MIN(coverage->covered_ns, to_ns - from_ns);
	return array_push(&coverage->gaps, gap);
}

static int stall_compare_gaps(const void *a, const void *b)
{
	const struct coverage_gap *left = a, *right = b;

	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

/* Adds the part of a gap that lies in the stall and in no gap that is known. */
static int stall_add_gap(struct evidence *evidence, const struct coverage_gap *unread)
{
	struct coverage *coverage = &evidence->coverage;
	uint64_t from_ns = MAX(unread->from_ns, evidence->stall_from_ns);
	uint64_t to_ns = MIN(unread->to_ns, evidence->stall_to_ns);
	size_t known = coverage->gaps.count;
	uint64_t covered_ns = coverage->covered_ns;
	int r = 0;

	for (size_t i = 0; r == 0 && i < known && from_ns < to_ns; i++) {
		struct coverage_gap gap = coverage->gaps.items[i];

		/* offline CPUs leave the others covered */
		if (*gap.cpus || gap.to_ns <= from_ns || gap.from_ns >= to_ns)
			continue;
		r = stall_push_gap(coverage, unread, from_ns, gap.from_ns);
		from_ns = MAX(from_ns, gap.to_ns);
	}
	if (r == 0)
		r = stall_push_gap(coverage, unread, from_ns, to_ns);
	coverage->damaged += coverage->covered_ns < covered_ns;
	if (coverage->gaps.count > known)
		qsort(coverage->gaps.items, coverage->gaps.count, sizeof(*coverage->gaps.items),
		      stall_compare_gaps);
	return r;
}

/*
 * Takes from the coverage of the strips the facts about samples, and the segments whose samples
 * could not be read.
 */
static int stall_take_samples(struct evidence *evidence, const struct coverage *strips)
{
	struct coverage *coverage = &evidence->coverage;
	int r = 0;

	coverage->frames = strips->frames;
	coverage->named = strips->named;
	coverage->unnamed = strips->unnamed;
	coverage->stacks = strips->stacks;
	coverage->stacks_read = strips->stacks_read;
	coverage->clock_error_ns = strips->clock_error_ns;
	coverage->facts = strips->facts;
	/* the losses of a segment may be sound although its samples are damaged */
	for (size_t i = 0; r == 0 && i < strips->gaps.count; i++)
		if (strips->gaps.items[i].cause == COVERAGE_CAUSE_UNREADABLE)
			r = stall_add_gap(evidence, &strips->gaps.items[i]);
	return r;
}

static int stall_take_facts(const struct stall_cores *cores, struct evidence *evidence)
{
	struct selection *selection = cores->samples.selection;
	int r = stall_take_samples(evidence, &selection->coverage);

	/* samples of the surroundings do not explain a stall that was not recorded */
	evidence->samples = evidence->coverage.covered_ns ? selection->rows.count : 0;
	for (size_t i = 0; i < selection->tapes.count; i++)
		evidence->cpus =
			MAX(evidence->cpus, stack_class_host_cpus(selection->tapes.items[i]));
	if (!evidence->cpus)
		evidence->cpus = cores->grid.highest + 1;
	return r;
}

static void stall_cores_done(struct stall_cores *cores)
{
	stall_grid_done(&cores->grid);
	stall_samples_done(&cores->samples);
	array_done(&cores->candidates);
}

int stall_cores_read(struct store_reader *reader, const struct question *question,
		     struct evidence *evidence, struct error *error)
{
	struct question around = *question;
	_cleanup_(stall_cores_done) struct stall_cores cores = { 0 };
	int r;

	around.window = (struct window){
		.from_ns = evidence->stall_from_ns - MIN(evidence->stall_from_ns, STALL_BEFORE_NS),
		.to_ns = evidence->stall_to_ns + STALL_AFTER_NS,
	};
	evidence->strip_from_ns = around.window.from_ns;
	evidence->strip_to_ns = around.window.to_ns;
	r = stall_read_coverage(reader, question, evidence, error);
	if (r < 0)
		return r;
	r = stall_samples_read(reader, &around, &cores.samples, error);
	if (r < 0)
		return r;
	r = stall_fill_grid(&cores, &around.window);
	if (r < 0)
		return r;
	r = stall_add_cores(&cores, evidence);
	if (r < 0)
		return r;
	stall_add_machine(&cores, evidence);
	return stall_take_facts(&cores, evidence);
}

int stall_cores_add_unread(struct evidence *evidence)
{
	struct coverage *coverage = &evidence->coverage;
	int r = 0;

	for (size_t i = 0; r == 0 && i < evidence->unread.count; i++) {
		const struct coverage_gap *gap = &evidence->unread.items[i];

		/* the coverage of the stall has the others */
		if (gap->from_ns < evidence->stall_to_ns && gap->to_ns > evidence->stall_from_ns)
			continue;
		coverage->damaged++;
		r = array_push(&coverage->gaps, *gap);
	}
	if (coverage->gaps.count)
		qsort(coverage->gaps.items, coverage->gaps.count, sizeof(*coverage->gaps.items),
		      stall_compare_gaps);
	return r;
}
