// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first pass goes over the samples in their order and adds up paths and threads. The second
 * pass goes CPU by CPU, so that two arrays hold the sums of one CPU: by thread, and by pair of
 * owner and function. The second pass reads and clears only the touched places of these arrays.
 */
#include "tape/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tape/digest-intervals.h"
#include "tape/function-sums.h"
#include "tape/triples.h"

#define KIND_SHIFT 30
#define SAMPLES_MAX (1u << KIND_SHIFT)
#define KIND_UNKNOWN UINT8_MAX
/* A batch of samples fits into the fast caches. */
#define BATCH 2048

/* A sample in the order of CPUs. */
struct item {
	/* A row of the digest's threads. */
	uint32_t row;
	/* The number of its (owner, function), and the class in the highest bits. */
	uint32_t pair_and_kind;
};

/* What each sample of a path needs, in one place of memory. */
struct path_facts {
	/* The number of its (owner, function). */
	uint32_t pair;
	/* Its class in any other thread, and in the idle one. */
	uint8_t kinds[2];
};

/* The last pair of a function. */
struct last_pair {
	/* The owner + 1. */
	uint32_t owner;
	uint32_t pair;
};

/* The work of one owner on the present CPU. */
struct owner_time {
	uint64_t work, there;
	/* A function of the tape. */
	uint32_t function;
};

struct maker {
	const struct digest_input *input;
	const struct tape *tape;
	struct digest *digest;
	/* The path of each sample; owned only if the input has no paths. */
	const uint32_t *of_samples;
	uint32_t *own_of_samples;
	/* For each path: its owner, stack and function. */
	array_of(struct triple) paths;
	/* For each path: one of the frames of the leaf function. */
	array_of(uint32_t) frames;
	/* For each path: its weight without idle time. */
	array_of(uint64_t) work;
	array_of(struct path_facts) facts;
	/* For each thread of the tape, its last row + 1. */
	array_of(uint32_t) rows_of;
	/* For each row, whether its thread is the idle one. */
	array_of(bool) idle;
	/* NULL: a single interval. */
	struct digest_intervals *intervals;
	struct triples own_paths, rows, pairs, owners;
	/* For each pair, the number of its owner. */
	array_of(uint32_t) owners_of;
	struct function_sums sums;
	/* Indexed by function of the tape: the function of the digest + 1. */
	array_of(uint32_t) functions;
	/*
	 * The samples sorted by CPU, their weights if the input has weights, and the end of each
	 * CPU's samples.
	 */
	array_of(struct item) items;
	array_of(uint64_t) weights;
	array_of(uint32_t) ends;
	/* The weights of one CPU by row and by pair, and lists of the places that are not 0. */
	array_of(uint64_t) by_row, by_pair;
	array_of(uint32_t) touched_rows, touched_pairs, touched_owners;
	array_of(struct owner_time) by_owner;
};

/* Sets the size of an array and zeroes it. */
#define array_clear(array, wanted)                                                 \
	(array_reserve((array), (wanted) + 1) < 0                                  \
		 ? -ENOMEM                                                         \
		 : (memset((array)->items, 0, (wanted) * sizeof(*(array)->items)), \
		    (array)->count = (wanted), 0))

void digest_done(struct digest *digest)
{
	array_done(&digest->unnamed);
	array_done(&digest->intervals);
	array_done(&digest->cpus);
	array_done(&digest->cells);
	array_done(&digest->spread);
	array_done(&digest->threads);
	array_done(&digest->cores);
	array_done(&digest->functions);
}

struct digest *digest_free(struct digest *digest)
{
	if (!digest)
		return NULL;
	digest_done(digest);
	free(digest);
	return NULL;
}

static void maker_done(struct maker *maker)
{
	free(maker->own_of_samples);
	array_done(&maker->paths);
	array_done(&maker->frames);
	array_done(&maker->work);
	array_done(&maker->facts);
	array_done(&maker->rows_of);
	array_done(&maker->idle);
	digest_intervals_free(maker->intervals);
	triples_done(&maker->own_paths);
	triples_done(&maker->rows);
	triples_done(&maker->pairs);
	triples_done(&maker->owners);
	array_done(&maker->owners_of);
	function_sums_done(&maker->sums);
	array_done(&maker->functions);
	array_done(&maker->items);
	array_done(&maker->weights);
	array_done(&maker->ends);
	array_done(&maker->by_row);
	array_done(&maker->by_pair);
	array_done(&maker->touched_rows);
	array_done(&maker->touched_pairs);
	array_done(&maker->touched_owners);
	array_done(&maker->by_owner);
}

