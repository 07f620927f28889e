// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/ranking.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Less of a CPU than this is nothing to get up for. */
#define LEAST_SHARE 0.02
/* Added to both sides of a ratio: what was never seen before is not infinitely more than usual. */
#define FLOOR_SHARE 0.005
/* What leads to a function tells less than where the time is spent, unless it is spent all over the
 * place. */
#define TOTAL_WEIGHT 0.25
/* A function of whose time one callee has so much is only the way to that one. */
#define WRAPPER_PART 0.9

struct making {
	const struct tally *tally;
	/* NULL: there is none */
	const struct tally *usual;
	double covered_ns, names_ns, cpus_ns;
	/* of a CPU's time, that one sample stands for */
	double sample_share;
	struct ranking *ranking;
};

static struct ranking_share share_of(const struct stack_class *load, double ns)
{
	struct ranking_share share = { 0 };

	if (!load || ns <= 0)
		return share;
	share.user = load->ns[STACK_CLASS_USER] / ns;
	share.kernel = load->ns[STACK_CLASS_KERNEL] / ns;
	share.irq = load->ns[STACK_CLASS_IRQ] / ns;
	share.all = share.user + share.kernel + share.irq;
	return share;
}

/* No CPU is busy for more than all of the time: a hair of it is the rounding of samples. */
static struct ranking_share at_most(struct ranking_share share, double most)
{
	double scale = share.all > most ? most / share.all : 1;

	return (struct ranking_share){ share.user * scale, share.kernel * scale, share.irq * scale,
				       MIN(share.all, most) };
}

/*
 * Of what the shares are: a short window has up to one sample more of a CPU than its length is of,
 * and then 103 % of a CPU would be nobody's time. So it is the time that the samples of the CPU
 * stand for that has most, if it is no more than that one sample.
 */
static double time_of(const struct tally *tally, double covered_ns)
{
	double most_ns = covered_ns;

	for (uint32_t i = 0; i < tally->cpus.count; i++) {
		const struct stack_class *load = &tally->cpus.items[i];

		most_ns = MAX(most_ns,
			      (double)(stack_class_work_ns(load) + load->ns[STACK_CLASS_IDLE]));
	}
	return MIN(most_ns, covered_ns + tally->sample_ns);
}

/* Samples come and go by the root of their number. */
static bool stands_out(const struct making *making, double now, double usual)
{
	double expected = usual / making->sample_share, came = now / making->sample_share;

	return now >= LEAST_SHARE && now >= 1.5 * usual && came - expected > 3 * sqrt(expected + 1);
}

/*
 * How much there is, times how much more than usual that is: a whole CPU that is always busy comes
 * before a tenth of one that never was, and behind one that is new.
 */
static double score_of(double now, double usual)
{
	return now * (1 + 2 * log((now + FLOOR_SHARE) / (usual + FLOOR_SHARE)));
}

static void ranking_judge(const struct making *making, bool compared, double now, double usual,
			  bool *ret_stands_out, double *ret_score)
{
	*ret_stands_out = compared && stands_out(making, now, usual);
	*ret_score = *ret_stands_out ? score_of(now, usual) : now;
}

static const struct stack_class *cpu_load(const struct tally *tally, uint32_t cpu)
{
	return tally && cpu < tally->cpus.count ? &tally->cpus.items[cpu] : NULL;
}

