// SPDX-License-Identifier: GPL-2.0-only
#include "query/spikes-run.h"

#include "base/cleanup.h"
#include "base/clock.h"

void spikes_top_add(struct spikes_top *top, uint32_t id, double ns)
{
	size_t least = 0;

	if (!id || ns <= 0)
		return;
	for (size_t i = 0; i < SPIKES_TOP; i++) {
		if (top->of[i].id == id) {
			top->of[i].ns += ns;
			return;
		}
		if (top->of[i].ns < top->of[least].ns)
			least = i;
	}
	if (top->of[least].ns < ns) {
		double less = top->of[least].ns;

		for (size_t i = 0; i < SPIKES_TOP; i++)
			top->of[i].ns -= less;
		top->of[least].id = id;
		top->of[least].ns = ns - less;
	} else {
		for (size_t i = 0; i < SPIKES_TOP; i++)
			top->of[i].ns -= ns;
	}
}

uint32_t spikes_top_best(const struct spikes_top *top, double *ret_ns)
{
	size_t best = 0;

	for (size_t i = 1; i < SPIKES_TOP; i++)
		if (top->of[i].ns > top->of[best].ns)
			best = i;
	*ret_ns = top->of[best].ns;
	return top->of[best].ns > 0 ? top->of[best].id : 0;
}

static bool is_next(uint64_t end_ns, uint64_t begin_ns)
{
	return begin_ns >= end_ns && begin_ns - end_ns < NSEC_PER_SEC;
}

/* On the perf clock of one boot, which nobody sets; recordings that were imported each have a boot of their own. */
bool spikes_run_follows(const struct spikes_run *run, const struct spikes_second *second)
{
	if (!run->length_ns)
		return false;
	return run->boot == second->boot ? is_next(run->perf_to_ns, second->perf_ns)
					 : is_next(run->to_ns, second->from_ns);
}

void spikes_run_add(struct spikes_run *run, const struct spikes_second *second)
{
	double ns = second->length_ns;

	if (!run->length_ns)
		run->from_ns = second->from_ns;
	run->to_ns = second->to_ns;
	run->perf_to_ns = second->perf_ns + second->length_ns;
	run->boot = second->boot;
	run->length_ns += second->length_ns;
	run->busy += second->busy * ns;
	run->kernel += second->kernel * ns;
	run->irq += second->irq * ns;
	run->unseen += second->unseen * ns;
	run->machine += second->machine * ns;
	run->crowded += second->crowded ? ns : 0;
	run->single_now_ns = second->crowded ? 0 : run->single_now_ns + second->length_ns;
	run->single_ns = MAX(run->single_ns, run->single_now_ns);
	if (second->gauges >= 0) {
		run->gauges += second->gauges * ns;
		run->gauges_known_ns += ns;
	}
	spikes_top_add(&run->threads, second->thread, second->thread_share * ns);
	spikes_top_add(&run->functions, second->function, second->function_share * ns);
}

/* A second of the wall clock begins a microsecond off, as clocks are. */
static uint64_t rounded(uint64_t ns)
{
	return (ns + NSEC_PER_MSEC / 2) / NSEC_PER_MSEC * NSEC_PER_MSEC;
}

struct spike spikes_run_end(const struct spikes_run *run, uint32_t cpu)
{
	double ns = run->length_ns, thread_ns, function_ns;
	struct spike spike = {
		.from_ns = rounded(run->from_ns),
		.to_ns = rounded(run->to_ns),
		.length_ns = rounded(run->length_ns),
		.cpu = cpu,
		.busy = run->busy / ns,
		.kernel = run->kernel / ns,
		.irq = run->irq / ns,
		.unseen = run->unseen / ns,
		/* of less than half of it, they say little of all */
		.gauges = run->gauges_known_ns > ns / 2 ? run->gauges / run->gauges_known_ns : -1,
		.machine = run->machine / ns,
		.crowded = run->crowded / ns,
		.thread = spikes_top_best(&run->threads, &thread_ns),
		.function = spikes_top_best(&run->functions, &function_ns),
	};

	spike.thread_share = MIN(thread_ns / ns, 1.0);
	spike.function_share = MIN(function_ns / ns, 1.0);
	return spike;
}
