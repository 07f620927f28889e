// SPDX-License-Identifier: GPL-2.0-only
#include "query/diff/changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The chance that any row of a table stands out although nothing changed. */
#define CHANCE 0.05
/* Changes below this never stand out: a hundredth of a CPU, or of the busy time. */
#define LEAST_CHANGE 0.01

/* The times of one side. */
struct changes_times {
	const struct tally *tally;
	double ns, busy_ns;
	/* the share of a CPU that one sample stands for */
	double sample;
	/* how many threads share each name evenly, indexed by name */
	double *threads;
	/* the variance of the busy time, in CPUs */
	double busy_variance;
};

struct changes_builder {
	struct changes *changes;
	struct changes_times before, after;
};

void changes_done(struct changes *changes)
{
	array_done(&changes->rows);
}

enum tally_by changes_tally(enum changes_by by)
{
	static const enum tally_by tallies[CHANGES_BYS] = {
		[CHANGES_BY_NAME] = TALLY_BY_NAME,
		[CHANGES_BY_THREAD] = TALLY_BY_THREAD,
		[CHANGES_BY_CGROUP] = TALLY_BY_CGROUP,
		[CHANGES_BY_POD] = TALLY_BY_POD,
		[CHANGES_BY_FUNCTION] = TALLY_BY_FUNCTION,
		[CHANGES_BY_PATH] = TALLY_BY_PATH,
		/* the names of threads cost least */
		[CHANGES_BY_CPU] = TALLY_BY_NAME,
	};

	return tallies[by];
}

/*
 * Returns how many threads share each name evenly: the square of the sum of their times, divided by
 * the sum of the squares. The caller frees the array. Returns NULL without memory.
 */
static double *changes_count_threads(const struct tally *tally)
{
	size_t names = strings_count(&tally->names);
	double *threads = calloc(names + 1, sizeof(*threads));
	double most = tally->host_cpus ? tally->host_cpus : INFINITY;

	if (!threads)
		return NULL;
	for (size_t i = 0; i < tally->threads.list.count; i++) {
		const struct tally_row *row = &tally->threads.list.items[i];

		threads[row->c] += (double)row->ns * row->ns;
	}
	for (uint32_t i = 1; i < names; i++) {
		double ns = stack_class_work_ns(&tally->groups.items[i]);

		threads[i] = threads[i] > 0 ? MIN(ns * ns / threads[i], most) : 1;
	}
	return threads;
}

static struct changes_times changes_times_of(const struct changes_side *side, bool of_cpus)
{
	const struct tally *tally = side->tally;
	struct changes_times times = { .tally = tally };

	times.ns = MAX(of_cpus ? side->cpus_ns : side->names_ns, 1ull);
	times.sample = MAX(tally->sample_ns, 1ull) / times.ns;
	if (!of_cpus)
		times.busy_ns = stack_class_work_ns(&tally->all);
	for (size_t i = 0; of_cpus && i < tally->cpus.count; i++)
		times.busy_ns += stack_class_work_ns(&tally->cpus.items[i]);
	return times;
}

double changes_busy(const struct changes_side *side)
{
	const struct changes_times times = changes_times_of(side, false);

	return times.busy_ns / times.ns;
}

/*
 * Returns the variance of a load in CPUs. `threads` of them may run at the same moments. The last
 * term is the rounding to whole samples.
 */
static double cpus_variance(const struct changes_times *times, double cpus, double threads)
{
	return cpus * times->sample * MAX(threads, 1.0) + times->sample * times->sample;
}

/* Returns the variance of a part of the busy time: that of the row, and that of the rest. */
static double part_variance(const struct changes_times *times, double part, double variance)
{
	double busy = MAX(times->busy_ns / times->ns, times->sample);
	double rest = MAX(times->busy_variance - variance, 0.0);

	return ((1 - part) * (1 - part) * variance + part * part * rest) / (busy * busy);
}

/* Returns the number of standard deviations beyond which one of `rows` rows stands out. */
static double changes_bound(size_t rows)
{
	return sqrt(2 * log(MAX(rows, (size_t)1) / CHANCE));
}

static bool change_stands_out(const struct changes_builder *builder, const struct change *row,
			      double bound)
{
	double change = fabs(changes_of(builder->changes, row));
	double before = row->before.variance, after = row->after.variance;

	if (builder->changes->parts) {
		before = part_variance(&builder->before, row->before.part, before);
		after = part_variance(&builder->after, row->after.part, after);
	}
	return change >= LEAST_CHANGE && change > bound * sqrt(before + after);
}

/* `threads` is 0 if it is not known; the mean number of CPUs then stands for it. */
static struct change_load changes_load(struct changes_times *times, uint64_t ns, double threads)
{
	struct change_load load = {
		.cpus = ns / times->ns,
		.part = times->busy_ns > 0 ? ns / times->busy_ns : 0,
	};

	load.variance = cpus_variance(times, load.cpus, threads > 0 ? threads : load.cpus);
	times->busy_variance += load.variance;
	return load;
}

