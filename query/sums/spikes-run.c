// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/spikes-run.h"

#include "base/cleanup.h"
#include "base/clock.h"

void spikes_top_add(struct spikes_top *top, uint32_t id, uint64_t weight)
{
	size_t least = 0;
	uint64_t less;

	if (!id || !weight)
		return;
	for (size_t i = 0; i < SPIKES_TOP; i++)
		if (top->ids[i] == id) {
			top->weights[i] += weight;
			return;
		}
	for (size_t i = 1; i < SPIKES_TOP; i++)
		least = top->weights[i] < top->weights[least] ? i : least;
	less = MIN(top->weights[least], weight);
	for (size_t i = 0; i < SPIKES_TOP; i++)
		top->weights[i] -= less;
	if (weight > less) {
		top->ids[least] = id;
		top->weights[least] = weight - less;
	}
}

uint32_t spikes_top_best(const struct spikes_top *top, uint64_t *ret_weight)
{
	size_t best = 0;

	for (size_t i = 1; i < SPIKES_TOP; i++)
		if (top->weights[i] > top->weights[best])
			best = i;
	*ret_weight = top->weights[best];
	return top->weights[best] ? top->ids[best] : 0;
}

static bool is_next(uint64_t end_ns, uint64_t begin_ns)
{
	return begin_ns >= end_ns && begin_ns - end_ns < NSEC_PER_SEC;
}

/*
 * Within a boot, compares times on the perf clock, because nobody sets that clock. Each import
 * counts as a separate boot.
 */
bool spikes_run_follows(const struct spikes_run *run, const struct spikes_second *second)
{
	if (!run->length_ns)
		return false;
	return run->boot == second->boot ? is_next(run->perf_to_ns, second->perf_ns)
					 : is_next(run->to_ns, second->from_ns);
}

static void end_stretch(struct spikes_run *run)
{
	if (run->stretch_now.length_ns > run->stretch.length_ns)
		run->stretch = run->stretch_now;
	run->stretch_now.length_ns = 0;
}

static void add_to_stretch(struct spikes_run *run, const struct spikes_second *second)
{
	const struct busy_cell *cell = second->cell;
	struct spikes_stretch *now = &run->stretch_now;

	if (cell->kernel + cell->irq < SPIKES_STRETCH) {
		end_stretch(run);
		return;
	}
	if (!now->length_ns)
		*now = (struct spikes_stretch){ .from_ns = second->from_ns };
	now->length_ns += second->length_ns;
	now->kernel += (cell->kernel + cell->irq) * second->length_ns;
	spikes_top_add(&now->functions, second->function, cell->function_share * second->length_ns);
	spikes_top_add(&now->threads, second->thread, cell->thread_share * second->length_ns);
}

static void spikes_run_extend(struct spikes_run *run, const struct spikes_second *second)
{
	if (!run->length_ns)
		run->from_ns = second->from_ns;
	run->to_ns = second->to_ns;
	run->perf_to_ns = second->perf_ns + second->length_ns;
	run->boot = second->boot;
	run->length_ns += second->length_ns;
}

void spikes_run_add(struct spikes_run *run, const struct spikes_second *second)
{
	const struct busy_cell *cell = second->cell;
	uint64_t ns = second->length_ns;

	spikes_run_extend(run, second);
	if (second->outside)
		return;
	run->counted_ns += ns;
	run->busy += cell->busy * ns;
	run->kernel += cell->kernel * ns;
	run->irq += cell->irq * ns;
	run->unseen += cell->unseen * ns;
	run->machine += second->machine * ns;
	run->crowded_ns += second->crowded ? ns : 0;
	run->single_now_ns = second->crowded ? 0 : run->single_now_ns + ns;
	run->single_ns = MAX(run->single_ns, run->single_now_ns);
	if (cell->gauges != BUSY_UNKNOWN) {
		run->gauges += cell->gauges * ns;
		run->gauges_known_ns += ns;
	}
	spikes_top_add(&run->threads, second->thread, cell->thread_share * ns);
	spikes_top_add(&run->functions, second->function, cell->function_share * ns);
	add_to_stretch(run, second);
}

/*
 * Rounds a time, because the seconds of the wall clock begin a few microseconds early or late when
 * clocks drift.
 */
static uint64_t spikes_run_rounded(uint64_t ns)
{
	return (ns + NSEC_PER_MSEC / 2) / NSEC_PER_MSEC * NSEC_PER_MSEC;
}

/* Turns a sum of percent × ns into a share. */
static double spikes_run_share(uint64_t sum, uint64_t ns)
{
	return sum / 100.0 / ns;
}

/* Assumes the worst case: all time of the other threads was in the function, too. */
static bool is_pair(double thread_share, double function_share)
{
	return function_share > 1 - thread_share / 2;
}

static struct spike_stretch stretch_of(const struct spikes_stretch *stretch)
{
	uint64_t in_function, of_thread, ns = stretch->length_ns;
	struct spike_stretch ret = {
		.from_ns = spikes_run_rounded(stretch->from_ns),
		.length_ns = spikes_run_rounded(ns),
		.kernel = MIN(spikes_run_share(stretch->kernel, ns), 1.0),
		.function = spikes_top_best(&stretch->functions, &in_function),
		.thread = spikes_top_best(&stretch->threads, &of_thread),
	};
	double thread_share = spikes_run_share(of_thread, ns);

	if (thread_share < 0.5)
		ret.thread = 0;
	ret.is_pair = ret.thread && ret.function &&
		      is_pair(thread_share, spikes_run_share(in_function, ns));
	return ret;
}

struct spike spikes_run_end(struct spikes_run *run, uint32_t cpu)
{
	uint64_t ns = run->counted_ns, thread, function;
	struct spike spike = {
		.from_ns = spikes_run_rounded(run->from_ns),
		.to_ns = spikes_run_rounded(run->to_ns),
		.length_ns = spikes_run_rounded(run->length_ns),
		.counted_ns = spikes_run_rounded(ns),
		.cpu = cpu,
		.busy = spikes_run_share(run->busy, ns),
		.kernel = spikes_run_share(run->kernel, ns),
		.irq = spikes_run_share(run->irq, ns),
		.unseen = spikes_run_share(run->unseen, ns),
		/* if the gauge is known for less than half of the time, its mean says little */
		.gauges = run->gauges_known_ns > ns / 2
				  ? spikes_run_share(run->gauges, run->gauges_known_ns)
				  : -1,
		.machine = spikes_run_share(run->machine, ns) / 10,
		.crowded = (double)run->crowded_ns / ns,
		.thread = spikes_top_best(&run->threads, &thread),
		.function = spikes_top_best(&run->functions, &function),
	};

	end_stretch(run);
	if (run->stretch.length_ns && 100 * (spike.kernel + spike.irq) < SPIKES_STRETCH)
		spike.stretch = stretch_of(&run->stretch);
	spike.thread_share = MIN(spikes_run_share(thread, ns), 1.0);
	spike.function_share = MIN(spikes_run_share(function, ns), 1.0);
	return spike;
}
