// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/ranking.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A share of a CPU below this never stands out. */
#define LEAST_SHARE 0.02
/* Added to both shares of a ratio, because the ratio to a usual share of 0 would be infinite. */
#define FLOOR_SHARE 0.005
/* The weight of a function's total time, because it says less than the function's own time. */
#define TOTAL_WEIGHT 0.25
/* A function that spends at least this part of its time in one callee only leads to that callee. */
#define WRAPPER_PART 0.9

struct builder {
	const struct tally *tally;
	/* NULL: there is no baseline */
	const struct tally *usual;
	double covered_ns, names_ns, cpus_ns;
	/* the share of a CPU that one sample stands for */
	double sample_share;
	struct ranking *ranking;
};

static struct ranking_share share_of(const struct stack_class *spent, double ns)
{
	struct ranking_share share = { 0 };

	if (!spent || ns <= 0)
		return share;
	share.user = spent->ns[STACK_CLASS_USER] / ns;
	share.kernel = spent->ns[STACK_CLASS_KERNEL] / ns;
	share.irq = spent->ns[STACK_CLASS_IRQ] / ns;
	share.all = share.user + share.kernel + share.irq;
	return share;
}

/* Limits a share. Rounding of samples may exceed the whole time by a little. */
static struct ranking_share limit_share(struct ranking_share share, double most)
{
	double scale = share.all > most ? most / share.all : 1;

	return (struct ranking_share){ share.user * scale, share.kernel * scale, share.irq * scale,
				       MIN(share.all, most) };
}

/*
 * Returns the time to which shares relate. In a short window a CPU may have one sample more than
 * fits, and would seem busy for 103 %. Therefore the time of the CPU with the most samples is used
 * if it exceeds the covered time by at most one sample.
 */
static double time_of(const struct tally *tally, double covered_ns)
{
	double most_ns = covered_ns;

	for (uint32_t i = 0; i < tally->cpus.count; i++) {
		const struct stack_class *spent = &tally->cpus.items[i];

		most_ns = MAX(most_ns,
			      (double)(stack_class_work_ns(spent) + spent->ns[STACK_CLASS_IDLE]));
	}
	return MIN(most_ns, covered_ns + tally->sample_ns);
}

/*
 * Returns whether a share is at least 1.5 times the usual one, and larger by more than sampling
 * noise. The noise is the square root of the number of samples.
 */
static bool stands_out(const struct builder *builder, double now, double usual)
{
	double expected = usual / builder->sample_share, came = now / builder->sample_share;

	return now >= LEAST_SHARE && now >= 1.5 * usual && came - expected > 3 * sqrt(expected + 1);
}

/*
 * Returns the share, weighted by its excess over the usual share. An idle CPU that is newly busy
 * all the time ranks above a CPU that is always busy. One that is newly busy for a tenth ranks
 * below it.
 */
static double score_of(double now, double usual)
{
	return now * (1 + 2 * log((now + FLOOR_SHARE) / (usual + FLOOR_SHARE)));
}

static void ranking_score(const struct builder *builder, bool compared, double now, double usual,
			  bool *ret_stands_out, double *ret_score)
{
	*ret_stands_out = compared && stands_out(builder, now, usual);
	*ret_score = *ret_stands_out ? score_of(now, usual) : now;
}

static const struct stack_class *cpu_times(const struct tally *tally, uint32_t cpu)
{
	return tally && cpu < tally->cpus.count ? &tally->cpus.items[cpu] : NULL;
}

static int add_cores(struct builder *builder)
{
	const struct tally *tally = builder->tally;
	struct ranking *ranking = builder->ranking;

	for (uint32_t i = 0; i < tally->cpus.count; i++) {
		const struct stack_class *spent = &tally->cpus.items[i];
		struct ranking_core core = {
			.cpu = i,
			.now = limit_share(share_of(spent, builder->covered_ns), 1),
			.usual = limit_share(
				share_of(cpu_times(builder->usual, i), builder->cpus_ns), 1),
		};

		if (!stack_class_work_ns(spent) && !spent->ns[STACK_CLASS_IDLE])
			continue;
		ranking_score(builder, ranking->cpus_compared, core.now.all, core.usual.all,
			      &core.stands_out, &core.score);
		if (array_push(&ranking->cores, core) < 0)
			return -ENOMEM;
	}
	return 0;
}