/* A row of one side: its time and threads. */
struct changes_found {
	uint64_t ns;
	double threads;
};

/* Adds a row unless both sides are idle. */
static int changes_add(struct changes_builder *builder, struct change row,
		       const struct changes_found *before, const struct changes_found *after)
{
	if (!before->ns && !after->ns)
		return 0;
	row.before = changes_load(&builder->before, before->ns, before->threads);
	row.after = changes_load(&builder->after, after->ns, after->threads);
	return array_push(&builder->changes->rows, row);
}

static struct changes_found changes_find_cpu(const struct changes_times *times, uint32_t cpu)
{
	const struct tally *tally = times->tally;
	struct changes_found found = { 0, 1 };

	if (cpu < tally->cpus.count)
		found.ns = stack_class_work_ns(&tally->cpus.items[cpu]);
	return found;
}

static int changes_add_cpus(struct changes_builder *builder)
{
	size_t count = MAX(builder->before.tally->cpus.count, builder->after.tally->cpus.count);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		const struct changes_found before = changes_find_cpu(&builder->before, i),
					   after = changes_find_cpu(&builder->after, i);

		r = changes_add(builder, (struct change){ .cpu = i }, &before, &after);
	}
	return r;
}

/* Finds what a name has; name 0 stands for one that the tally does not have. */
static struct changes_found changes_find_name(const struct changes_builder *builder,
					      const struct changes_times *times, uint32_t name)
{
	const struct tally *tally = times->tally;

	if (!name)
		return (struct changes_found){ 0, 1 };
	if (builder->changes->by == CHANGES_BY_FUNCTION)
		return (struct changes_found){ tally->functions.items[name].self_ns, 0 };
	return (struct changes_found){ stack_class_work_ns(&tally->groups.items[name]),
				       times->threads[name] };
}

static bool changes_is_kernel(const struct tally *tally, uint32_t name)
{
	return name && tally->functions.items[name].kernel;
}

static int changes_add_name(struct changes_builder *builder, const char *name, uint32_t before,
			    uint32_t after)
{
	const struct changes_found earlier = changes_find_name(builder, &builder->before, before),
				   later = changes_find_name(builder, &builder->after, after);
	const struct change row = {
		.name = name,
		.kernel = changes_is_kernel(builder->before.tally, before) ||
			  changes_is_kernel(builder->after.tally, after),
	};

	return changes_add(builder, row, &earlier, &later);
}

static uint32_t changes_find(const struct tally *tally, const char *name)
{
	return strings_find(&tally->names, name, strlen(name));
}

/* Adds the names of the later side, then those that only the earlier side has. */
static int changes_add_names(struct changes_builder *builder)
{
	const struct tally *before = builder->before.tally, *after = builder->after.tally;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < strings_count(&after->names); i++) {
		const char *name = strings_at(&after->names, i);

		r = changes_add_name(builder, name, changes_find(before, name), i);
	}
	for (uint32_t i = 1; r == 0 && i < strings_count(&before->names); i++) {
		const char *name = strings_at(&before->names, i);

		if (!changes_find(after, name))
			r = changes_add_name(builder, name, i, 0);
	}
	return r;
}

static int changes_compare(const void *a, const void *b, void *context)
{
	const struct change *left = a, *right = b;
	double left_change = fabs(changes_of(context, left)),
	       right_change = fabs(changes_of(context, right));

	if (left->stands_out != right->stands_out)
		return left->stands_out ? -1 : 1;
	if (left_change != right_change)
		return left_change > right_change ? -1 : 1;
	if (left->name && right->name)
		return strcmp(left->name, right->name);
	return left->cpu < right->cpu ? -1 : 1;
}

static void changes_rank(struct changes_builder *builder)
{
	struct changes *changes = builder->changes;
	double bound = changes_bound(changes->rows.count);

	for (size_t i = 0; i < changes->rows.count; i++) {
		struct change *row = &changes->rows.items[i];

		row->stands_out = change_stands_out(builder, row, bound);
	}
	if (changes->rows.count)
		qsort_r(changes->rows.items, changes->rows.count, sizeof(*changes->rows.items),
			changes_compare, changes);
}

int changes_make(enum changes_by by, bool parts, const struct changes_side *before,
		 const struct changes_side *after, struct changes *ret_changes)
{
	bool of_cpus = by == CHANGES_BY_CPU;
	struct changes changes = { .by = by, .parts = parts };
	struct changes_builder builder = {
		.changes = &changes,
		.before = changes_times_of(before, of_cpus),
		.after = changes_times_of(after, of_cpus),
	};
	int r = -ENOMEM;

	builder.before.threads = changes_count_threads(before->tally);
	builder.after.threads = changes_count_threads(after->tally);
	if (builder.before.threads && builder.after.threads)
		r = of_cpus ? changes_add_cpus(&builder) : changes_add_names(&builder);
	if (r == 0)
		changes_rank(&builder);
	free(builder.before.threads);
	free(builder.after.threads);
	if (r < 0) {
		changes_done(&changes);
		return r;
	}
	*ret_changes = changes;
	return 0;
}
