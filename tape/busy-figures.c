// SPDX-License-Identifier: GPL-2.0-only
#include "tape/busy-figures.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* Readings that are further apart do not show what happened in a second between them. */
#define APART_MAX_NS (10 * NSEC_PER_SEC)

static const char *const names[BUSY_FIGURES] = {
	[BUSY_FIGURE_USER] = "user_ms",	      [BUSY_FIGURE_NICE] = "nice_ms",
	[BUSY_FIGURE_SYSTEM] = "system_ms",   [BUSY_FIGURE_IDLE] = "idle_ms",
	[BUSY_FIGURE_IOWAIT] = "iowait_ms",   [BUSY_FIGURE_IRQ] = "irq_ms",
	[BUSY_FIGURE_SOFTIRQ] = "softirq_ms", [BUSY_FIGURE_STEAL] = "steal_ms",
	[BUSY_FIGURE_GUEST] = "guest_ms",
};

static int busy_figures_need_cpu(struct busy_figures *figures, uint32_t cpu)
{
	while (figures->cpus.count <= cpu)
		if (array_push(&figures->cpus, (struct busy_figures_cpu){ 0 }) < 0)
			return -ENOMEM;
	return 0;
}

static int add_gauge(struct busy_figures *figures, const struct tape_gauge *gauge)
{
	const char *name = tape_string(figures->tape, gauge->name);
	unsigned int cpu;
	int end = 0;

	if (sscanf(name, "cpu%5u/%n", &cpu, &end) != 1 || !end || cpu >= TAPE_CPUS_MAX)
		return 0;
	for (int i = 0; i < BUSY_FIGURES; i++) {
		if (strcmp(name + end, names[i]) != 0)
			continue;
		if (busy_figures_need_cpu(figures, cpu) < 0)
			return -ENOMEM;
		figures->cpus.items[cpu].gauges[i] = gauge;
	}
	return 0;
}

static bool busy_figures_is_of_samples(uint32_t kind)
{
	return kind == TAPE_LOSS_SKIPPED || kind == TAPE_LOSS_SAMPLES ||
	       kind == TAPE_LOSS_UNSAVED || kind == TAPE_LOSS_THROTTLED ||
	       kind == TAPE_LOSS_OFFLINE;
}

static int compare_losses(const void *a, const void *b)
{
	const struct tape_loss *left = a, *right = b;

	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static int add_losses(struct busy_figures *figures)
{
	const struct tape *tape = figures->tape;
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		/* throttling stopped the CPU's timer, so the samples are not late */
		if (tape_is_throttled(tape, i))
			continue;
		if (busy_figures_is_of_samples(loss->kind) && loss->cpu < TAPE_CPUS_MAX)
			r = array_push(&figures->losses, *loss);
	}
	if (figures->losses.count)
		qsort(figures->losses.items, figures->losses.count, sizeof(*figures->losses.items),
		      compare_losses);
	for (size_t i = 0; r == 0 && i < figures->losses.count; i++) {
		uint32_t cpu = figures->losses.items[i].cpu;

		r = busy_figures_need_cpu(figures, cpu);
		if (r < 0)
			return r;
		if (!figures->cpus.items[cpu].losses++)
			figures->cpus.items[cpu].first_loss = i;
	}
	return r;
}

int busy_figures_make(const struct tape *tape, struct busy_figures *figures)
{
	int r = 0;

	figures->tape = tape;
	for (size_t i = 0; r == 0 && i < tape->gauges.count; i++)
		r = add_gauge(figures, &tape->gauges.items[i]);
	return r < 0 ? r : add_losses(figures);
}

void busy_figures_done(struct busy_figures *figures)
{
	array_done(&figures->cpus);
	array_done(&figures->losses);
}