static struct ranking_core *find_core(struct ranking *ranking, uint32_t cpu)
{
	for (size_t i = 0; i < ranking->cores.count; i++)
		if (ranking->cores.items[i].cpu == cpu)
			return &ranking->cores.items[i];
	return NULL;
}

/*
 * Returns the row of a CPU. Tries `last` first, because consecutive rows often have the same CPU.
 */
static struct ranking_core *core_of(struct ranking *ranking, struct ranking_core *last,
				    uint32_t cpu)
{
	return last && last->cpu == cpu ? last : find_core(ranking, cpu);
}

/*
 * Returns whether the first name has more time. If both have equal time, compares their texts,
 * because the numbers of the names vary from run to run.
 */
static bool is_heavier(double share, const char *name, double most, const char *most_name)
{
	if (share != most || share <= 0)
		return share > most;
	return !most_name || strcmp(name, most_name) < 0;
}

static void add_core_details(struct builder *builder)
{
	const struct tally *tally = builder->tally;
	struct ranking_core *core = NULL;

	for (size_t i = 0; i < tally->shares.list.count; i++) {
		const struct tally_row *row = &tally->shares.list.items[i];
		const char *group = strings_at(&tally->names, row->b);
		double share = row->ns / builder->covered_ns;

		core = core_of(builder->ranking, core, row->a);
		if (core && is_heavier(share, group, core->group_share, core->group)) {
			core->group_share = share;
			core->group = group;
		}
	}
	for (size_t i = 0; i < tally->spots.list.count; i++) {
		const struct tally_row *row = &tally->spots.list.items[i];
		const char *function = strings_at(&tally->names, row->c);
		double share = row->ns / builder->covered_ns;

		core = core_of(builder->ranking, core, row->a);
		if (core && core->group == strings_at(&tally->names, row->b) &&
		    is_heavier(share, function, core->function_share, core->function)) {
			core->function_share = share;
			core->function = function;
		}
	}
}

/*
 * Maps each name of this tally to its number in the tally of the baseline; 0: the baseline does not
 * have the name. The caller frees the array. Returns NULL without memory.
 */
static uint32_t *map_names(const struct builder *builder)
{
	const struct strings *names = &builder->tally->names;
	size_t count = strings_count(names);
	uint32_t *numbers = calloc(count, sizeof(*numbers));

	for (uint32_t i = 1; numbers && builder->usual && i < count; i++) {
		const char *name = strings_at(names, i);

		numbers[i] = strings_find(&builder->usual->names, name, strlen(name));
	}
	return numbers;
}

static int add_groups(struct builder *builder, const uint32_t *numbers, uint32_t *ret_rows)
{
	const struct tally *tally = builder->tally;
	struct ranking *ranking = builder->ranking;

	for (uint32_t i = 1; i < strings_count(&tally->names); i++) {
		const struct stack_class *usual =
			numbers[i] ? &builder->usual->groups.items[numbers[i]] : NULL;
		struct ranking_group group = {
			.name = strings_at(&tally->names, i),
			.now = share_of(&tally->groups.items[i], builder->covered_ns),
			.usual = share_of(usual, builder->names_ns),
		};

		if (group.now.all <= 0)
			continue;
		ranking_score(builder, ranking->compared, group.now.all, group.usual.all,
			      &group.stands_out, &group.score);
		if (array_push(&ranking->groups, group) < 0)
			return -ENOMEM;
		ret_rows[i] = ranking->groups.count;
	}
	return 0;
}

static bool is_busier_thread(const struct tally_row *thread, double share,
			     const struct ranking_group *than)
{
	int32_t pid = thread->a, tid = thread->b;

	if (share != than->thread_share || share <= 0)
		return share > than->thread_share;
	return pid != than->pid ? pid < than->pid : tid < than->tid;
}

/* Finds the threads and CPUs of the groups. `rows` maps a name to its group's index + 1. */
static void add_group_details(struct builder *builder, const uint32_t *rows)
{
	const struct tally *tally = builder->tally;

	for (size_t i = 0; i < tally->threads.list.count; i++) {
		const struct tally_row *thread = &tally->threads.list.items[i];
		double share = thread->ns / builder->covered_ns;
		struct ranking_group *group;

		if (!rows[thread->c])
			continue;
		group = &builder->ranking->groups.items[rows[thread->c] - 1];
		group->threads++;
		if (!is_busier_thread(thread, share, group))
			continue;
		group->thread_share = share;
		group->pid = thread->a;
		group->tid = thread->b;
		group->cpu = tally->places.items[i].cpu;
	}
}