static int add_cores(struct making *making)
{
	const struct tally *tally = making->tally;
	struct ranking *ranking = making->ranking;

	for (uint32_t i = 0; i < tally->cpus.count; i++) {
		const struct stack_class *load = &tally->cpus.items[i];
		struct ranking_core core = {
			.cpu = i,
			.now = at_most(share_of(load, making->covered_ns), 1),
			.usual = at_most(share_of(cpu_load(making->usual, i), making->cpus_ns), 1),
		};

		if (!stack_class_work_ns(load) && !load->ns[STACK_CLASS_IDLE])
			continue;
		ranking_judge(making, ranking->cpus_compared, core.now.all, core.usual.all,
			      &core.stands_out, &core.score);
		if (array_push(&ranking->cores, core) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* On which CPU it was, and who: sorted so that a CPU's, then a group's, stand side by side. */
static int compare_spots(const void *a, const void *b)
{
	const struct tally_row *left = a, *right = b;

	if (left->a != right->a)
		return left->a < right->a ? -1 : 1;
	if (left->b != right->b)
		return left->b < right->b ? -1 : 1;
	return (left->ns < right->ns) - (left->ns > right->ns);
}

static struct ranking_core *find_core(struct ranking *ranking, uint32_t cpu)
{
	for (size_t i = 0; i < ranking->cores.count; i++)
		if (ranking->cores.items[i].cpu == cpu)
			return &ranking->cores.items[i];
	return NULL;
}

/* Of equals, the one whose name comes first: which number a name has, chance says. */
static void take_group(const struct making *making, const struct tally_row *spot, uint64_t ns,
		       struct ranking_core *core)
{
	const struct strings *names = &making->tally->names;
	const char *group = strings_at(names, spot->b);
	double share = ns / making->covered_ns;

	if (share < core->group_share || share <= 0 ||
	    (share == core->group_share && strcmp(group, core->group) > 0))
		return;
	core->group_share = share;
	core->group = group;
	core->function = spot->c ? strings_at(names, spot->c) : NULL;
}

/* Whether it is the one to be told of two of one CPU and group, of which the other is as much or
 * more. */
static bool ranking_is_told(const struct strings *names, const struct tally_row *spot,
			    const struct tally_row *most)
{
	return spot->ns == most->ns &&
	       strcmp(strings_at(names, spot->c), strings_at(names, most->c)) < 0;
}

static int add_core_details(struct making *making)
{
	const struct tally *tally = making->tally;
	size_t count = tally->spots.list.count;
	_cleanup_free_ struct tally_row *spots = calloc(MAX(count, (size_t)1), sizeof(*spots));
	struct ranking_core *core = NULL;

	if (!spots)
		return -ENOMEM;
	if (count)
		memcpy(spots, tally->spots.list.items, count * sizeof(*spots));
	qsort(spots, count, sizeof(*spots), compare_spots);
	for (size_t i = 0, end; i < count; i = end) {
		const struct tally_row *most = &spots[i];
		uint64_t ns = 0;

		for (end = i;
		     end < count && spots[end].a == spots[i].a && spots[end].b == spots[i].b;
		     end++) {
			ns += spots[end].ns;
			if (ranking_is_told(&tally->names, &spots[end], most))
				most = &spots[end];
		}
		if (!core || core->cpu != most->a)
			core = find_core(making->ranking, most->a);
		if (core)
			take_group(making, most, ns, core);
	}
	return 0;
}

/* The number in the usual tally of each of this one's names; 0: it is not there, and has nothing.
 * NULL when memory is out. */
static uint32_t *map_names(const struct making *making)
{
	const struct strings *names = &making->tally->names;
	size_t count = strings_count(names);
	uint32_t *numbers = calloc(count, sizeof(*numbers));

	for (uint32_t i = 1; numbers && making->usual && i < count; i++) {
		const char *name = strings_at(names, i);

		numbers[i] = strings_find(&making->usual->names, name, strlen(name));
	}
	return numbers;
}

static int add_groups(struct making *making, const uint32_t *numbers, uint32_t *ret_rows)
{
	const struct tally *tally = making->tally;
	struct ranking *ranking = making->ranking;

	for (uint32_t i = 1; i < strings_count(&tally->names); i++) {
		const struct stack_class *usual =
			numbers[i] ? &making->usual->groups.items[numbers[i]] : NULL;
		struct ranking_group group = {
			.name = strings_at(&tally->names, i),
			.now = share_of(&tally->groups.items[i], making->covered_ns),
			.usual = share_of(usual, making->names_ns),
		};

		if (group.now.all <= 0)
			continue;
		ranking_judge(making, ranking->compared, group.now.all, group.usual.all,
			      &group.stands_out, &group.score);
		if (array_push(&ranking->groups, group) < 0)
			return -ENOMEM;
		ret_rows[i] = ranking->groups.count;
	}
	return 0;
}

/* Of equals, the one with the least number. */
static bool is_busier_place(const struct tally_row *place, const struct tally_row *than)
{
	return place->ns != than->ns ? place->ns > than->ns : place->a < than->a;
}

static bool is_busier_thread(const struct tally_row *thread, double share,
			     const struct ranking_group *than)
{
	int32_t pid = thread->a, tid = thread->b;

	if (share != than->thread_share || share <= 0)
		return share > than->thread_share;
	return pid != than->pid ? pid < than->pid : tid < than->tid;
}

/* rows has the place of each name's group, plus 1. */
static int add_group_details(struct making *making, const uint32_t *rows)
{
	const struct tally *tally = making->tally;
	size_t count = tally->threads.list.count;
	_cleanup_free_ struct tally_row *most = calloc(MAX(count, (size_t)1), sizeof(*most));

	if (!most)
		return -ENOMEM;
	for (size_t i = 0; i < tally->places.list.count; i++) {
		const struct tally_row *place = &tally->places.list.items[i];

		if (is_busier_place(place, &most[place->b]))
			most[place->b] = *place;
	}
	for (size_t i = 0; i < count; i++) {
		const struct tally_row *thread = &tally->threads.list.items[i];
		double share = thread->ns / making->covered_ns;
		struct ranking_group *group;

		if (!rows[thread->c])
			continue;
		group = &making->ranking->groups.items[rows[thread->c] - 1];
		group->threads++;
		if (!is_busier_thread(thread, share, group))
			continue;
		group->thread_share = share;
		group->pid = thread->a;
		group->tid = thread->b;
		group->cpu = most[i].a;
	}
	return 0;
}

/*
 * Those that are only the way to another function, or are not one function, by name; the caller
 * frees it. NULL when memory is out.
 */
static bool *find_wrappers(const struct tally *tally)
{
	static const char unknown[] = "[unknown]";
	bool *wrappers = calloc(strings_count(&tally->names), sizeof(*wrappers));

	if (wrappers)
		wrappers[strings_find(&tally->names, unknown, strlen(unknown))] = true;

	for (size_t i = 0; wrappers && i < tally->calls.list.count; i++) {
		const struct tally_row *call = &tally->calls.list.items[i];

		if (call->ns >= WRAPPER_PART * tally->functions.items[call->a].total_ns)
			wrappers[call->a] = true;
	}
	return wrappers;
}

static int ranking_add_function(struct making *making, uint32_t name,
				const struct tally_function *usual, bool wrapper)
{
	const struct tally_function *now = &making->tally->functions.items[name];
	struct ranking *ranking = making->ranking;
	struct ranking_function function = {
		.name = strings_at(&making->tally->names, name),
		.kernel = now->kernel,
		.self = now->self_ns / making->covered_ns,
		.total = now->total_ns / making->covered_ns,
	};
	bool total_stands_out;
	double total_score;

	if (usual && making->names_ns > 0) {
		function.usual_self = usual->self_ns / making->names_ns;
		function.usual_total = usual->total_ns / making->names_ns;
	}
	ranking_judge(making, ranking->compared, function.self, function.usual_self,
		      &function.stands_out, &function.score);
	ranking_judge(making, ranking->compared, function.total, function.usual_total,
		      &total_stands_out, &total_score);
	total_score *= TOTAL_WEIGHT;
	if (!wrapper && total_stands_out && total_score > function.score) {
		function.stands_out = true;
		function.score = total_score;
	}
	return array_push(&ranking->functions, function);
}

static int ranking_add_functions(struct making *making, const uint32_t *numbers)
{
	const struct tally *tally = making->tally;
	_cleanup_free_ bool *wrappers = find_wrappers(tally);
	int r = wrappers ? 0 : -ENOMEM;

	for (uint32_t i = 1; r == 0 && i < strings_count(&tally->names); i++) {
		const struct tally_function *usual =
			numbers[i] ? &making->usual->functions.items[numbers[i]] : NULL;

		if (tally->functions.items[i].total_ns)
			r = ranking_add_function(making, i, usual, wrappers[i]);
	}
	return r;
}

/* Rows of one score by their name or number, so that the same store always gives the same answer.
 */
#define ranking_COMPARE(type, tie)                                  \
	static int compare_##type(const void *a, const void *b)     \
	{                                                           \
		const struct ranking_##type *left = a, *right = b;  \
		if (left->score != right->score)                    \
			return left->score < right->score ? 1 : -1; \
		return tie;                                         \
	}

static int compare_totals(const struct ranking_function *left, const struct ranking_function *right)
{
	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return strcmp(left->name, right->name);
}

ranking_COMPARE(core, left->cpu < right->cpu ? -1 : 1)
	ranking_COMPARE(group, strcmp(left->name, right->name))
		ranking_COMPARE(function, compare_totals(left, right))

#define sort_rows(array, type)                                                         \
	do {                                                                           \
		if ((array)->count)                                                    \
			qsort((array)->items, (array)->count, sizeof(*(array)->items), \
			      compare_##type);                                         \
	} while (0)

			static int make(struct making *making)
{
	struct ranking *ranking = making->ranking;
	_cleanup_free_ uint32_t *numbers = map_names(making);
	_cleanup_free_ uint32_t *rows = calloc(strings_count(&making->tally->names), sizeof(*rows));
	int r = numbers && rows ? add_cores(making) : -ENOMEM;

	if (r == 0)
		r = add_core_details(making);
	if (r == 0)
		r = add_groups(making, numbers, rows);
	if (r == 0)
		r = add_group_details(making, rows);
	if (r == 0)
		r = ranking_add_functions(making, numbers);
	if (r < 0)
		return r;
	sort_rows(&ranking->cores, core);
	sort_rows(&ranking->groups, group);
	sort_rows(&ranking->functions, function);
	return 0;
}

int ranking_make(const struct tally *tally, uint64_t covered_ns, const struct baseline *baseline,
		 struct ranking *ret_ranking)
{
	struct ranking ranking = {
		.compared = baseline->names_ns != 0,
		.cpus_compared = baseline->cpus_ns != 0,
	};
	struct making making = {
		.tally = tally,
		.usual = baseline->tally,
		.covered_ns = time_of(tally, MAX(covered_ns, 1ull)),
		.names_ns = baseline->names_ns,
		.cpus_ns = baseline->cpus_ns,
		.ranking = &ranking,
	};
	double cpus = tally->host_cpus ? tally->host_cpus : INFINITY;
	int r;

	making.sample_share = MAX(tally->sample_ns, 1ull) / making.covered_ns;
	ranking.now = at_most(share_of(&tally->all, making.covered_ns), cpus);
	if (making.usual)
		ranking.usual = at_most(share_of(&making.usual->all, making.names_ns), cpus);
	r = make(&making);
	if (r < 0)
		ranking_done(&ranking);
	else
		*ret_ranking = ranking;
	return r;
}

void ranking_done(struct ranking *ranking)
{
	array_done(&ranking->cores);
	array_done(&ranking->groups);
	array_done(&ranking->functions);
}