static uint64_t weight_of(const struct maker *maker, size_t sample)
{
	return maker->input->weights ? maker->input->weights[sample] : 1;
}

static uint32_t owner_of(const struct maker *maker, size_t sample)
{
	uint32_t thread = maker->tape->samples.items[sample].thread;

	return maker->input->owners ? maker->input->owners[sample]
				    : maker->tape->threads.items[thread].comm;
}

static uint32_t function_of(const struct maker *maker, uint32_t frame)
{
	if (maker->input->kinds && tape_is_no_stack(maker->tape, frame))
		return DIGEST_NO_FUNCTION;
	return tape_function_of(maker->tape, frame);
}

static int digest_take_paths(struct maker *maker, const struct digest_paths *paths)
{
	maker->of_samples = paths->of_samples;
	if (array_reserve(&maker->paths, paths->count) < 0 ||
	    array_reserve(&maker->frames, paths->count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < paths->count; i++) {
		maker->paths.items[i] = (struct triple){ paths->owners[i], paths->stacks[i],
							 function_of(maker, paths->frames[i]) };
		maker->frames.items[i] = paths->frames[i];
	}
	maker->paths.count = maker->frames.count = paths->count;
	return 0;
}

static int digest_find_paths(struct maker *maker)
{
	size_t count = maker->tape->samples.count;

	maker->own_of_samples = malloc((count + 1) * sizeof(*maker->own_of_samples));
	if (!maker->own_of_samples)
		return -ENOMEM;
	maker->of_samples = maker->own_of_samples;
	for (size_t i = 0; i < count; i++) {
		const struct tape_sample *sample = &maker->tape->samples.items[i];
		/* functions of the same name may lie in and outside of the kernel, so look at
		 * frames */
		struct triple path = { owner_of(maker, i), sample->stack, sample->frame };
		uint32_t *number = &maker->own_of_samples[i];
		int r = triples_add(&maker->own_paths, path, number);

		path.c = function_of(maker, sample->frame);
		if (r < 0 || (*number == maker->frames.count &&
			      (array_push(&maker->frames, sample->frame) < 0 ||
			       array_push(&maker->paths, path) < 0)))
			return -ENOMEM;
	}
	return 0;
}

/* Finds or adds the pair of a path, and its owner. */
static int digest_find_pair(struct maker *maker, const struct triple *path, uint32_t *ret_pair)
{
	uint32_t owner;

	if (triples_add(&maker->pairs, (struct triple){ path->a, path->c, 0 }, ret_pair) < 0)
		return -ENOMEM;
	if (*ret_pair < maker->owners_of.count)
		return 0;
	if (triples_add(&maker->owners, (struct triple){ path->a, 0, 0 }, &owner) < 0)
		return -ENOMEM;
	return array_push(&maker->owners_of, owner);
}

/* Many paths have the same owner as the path before them that ends in the same function. */
static int digest_know_pair(struct maker *maker, const struct triple *path, struct last_pair *lasts,
			    uint32_t *ret_pair)
{
	struct last_pair *last = path->c == DIGEST_NO_FUNCTION ? NULL : &lasts[path->c];
	int r;

	if (last && last->owner == path->a + 1) {
		*ret_pair = last->pair;
		return 0;
	}
	r = digest_find_pair(maker, path, ret_pair);
	if (r < 0)
		return r;
	if (last)
		*last = (struct last_pair){ path->a + 1, *ret_pair };
	return 0;
}

/* Finds the pair and the owner of each path. */
static int know_paths(struct maker *maker)
{
	size_t count = maker->paths.count;
	const uint32_t *samples = maker->input->paths ? maker->input->paths->samples : NULL;
	_cleanup_free_ struct last_pair *lasts =
		calloc(tape_function_count(maker->tape) + 1, sizeof(*lasts));

	if (!lasts || array_clear(&maker->work, count) < 0 ||
	    array_reserve(&maker->facts, count + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct path_facts *facts = &maker->facts.items[i];

		if (digest_know_pair(maker, &maker->paths.items[i], lasts, &facts->pair) < 0)
			return -ENOMEM;
		facts->kinds[0] = facts->kinds[1] = KIND_UNKNOWN;
		/* the pass over the samples removes idle time */
		maker->work.items[i] = samples ? samples[i] : 0;
	}
	/* the kind shares a number with the pair */
	return maker->pairs.list.count < SAMPLES_MAX ? 0 : -ENOMEM;
}

/* Nearly all paths need only one of their two classes, so compute a class at its first use. */
static enum stack_class_kind digest_kind_of(struct maker *maker, size_t sample, bool idle)
{
	uint32_t path = maker->of_samples[sample];
	uint8_t *kind = &maker->facts.items[path].kinds[idle];

	if (maker->input->kinds)
		return maker->input->kinds[sample];
	if (*kind == KIND_UNKNOWN)
		*kind = stack_class_kind(maker->input->marks, idle, maker->paths.items[path].b,
					 maker->frames.items[path]);
	return *kind;
}

/*
 * Finds or adds the row of a sample's thread and owner. Unless the input has owners, each thread
 * has one owner.
 */
static int digest_find_row(struct maker *maker, size_t sample, uint32_t *ret_row)
{
	struct digest *digest = maker->digest;
	uint32_t thread = maker->tape->samples.items[sample].thread, owner;
	const struct tape_thread *of = &maker->tape->threads.items[thread];
	uint32_t *known = &maker->rows_of.items[thread];

	if (!maker->input->owners && *known) {
		*ret_row = *known - 1;
		return 0;
	}
	owner = owner_of(maker, sample);
	if (triples_add(&maker->rows, (struct triple){ thread, owner, 0 }, ret_row) < 0)
		return -ENOMEM;
	*known = *ret_row + 1;
	if (*ret_row < digest->threads.count)
		return 0;
	if (array_push(&maker->idle, of->pid == 0 && of->tid == 0) < 0)
		return -ENOMEM;
	return array_push(&digest->threads,
			  (struct digest_thread){ .thread = thread, .owner = owner });
}

static int digest_count_cpus(struct maker *maker)
{
	const struct digest_paths *paths = maker->input->paths;
	size_t sum = 0;

	if (array_clear(&maker->ends, TAPE_CPUS_MAX) < 0 ||
	    array_clear(&maker->rows_of, maker->tape->threads.count) < 0)
		return -ENOMEM;
	for (size_t i = 0; !paths && i < maker->tape->samples.count; i++)
		if (maker->tape->samples.items[i].cpu < TAPE_CPUS_MAX)
			maker->ends.items[maker->tape->samples.items[i].cpu]++;
	if (paths)
		memcpy(maker->ends.items, paths->cpu_samples,
		       TAPE_CPUS_MAX * sizeof(*paths->cpu_samples));
	for (uint32_t cpu = 0; cpu < TAPE_CPUS_MAX; cpu++) {
		uint32_t own = maker->ends.items[cpu];

		if (own && array_push(&maker->digest->cpus, cpu) < 0)
			return -ENOMEM;
		maker->ends.items[cpu] = sum;
		sum += own;
	}
	maker->items.count = sum;
	if (array_reserve(&maker->items, sum + 1) < 0 ||
	    (maker->input->weights && array_reserve(&maker->weights, sum + 1) < 0))
		return -ENOMEM;
	return 0;
}

/* Adds the samples from `first` to `end`, and says the class of each. */
static int digest_add_batch(struct maker *maker, size_t first, size_t end, uint8_t *ret_kinds)
{
	uint32_t *ends = maker->ends.items, row;

	for (size_t i = first; i < end; i++) {
		uint32_t path = maker->of_samples[i], cpu = maker->tape->samples.items[i].cpu;
		uint64_t weight = weight_of(maker, i);
		enum stack_class_kind kind;

		if (digest_find_row(maker, i, &row) < 0)
			return -ENOMEM;
		kind = digest_kind_of(maker, i, maker->idle.items[row]);
		maker->digest->threads.items[row].n[kind] += weight;
		/* with paths from outside, the work began with all samples */
		if ((kind == STACK_CLASS_IDLE) == !!maker->input->paths)
			maker->work.items[path] += maker->input->paths ? -weight : weight;
		ret_kinds[i - first] = kind;
		if (cpu >= TAPE_CPUS_MAX)
			continue;
		if (maker->input->weights)
			maker->weights.items[ends[cpu]] = weight;
		maker->items.items[ends[cpu]++] =
			(struct item){ row, maker->facts.items[path].pair | (uint32_t)kind
										    << KIND_SHIFT };
	}
	return 0;
}

/*
 * The first pass. Afterwards `ends` has the end of each CPU's samples. The intervals add each batch
 * while the caches have it.
 */
static int digest_add_samples(struct maker *maker)
{
	size_t count = maker->tape->samples.count, end;
	uint8_t kinds[BATCH];

	for (size_t first = 0; first < count; first = end) {
		end = MIN(first + BATCH, count);
		if (digest_add_batch(maker, first, end, kinds) < 0)
			return -ENOMEM;
		if (maker->intervals)
			digest_intervals_add(maker->intervals, first, end, kinds);
	}
	return 0;
}

static int add_function(struct maker *maker, uint32_t function, const struct function_sum *sum)
{
	const struct tape *tape = maker->tape;
	uint32_t strings = strings_count(&tape->strings);
	bool is_module = function >= strings;
	struct digest_function row = {
		.string = is_module ? tape->modules.items[function - strings].path : function,
		.is_module = is_module,
		.kernel = sum->kernel,
		.self = sum->self,
		.total = sum->total,
		.led = sum->led,
	};

	if (array_push(&maker->digest->functions, row) < 0)
		return -ENOMEM;
	maker->functions.items[function] = maker->digest->functions.count;
	return 0;
}

static int add_functions(struct maker *maker)
{
	int r = function_sums_begin(&maker->sums, maker->tape);

	for (size_t i = 0; r == 0 && i < maker->paths.count; i++)
		if (maker->paths.items[i].c != DIGEST_NO_FUNCTION)
			r = function_sums_add(&maker->sums, maker->paths.items[i].b,
					      maker->frames.items[i], maker->work.items[i]);
	if (r < 0)
		return r;
	r = function_sums_finish(&maker->sums);
	if (r < 0)
		return r;
	r = array_clear(&maker->functions, maker->sums.list.count);
	for (size_t i = 0; r == 0 && i < maker->sums.list.count; i++)
		if (maker->sums.list.items[i].total)
			r = add_function(maker, i, &maker->sums.list.items[i]);
	return r;
}

/* Adds up the samples of one CPU. */
static int add_cpu(struct maker *maker, size_t from, size_t to, struct digest_cell *cell)
{
	for (size_t i = from; i < to; i++) {
		const struct item *item = &maker->items.items[i];
		uint32_t kind = item->pair_and_kind >> KIND_SHIFT;
		uint32_t pair = item->pair_and_kind & (SAMPLES_MAX - 1);
		uint64_t weight = maker->input->weights ? maker->weights.items[i] : 1;

		cell->n[kind] += weight;
		if (kind == STACK_CLASS_IDLE || !weight)
			continue;
		if (!maker->by_row.items[item->row] &&
		    array_push(&maker->touched_rows, item->row) < 0)
			return -ENOMEM;
		if (!maker->by_pair.items[pair] && array_push(&maker->touched_pairs, pair) < 0)
			return -ENOMEM;
		maker->by_row.items[item->row] += weight;
		maker->by_pair.items[pair] += weight;
	}
	return 0;
}

static const char *function_name(const struct maker *maker, uint32_t function,
				 char label[TAPE_LABEL_SIZE])
{
	uint32_t strings = strings_count(&maker->tape->strings);

	return function < strings ? tape_string(maker->tape, function)
				  : tape_module_label(maker->tape, function - strings, label);
}

/* Decides between equal functions by name, because numbers differ from tape to tape. */
static bool digest_is_heavier(const struct maker *maker, uint32_t function, uint64_t weight,
			      const struct owner_time *than)
{
	char left[TAPE_LABEL_SIZE], right[TAPE_LABEL_SIZE];

	if (function == DIGEST_NO_FUNCTION || weight != than->there)
		return function != DIGEST_NO_FUNCTION && weight > than->there;
	return strcmp(function_name(maker, function, left),
		      function_name(maker, than->function, right)) < 0;
}

/* Adds the weights of one CPU's pairs to their owners, and clears the weights. */
static int take_pairs(struct maker *maker)
{
	for (size_t i = 0; i < maker->touched_pairs.count; i++) {
		uint32_t pair = maker->touched_pairs.items[i];
		uint32_t owner = maker->owners_of.items[pair];
		uint32_t function = maker->pairs.list.items[pair].b;
		struct owner_time *time = &maker->by_owner.items[owner];
		uint64_t weight = maker->by_pair.items[pair];

		if (!time->work && array_push(&maker->touched_owners, owner) < 0)
			return -ENOMEM;
		time->work += weight;
		if (digest_is_heavier(maker, function, weight, time)) {
			time->there = weight;
			time->function = function;
		}
		maker->by_pair.items[pair] = 0;
	}
	maker->touched_pairs.count = 0;
	return 0;
}

static int digest_put_cores(struct maker *maker, uint32_t cpu)
{
	for (size_t i = 0; i < maker->touched_owners.count; i++) {
		uint32_t owner = maker->touched_owners.items[i];
		struct owner_time *time = &maker->by_owner.items[owner];
		struct digest_core core = {
			.cpu = cpu,
			.owner = maker->owners.list.items[owner].a,
			.work = time->work,
			.function = time->there ? maker->functions.items[time->function] : 0,
			.there = time->there,
		};

		if (array_push(&maker->digest->cores, core) < 0)
			return -ENOMEM;
		*time = (struct owner_time){ 0 };
	}
	maker->touched_owners.count = 0;
	return 0;
}

static void digest_take_rows(struct maker *maker, uint32_t cpu)
{
	for (size_t i = 0; i < maker->touched_rows.count; i++) {
		uint32_t row = maker->touched_rows.items[i];
		struct digest_thread *thread = &maker->digest->threads.items[row];

		if (maker->by_row.items[row] > thread->there) {
			thread->there = maker->by_row.items[row];
			thread->cpu = cpu;
		}
		maker->by_row.items[row] = 0;
	}
	maker->touched_rows.count = 0;
}

/* Makes the cells of a single interval. */
static int digest_begin_cells(struct digest *digest)
{
	digest->intervals.count = 0;
	if (array_clear(&digest->cells, digest->cpus.count) < 0)
		return -ENOMEM;
	return array_push(&digest->intervals, 0);
}

/* The second pass. */
static int digest_add_cpus(struct maker *maker)
{
	struct digest *digest = maker->digest;
	struct digest_cell unused;
	size_t from = 0;
	int r = 0;

	if ((!maker->intervals && digest_begin_cells(digest) < 0) ||
	    array_clear(&maker->by_row, digest->threads.count) < 0 ||
	    array_clear(&maker->by_pair, maker->pairs.list.count) < 0 ||
	    array_clear(&maker->by_owner, maker->owners.list.count) < 0)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < digest->cpus.count; i++) {
		uint32_t cpu = digest->cpus.items[i], to = maker->ends.items[cpu];

		r = add_cpu(maker, from, to, maker->intervals ? &unused : &digest->cells.items[i]);
		if (r < 0)
			return r;
		digest_take_rows(maker, cpu);
		r = take_pairs(maker);
		if (r < 0)
			return r;
		r = digest_put_cores(maker, cpu);
		from = to;
	}
	return r;
}

static int digest_make_all(struct maker *maker)
{
	const struct digest_input *input = maker->input;
	int r = input->paths ? digest_take_paths(maker, input->paths) : digest_find_paths(maker);

	if (r < 0)
		return r;
	r = know_paths(maker);
	if (r < 0)
		return r;
	r = digest_count_cpus(maker);
	if (r < 0)
		return r;
	if (input->intervals)
		r = digest_intervals_new(maker->tape, maker->digest, &maker->intervals);
	if (r < 0)
		return r;
	r = digest_add_samples(maker);
	if (r < 0 || input->threads_only)
		return r;
	r = add_functions(maker);
	return r < 0 ? r : digest_add_cpus(maker);
}

int digest_make(const struct digest_input *input, struct digest *digest)
{
	struct maker maker = { .input = input, .tape = input->tape, .digest = digest };
	int r;

	*digest = (struct digest){ .samples = input->tape->samples.count };
	if (input->tape->samples.count >= SAMPLES_MAX)
		return -ENOMEM;
	r = digest_make_all(&maker);
	maker_done(&maker);
	return r;
}