/* Returns whether a name is not a function, or a function that only leads to another one. */
static bool is_wrapper(const struct tally *tally, uint32_t name)
{
	static const char unknown[] = "[unknown]";
	const struct tally_function *function = &tally->functions.items[name];

	return function->led_ns >= WRAPPER_PART * function->total_ns ||
	       strcmp(strings_at(&tally->names, name), unknown) == 0;
}

static int ranking_add_function(struct builder *builder, uint32_t name,
				const struct tally_function *usual, bool wrapper)
{
	const struct tally_function *now = &builder->tally->functions.items[name];
	struct ranking *ranking = builder->ranking;
	struct ranking_function function = {
		.name = strings_at(&builder->tally->names, name),
		.kernel = now->kernel,
		.self = now->self_ns / builder->covered_ns,
		.total = now->total_ns / builder->covered_ns,
	};
	bool total_stands_out;
	double total_score;

	if (usual && builder->names_ns > 0) {
		function.usual_self = usual->self_ns / builder->names_ns;
		function.usual_total = usual->total_ns / builder->names_ns;
	}
	ranking_score(builder, ranking->compared, function.self, function.usual_self,
		      &function.stands_out, &function.score);
	ranking_score(builder, ranking->compared, function.total, function.usual_total,
		      &total_stands_out, &total_score);
	total_score *= TOTAL_WEIGHT;
	if (!wrapper && total_stands_out && total_score > function.score) {
		function.stands_out = true;
		function.score = total_score;
	}
	return array_push(&ranking->functions, function);
}

/*
 * Returns whether a name only marks the end of stacks. A mark that is a leaf stands for work whose
 * function is not known, so it gets a row.
 */
static bool is_mark(const struct tally *tally, uint32_t name)
{
	return !tally->functions.items[name].self_ns &&
	       tape_is_mark_name(strings_at(&tally->names, name));
}

static int ranking_add_functions(struct builder *builder, const uint32_t *numbers)
{
	const struct tally *tally = builder->tally;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < strings_count(&tally->names); i++) {
		const struct tally_function *usual =
			numbers[i] ? &builder->usual->functions.items[numbers[i]] : NULL;

		if (tally->functions.items[i].total_ns && !is_mark(tally, i))
			r = ranking_add_function(builder, i, usual, is_wrapper(tally, i));
	}
	return r;
}

/*
 * Rows with equal scores are sorted by name or number, so that the same store gives the same
 * answer.
 */
static int compare_scores(double left, double right, int tie)
{
	if (left != right)
		return left < right ? 1 : -1;
	return tie;
}

static int compare_core(const void *a, const void *b)
{
	const struct ranking_core *left = a, *right = b;

	return compare_scores(left->score, right->score, left->cpu < right->cpu ? -1 : 1);
}

static int compare_group(const void *a, const void *b)
{
	const struct ranking_group *left = a, *right = b;

	return compare_scores(left->score, right->score, strcmp(left->name, right->name));
}

static int compare_function(const void *a, const void *b)
{
	const struct ranking_function *left = a, *right = b;
	int tie = strcmp(left->name, right->name);

	return compare_scores(left->score, right->score,
			      compare_scores(left->total, right->total, tie));
}

static int compare_busy_core(const void *a, const void *b)
{
	const struct ranking_core *left = a, *right = b;

	return compare_scores(left->now.all, right->now.all, left->cpu < right->cpu ? -1 : 1);
}

static int compare_busy_group(const void *a, const void *b)
{
	const struct ranking_group *left = a, *right = b;

	return compare_scores(left->now.all, right->now.all, strcmp(left->name, right->name));
}

static int compare_busy_function(const void *a, const void *b)
{
	const struct ranking_function *left = a, *right = b;

	return compare_scores(
		left->self, right->self,
		compare_scores(left->total, right->total, strcmp(left->name, right->name)));
}

static int compare_named_core(const void *a, const void *b)
{
	const struct ranking_core *left = a, *right = b;

	return left->cpu < right->cpu ? -1 : 1;
}