/* Returns the index of the first reading after a moment, at least 1. */
static uint32_t reading_after(const struct tape_point *points, const struct tape_gauge *gauge,
			      uint64_t perf_ns)
{
	uint32_t low = 1, high = gauge->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (points[middle].time_ns > perf_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint64_t busy_figures_offline_ns(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
				 uint64_t to_ns)
{
	const struct busy_figures_cpu *row =
		cpu < figures->cpus.count ? &figures->cpus.items[cpu] : NULL;
	uint64_t absent_ns = 0;

	for (size_t i = 0; row && i < row->losses; i++) {
		const struct tape_loss *loss = &figures->losses.items[row->first_loss + i];
		uint64_t begin_ns = MAX(loss->from_ns, from_ns), end_ns = MIN(loss->to_ns, to_ns);

		if (loss->kind == TAPE_LOSS_OFFLINE && begin_ns < end_ns)
			absent_ns += end_ns - begin_ns;
	}
	return MIN(absent_ns, to_ns - from_ns);
}

/*
 * Returns how much a gauge grew in the part of a period that readings cover, and adds that part to
 * *known_ns. Counters of an offline CPU do not advance, so readings before and after an offline
 * time do not cover it.
 */
static double growth_of(const struct busy_figures *figures, uint32_t cpu,
			const struct tape_gauge *gauge, uint64_t from_ns, uint64_t to_ns,
			double *known_ns)
{
	const struct tape_point *points = figures->tape->points.items + gauge->first;
	double growth = 0;

	for (uint32_t i = reading_after(points, gauge, from_ns);
	     i < gauge->count && points[i - 1].time_ns < to_ns; i++) {
		uint64_t begin_ns = MAX(points[i - 1].time_ns, from_ns);
		uint64_t end_ns = MIN(points[i].time_ns, to_ns);
		uint64_t step_ns = points[i].time_ns - points[i - 1].time_ns;
		double grown = (double)points[i].value - points[i - 1].value;

		if (begin_ns >= end_ns || step_ns > APART_MAX_NS ||
		    busy_figures_offline_ns(figures, cpu, points[i - 1].time_ns, points[i].time_ns))
			continue;
		*known_ns += end_ns - begin_ns;
		/* iowait can decrease a little */
		growth += MAX(grown, 0.0) * (end_ns - begin_ns) / step_ns;
	}
	return growth * NSEC_PER_MSEC;
}

static double busy_figures_limited(double share)
{
	return MIN(MAX(share, 0.0), 1.0);
}

bool busy_figures_account(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
			  uint64_t to_ns, struct busy_account *ret_account)
{
	double shares[BUSY_FIGURES] = { 0 };
	const struct busy_figures_cpu *row;
	double known_ns = 0, there_ns;

	if (cpu >= figures->cpus.count || !figures->cpus.items[cpu].gauges[BUSY_FIGURE_IDLE])
		return false;
	row = &figures->cpus.items[cpu];
	for (int i = 0; i < BUSY_FIGURES; i++) {
		double covered_ns = 0;

		if (!row->gauges[i])
			continue;
		shares[i] = growth_of(figures, cpu, row->gauges[i], from_ns, to_ns, &covered_ns);
		if (i == BUSY_FIGURE_IDLE)
			known_ns = covered_ns;
	}
	there_ns = to_ns - from_ns - busy_figures_offline_ns(figures, cpu, from_ns, to_ns);
	if (!known_ns || known_ns < there_ns / 2.0)
		return false;
	/* time that the kernel does not account to any column counts as busy, too */
	*ret_account = (struct busy_account){
		.busy = busy_figures_limited(1 - (shares[BUSY_FIGURE_IDLE] +
						  shares[BUSY_FIGURE_IOWAIT] +
						  shares[BUSY_FIGURE_STEAL]) /
							 known_ns),
		.user = busy_figures_limited((shares[BUSY_FIGURE_USER] + shares[BUSY_FIGURE_NICE] +
					      shares[BUSY_FIGURE_GUEST]) /
					     known_ns),
		.irq = busy_figures_limited(
			(shares[BUSY_FIGURE_IRQ] + shares[BUSY_FIGURE_SOFTIRQ]) / known_ns),
	};
	return true;
}

/* Returns the share of the loss within a period, as if it were spread evenly. */
static double part_of(const struct tape_loss *loss, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t begin_ns = MAX(loss->from_ns, from_ns), end_ns = MIN(loss->to_ns, to_ns);

	if (loss->from_ns >= loss->to_ns)
		return loss->from_ns >= from_ns && loss->from_ns < to_ns;
	return begin_ns < end_ns ? (double)(end_ns - begin_ns) / (loss->to_ns - loss->from_ns) : 0;
}

void busy_figures_unseen(const struct busy_figures *figures, uint32_t cpu, uint64_t from_ns,
			 uint64_t to_ns, uint64_t sample_ns, double *ret_held_ns,
			 double *ret_lost_ns)
{
	size_t first, count;

	*ret_held_ns = *ret_lost_ns = 0;
	if (cpu >= figures->cpus.count)
		return;
	first = figures->cpus.items[cpu].first_loss;
	count = figures->cpus.items[cpu].losses;
	for (size_t i = first; i < first + count; i++) {
		const struct tape_loss *loss = &figures->losses.items[i];
		double part = part_of(loss, from_ns, to_ns);

		if (loss->kind == TAPE_LOSS_SKIPPED)
			*ret_held_ns += part * loss->count * sample_ns;
		else if (loss->kind == TAPE_LOSS_OFFLINE)
			continue;
		else if (loss->kind == TAPE_LOSS_THROTTLED)
			*ret_lost_ns += part * (loss->to_ns - loss->from_ns);
		else
			*ret_lost_ns += part * loss->count * sample_ns;
	}
}