static int compare_named_group(const void *a, const void *b)
{
	return strcmp(((const struct ranking_group *)a)->name,
		      ((const struct ranking_group *)b)->name);
}

static int compare_named_function(const void *a, const void *b)
{
	return strcmp(((const struct ranking_function *)a)->name,
		      ((const struct ranking_function *)b)->name);
}

#define sort_rows(array, compare)                                                                \
	do {                                                                                     \
		if ((array)->count)                                                              \
			qsort((array)->items, (array)->count, sizeof(*(array)->items), compare); \
	} while (0)

void ranking_sort(struct ranking *ranking, enum ranking_sort by)
{
	static int (*const compare[RANKING_SORTS][3])(const void *a, const void *b) = {
		[RANKING_SORT_UNUSUAL] = { compare_core, compare_group, compare_function },
		[RANKING_SORT_BUSY] = { compare_busy_core, compare_busy_group,
					compare_busy_function },
		[RANKING_SORT_NAME] = { compare_named_core, compare_named_group,
					compare_named_function },
	};

	sort_rows(&ranking->cores, compare[by][0]);
	sort_rows(&ranking->groups, compare[by][1]);
	sort_rows(&ranking->functions, compare[by][2]);
}

/* Keeps the rows for which the condition about `_row` is true. */
#define keep_rows(array, condition)                                                \
	do {                                                                       \
		size_t _kept = 0;                                                  \
		for (size_t _i = 0; _i < (array)->count; _i++) {                   \
			const typeof(*(array)->items) *_row = &(array)->items[_i]; \
			if (condition)                                             \
				(array)->items[_kept++] = *_row;                   \
		}                                                                  \
		(array)->count = _kept;                                            \
	} while (0)

void ranking_match(struct ranking *ranking, const char *text)
{
	keep_rows(&ranking->cores, (_row->group && strcasestr(_row->group, text)) ||
					   (_row->function && strcasestr(_row->function, text)));
	keep_rows(&ranking->groups, strcasestr(_row->name, text));
	keep_rows(&ranking->functions, strcasestr(_row->name, text));
}

static int make(struct builder *builder)
{
	struct ranking *ranking = builder->ranking;
	_cleanup_free_ uint32_t *numbers = map_names(builder);
	_cleanup_free_ uint32_t *rows =
		calloc(strings_count(&builder->tally->names), sizeof(*rows));
	int r = numbers && rows ? add_cores(builder) : -ENOMEM;

	if (r < 0)
		return r;
	add_core_details(builder);
	r = add_groups(builder, numbers, rows);
	if (r < 0)
		return r;
	add_group_details(builder, rows);
	r = ranking_add_functions(builder, numbers);
	if (r < 0)
		return r;
	ranking_sort(ranking, RANKING_SORT_UNUSUAL);
	return 0;
}

int ranking_make(const struct tally *tally, uint64_t covered_ns, const struct baseline *baseline,
		 struct ranking *ret_ranking)
{
	struct ranking ranking = {
		.by = tally->by,
		.compared = baseline->names_ns != 0,
		.cpus_compared = baseline->cpus_ns != 0,
	};
	struct builder builder = {
		.tally = tally,
		.usual = baseline->tally,
		.covered_ns = time_of(tally, MAX(covered_ns, 1ull)),
		.names_ns = baseline->names_ns,
		.cpus_ns = baseline->cpus_ns,
		.ranking = &ranking,
	};
	double cpus = tally->host_cpus ? tally->host_cpus : INFINITY;
	int r;

	builder.sample_share = MAX(tally->sample_ns, 1ull) / builder.covered_ns;
	ranking.now = limit_share(share_of(&tally->all, builder.covered_ns), cpus);
	if (builder.usual)
		ranking.usual = limit_share(share_of(&builder.usual->all, builder.names_ns), cpus);
	r = make(&builder);
	if (r < 0)
		ranking_done(&ranking);
	else
		*ret_ranking = ranking;
	return r;
}

void ranking_limit(struct ranking *ranking, size_t rows)
{
	ranking->cores.count = MIN(ranking->cores.count, rows);
	ranking->groups.count = MIN(ranking->groups.count, rows);
	ranking->functions.count = MIN(ranking->functions.count, rows);
}

void ranking_done(struct ranking *ranking)
{
	array_done(&ranking->cores);
	array_done(&ranking->groups);
	array_done(&ranking->functions);
}
