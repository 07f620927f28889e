// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tape is added up by its own numbers first: a stack's time is collected where it ends, then handed from callee to caller in one pass, as
 * parents have smaller numbers. A function counts once in each stack, however often it is in it. Only then its names become ours.
 *
 * "Function" numbers of a tape are those of its strings, and behind them those of its modules, for frames without a name.
 */
#include "query/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/weights.h"

struct own_time {
	uint64_t self_ns, total_ns;
	bool kernel;
};

/* Who was on which CPU in what costs more than all the rest: of more samples than that in a tape, as many by chance stand for all. */
#define DETAILED_SAMPLES (128 * 1024)
#define SPOTS_MAX (1 << 20)

/* For the tape that is being added; the memory is kept for the next one. */
struct tally_scratch {
	struct load_marks marks;
	array_of(struct own_time) times; /* by function of the tape */
	array_of(uint32_t) functions, groups; /* ours, by that; 0: not asked for so far */
	array_of(uint32_t) threads; /* ours plus 1, by thread of the tape */
	array_of(uint64_t) subtrees; /* time below each stack */
	array_of(uint64_t) sets; /* a bit for each of its functions, which may share it */
};

struct adding {
	struct tally *tally;
	struct tally_scratch *scratch;
	const struct tape *tape;
	unsigned int parts;
	uint32_t every; /* so many samples one is looked at in detail */
};

struct item {
	uint32_t stack, frame;
	uint32_t comm;
	enum load_kind kind;
	bool frameless; /* all its frames were taken away: it is of no function */
	uint64_t ns;
};

int tally_new(struct tally **ret_tally)
{
	_cleanup_(cleanup_tally) struct tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return -ENOMEM;
	tally->scratch = calloc(1, sizeof(*tally->scratch));
	if (!tally->scratch)
		return -ENOMEM;
	*ret_tally = take_ptr(tally);
	return 0;
}

static void scratch_free(struct tally_scratch *scratch)
{
	if (!scratch)
		return;
	load_marks_done(&scratch->marks);
	array_done(&scratch->times);
	array_done(&scratch->functions);
	array_done(&scratch->groups);
	array_done(&scratch->threads);
	array_done(&scratch->subtrees);
	array_done(&scratch->sets);
	free(scratch);
}

/* As many zeroes, whatever was there. */
#define array_zero(array, wanted)                                                         \
	(array_reserve((array), (wanted)) < 0                                             \
			? -ENOMEM                                                         \
			: (memset((array)->items, 0, (wanted) * sizeof(*(array)->items)), \
				  (array)->count = (wanted), 0))

static int extend(void *items, size_t *count, size_t *capacity, size_t number, size_t size)
{
	if (number < *count)
		return 0;
	if (number >= *capacity && array_grow(items, capacity, number + 1, size) < 0)
		return -ENOMEM;
	memset(*(uint8_t **)items + *count * size, 0, (number + 1 - *count) * size);
	*count = number + 1;
	return 0;
}

/* Zeroed rows behind those that are there, so that there is one of that number. */
#define array_extend(array, number)                                            \
	extend(&(array)->items, &(array)->count, &(array)->capacity, (number), \
		sizeof(*(array)->items))

static struct map_key row_key(const struct tally_row *row)
{
	return map_key_add(map_key_add(map_key_add((struct map_key){ 0 }, row->a), row->b), row->c);
}

static bool has_row(const struct tally_rows *rows, const struct tally_row *row)
{
	return map_get(&rows->known, row_key(row)) != 0;
}

/* Adds to the row of these numbers. 0 or -ENOMEM. */
static int add_row(struct tally_rows *rows, const struct tally_row *row, uint32_t *ret_number)
{
	struct map_key key = row_key(row);
	uint32_t number = map_get(&rows->known, key);

	if (number) {
		rows->list.items[number - 1].ns += row->ns;
	} else {
		if (array_push(&rows->list, *row) < 0 ||
			map_put(&rows->known, key, rows->list.count) < 0)
			return -ENOMEM;
		number = rows->list.count;
	}
	if (ret_number)
		*ret_number = number - 1;
	return 0;
}

static void rows_done(struct tally_rows *rows)
{
	array_done(&rows->list);
	map_done(&rows->known);
}

struct tally *tally_free(struct tally *tally)
{
	if (!tally)
		return NULL;
	strings_done(&tally->names);
	array_done(&tally->functions);
	array_done(&tally->groups);
	array_done(&tally->cpus);
	rows_done(&tally->threads);
	rows_done(&tally->places);
	rows_done(&tally->spots);
	rows_done(&tally->calls);
	scratch_free(tally->scratch);
	free(tally);
	return NULL;
}

static int add_name(struct tally *tally, const char *name, size_t size, uint32_t *ret_name)
{
	if (strings_add(&tally->names, name, size, ret_name) < 0 ||
		array_extend(&tally->functions, *ret_name) < 0 ||
		array_extend(&tally->groups, *ret_name) < 0)
		return -ENOMEM;
	return 0;
}

static uint32_t function_of(const struct adding *adding, uint32_t frame)
{
	const struct tape_frame *row = &adding->tape->frames.items[frame];

	return row->symbol ? row->symbol : strings_count(&adding->tape->strings) + row->module;
}

/* A function of the tape as ours. */
static int map_function(const struct adding *adding, uint32_t function, uint32_t *ret_name)
{
	const struct tape *tape = adding->tape;
	uint32_t *name = &adding->scratch->functions.items[function];
	uint32_t strings = strings_count(&tape->strings);
	char label[TAPE_LABEL_SIZE];
	const char *text;
	int r = 0;

	if (!*name) {
		text = function < strings ? tape_string(tape, function)
					  : tape_module_label(tape, function - strings, label);
		r = add_name(adding->tally, text, strlen(text), name);
	}
	*ret_name = *name;
	return r;
}

/* How much of a comm is its group's: all, or up to the slash that a number of a CPU or of a pool follows. strchr() finds the NUL, too. */
static size_t group_size(const char *comm)
{
	const char *slash = strrchr(comm, '/'),
		   *number = slash ? slash + 1 + (slash[1] == 'u') : "";
	size_t digits = strspn(number, "0123456789");

	return digits && strchr(":-", number[digits]) ? slash + 1 - comm : strlen(comm);
}

/* perf's name for a thread of which none is known is its number. */
static bool has_no_name(const char *comm)
{
	return !*comm || (*comm == ':' && comm[1] && !comm[1 + strspn(comm + 1, "0123456789")]);
}

static int map_group(const struct adding *adding, uint32_t comm, uint32_t *ret_name)
{
	const char *text = tape_string(adding->tape, comm);
	uint32_t *name = &adding->scratch->groups.items[comm];
	size_t size = group_size(text);
	char group[64];
	int r = 0;

	if (!*name) {
		if (has_no_name(text))
			snprintf(group, sizeof(group), "[no name]");
		else
			snprintf(group, sizeof(group), "%.*s%s", (int)MIN(size, 60u), text,
				text[size] ? "*" : "");
		r = add_name(adding->tally, group, strlen(group), name);
	}
	*ret_name = *name;
	return r;
}

static int begin_tape(struct adding *adding)
{
	const struct tape *tape = adding->tape;
	struct tally_scratch *scratch = adding->scratch;
	size_t strings = strings_count(&tape->strings), stacks = tape->stacks.count;
	size_t functions = strings + tape->modules.count;

	if (load_marks_make(&scratch->marks, tape) < 0 ||
		array_zero(&scratch->threads, tape->threads.count) < 0 ||
		array_zero(&scratch->groups, strings) < 0 ||
		array_zero(&scratch->times, functions) < 0 ||
		array_zero(&scratch->functions, functions) < 0 ||
		array_zero(&scratch->subtrees, stacks) < 0 ||
		array_zero(&scratch->sets, stacks) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < stacks; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		scratch->sets.items[i] = scratch->sets.items[stack->parent] |
					 1ull << function_of(adding, stack->frame) % 64;
	}
	return 0;
}

static bool is_within(const struct adding *adding, uint32_t stack, uint32_t function)
{
	const struct tape_stack *stacks = adding->tape->stacks.items;

	if (!(adding->scratch->sets.items[stack] & 1ull << function % 64))
		return false;
	for (; stack; stack = stacks[stack].parent)
		if (function_of(adding, stacks[stack].frame) == function)
			return true;
	return false;
}

static int add_call(
	struct adding *adding, uint32_t caller_frame, uint32_t callee_frame, uint64_t ns)
{
	struct tally_row row = { .ns = ns };

	if (map_function(adding, function_of(adding, caller_frame), &row.a) < 0 ||
		map_function(adding, function_of(adding, callee_frame), &row.b) < 0)
		return -ENOMEM;
	return row.a == row.b ? 0 : add_row(&adding->tally->calls, &row, NULL);
}

static int add_names(struct adding *adding, const struct item *item)
{
	struct tally *tally = adding->tally;
	uint32_t function = function_of(adding, item->frame), group;
	struct own_time *time = &adding->scratch->times.items[function];

	tally->all.ns[item->kind] += item->ns;
	if (item->kind == LOAD_IDLE)
		return 0;
	if (map_group(adding, item->comm, &group) < 0)
		return -ENOMEM;
	tally->groups.items[group].ns[item->kind] += item->ns;
	if (item->frameless)
		return 0;
	time->self_ns += item->ns;
	time->kernel |= load_is_kernel(adding->tape, item->frame);
	if (!is_within(adding, item->stack, function))
		time->total_ns += item->ns;
	adding->scratch->subtrees.items[item->stack] += item->ns;
	return 0;
}

/* Callers are behind their callees when one goes from the end. */
static int hand_up(struct adding *adding)
{
	const struct tape_stack *stacks = adding->tape->stacks.items;
	uint64_t *subtrees = adding->scratch->subtrees.items;

	for (size_t i = adding->tape->stacks.count; i-- > 1;) {
		uint32_t frame = stacks[i].frame, parent = stacks[i].parent;
		uint32_t function = function_of(adding, frame);
		struct own_time *time = &adding->scratch->times.items[function];

		if (!subtrees[i])
			continue;
		subtrees[parent] += subtrees[i];
		time->kernel |= load_is_kernel(adding->tape, frame);
		if (!is_within(adding, parent, function))
			time->total_ns += subtrees[i];
		if (adding->parts & TALLY_DETAILS && parent &&
			add_call(adding, stacks[parent].frame, frame, subtrees[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int end_tape(struct adding *adding)
{
	int r = hand_up(adding);

	for (size_t i = 0; r == 0 && i < adding->scratch->times.count; i++) {
		const struct own_time *time = &adding->scratch->times.items[i];
		struct tally_function *function;
		uint32_t name;

		if (!time->total_ns)
			continue;
		r = map_function(adding, i, &name);
		if (r < 0)
			break;
		function = &adding->tally->functions.items[name];
		function->self_ns += time->self_ns;
		function->total_ns += time->total_ns;
		function->kernel |= time->kernel;
	}
	return r;
}

static int map_thread(const struct adding *adding, uint32_t id, uint32_t *ret_thread)
{
	const struct tape_thread *thread = &adding->tape->threads.items[id];
	struct tally_row row = { .a = thread->pid, .b = thread->tid };
	uint32_t *known = &adding->scratch->threads.items[id];
	int r = 0;

	if (!*known) {
		r = map_group(adding, thread->comm, &row.c);
		if (r == 0)
			r = add_row(&adding->tally->threads, &row, known);
		*known += 1;
	}
	*ret_thread = *known - 1;
	return r;
}

/* What is seen for the first time so late is of no weight. */
static int add_spot(struct tally_rows *spots, const struct tally_row *spot)
{
	if (spots->list.count < SPOTS_MAX || has_row(spots, spot))
		return add_row(spots, spot, NULL);
	return 0;
}

static int add_details(
	struct adding *adding, uint32_t cpu, uint32_t thread, const struct item *item)
{
	const struct tape_stack *stacks = adding->tape->stacks.items;
	struct tally *tally = adding->tally;
	struct tally_row place = { .a = cpu, .b = thread, .ns = item->ns }, spot = place;
	int r = map_group(adding, item->comm, &spot.b);

	tally->threads.list.items[thread].ns += item->ns;
	if (r == 0 && !item->frameless)
		r = map_function(adding, function_of(adding, item->frame), &spot.c);
	if (r == 0)
		r = add_row(&tally->places, &place, NULL);
	if (r == 0)
		r = add_spot(&tally->spots, &spot);
	if (r == 0 && item->stack)
		r = add_call(adding, stacks[item->stack].frame, item->frame, item->ns);
	return r;
}

static int add_sample(struct adding *adding, size_t number, const uint8_t *kinds, uint64_t ns)
{
	const struct tape_sample *sample = &adding->tape->samples.items[number];
	const struct tape_thread *thread = &adding->tape->threads.items[sample->thread];
	bool detailed = adding->every == 1 || hash_u64(number) % adding->every == 0;
	bool idle = thread->pid == 0 && thread->tid == 0;
	struct item item = {
		.stack = sample->stack,
		.frame = sample->frame,
		.comm = thread->comm,
		.kind = kinds ? kinds[number]
			      : load_kind(&adding->scratch->marks, idle, sample->stack,
					sample->frame),
		.frameless = kinds && tape_is_no_stack(adding->tape, sample->frame),
		.ns = ns,
	};
	uint32_t own;
	int r = 0;

	if (adding->parts & TALLY_CPUS) {
		if (array_extend(&adding->tally->cpus, (size_t)sample->cpu) < 0)
			return -ENOMEM;
		adding->tally->cpus.items[sample->cpu].ns[item.kind] += ns;
	}
	if (adding->parts & TALLY_NAMES)
		r = add_names(adding, &item);
	if (r < 0 || !(adding->parts & TALLY_DETAILS) || item.kind == LOAD_IDLE)
		return r;
	r = map_thread(adding, sample->thread, &own);
	if (r < 0 || !detailed)
		return r;
	item.ns *= adding->every;
	return add_details(adding, sample->cpu, own, &item);
}

int tally_add_samples(struct tally *tally, const struct tape *tape, const uint8_t *kinds,
	uint64_t sample_ns, unsigned int parts)
{
	_cleanup_(weights_done) struct weights weights = { 0 };
	struct adding adding = { tally, tally->scratch, tape, parts,
		1 + tape->samples.count / DETAILED_SAMPLES };
	int r = begin_tape(&adding);

	if (r == 0)
		r = weights_make(&weights, tape, sample_ns);
	for (size_t i = 0; r == 0 && i < tape->samples.count; i++)
		r = add_sample(&adding, i, kinds, weights_of(&weights, &tape->samples.items[i]));
	if (r == 0 && parts & TALLY_NAMES)
		r = end_tape(&adding);
	if (tape->samples.count)
		tally->sample_ns = sample_ns;
	tally->host_cpus = MAX(tally->host_cpus, load_host_cpus(tape));
	if (parts & TALLY_NAMES)
		tally->samples += tape->samples.count;
	return r;
}

int tally_add_sums(struct tally *tally, const struct tape *tape, uint64_t sample_ns,
	const struct filter *filter)
{
	struct adding adding = { tally, tally->scratch, tape, TALLY_NAMES, 1 };
	int r = begin_tape(&adding);

	for (size_t i = 0; r == 0 && i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];
		const char *comm = tape_string(tape, sum->comm);
		struct item item = {
			.stack = sum->stack,
			.frame = sum->frame,
			.comm = sum->comm,
			.ns = sample_ns * sum->count,
		};

		if (!filter_passes_comm(filter, comm))
			continue;
		item.kind = load_kind(
			&tally->scratch->marks, load_is_idle_comm(comm), sum->stack, sum->frame);
		tally->samples += sum->count;
		r = add_names(&adding, &item);
	}
	return r < 0 ? r : end_tape(&adding);
}

static int merge_names(struct tally *tally, const struct tally *other, uint32_t *names)
{
	for (uint32_t i = 1; i < strings_count(&other->names); i++) {
		const char *name = strings_at(&other->names, i);
		const struct tally_function *from = &other->functions.items[i];
		struct tally_function *to;

		if (add_name(tally, name, strlen(name), &names[i]) < 0)
			return -ENOMEM;
		to = &tally->functions.items[names[i]];
		to->self_ns += from->self_ns;
		to->total_ns += from->total_ns;
		to->kernel |= from->kernel;
		load_add(&tally->groups.items[names[i]], &other->groups.items[i]);
	}
	return 0;
}

static int merge_threads(
	struct tally *tally, const struct tally *other, const uint32_t *names, uint32_t *threads)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < other->threads.list.count; i++) {
		struct tally_row row = other->threads.list.items[i];

		row.c = names[row.c];
		r = add_row(&tally->threads, &row, &threads[i]);
	}
	return r;
}

/* The other's numbers as ours; NULL: they are the same. */
static int merge_rows(struct tally_rows *rows, const struct tally_rows *other, const uint32_t *a,
	const uint32_t *b, const uint32_t *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < other->list.count; i++) {
		struct tally_row row = other->list.items[i];

		row.a = a ? a[row.a] : row.a;
		row.b = b ? b[row.b] : row.b;
		row.c = c ? c[row.c] : row.c;
		r = add_row(rows, &row, NULL);
	}
	return r;
}

int tally_merge(struct tally *tally, const struct tally *other)
{
	size_t name_count = strings_count(&other->names);
	size_t thread_count = other->threads.list.count;
	_cleanup_free_ uint32_t *names = calloc(name_count, sizeof(*names));
	_cleanup_free_ uint32_t *threads = calloc(MAX(thread_count, (size_t)1), sizeof(*threads));
	int r = names && threads ? merge_names(tally, other, names) : -ENOMEM;

	if (r == 0)
		r = merge_threads(tally, other, names, threads);
	if (r == 0)
		r = merge_rows(&tally->places, &other->places, NULL, threads, NULL);
	if (r == 0)
		r = merge_rows(&tally->spots, &other->spots, NULL, names, names);
	if (r == 0)
		r = merge_rows(&tally->calls, &other->calls, names, names, NULL);
	for (size_t i = 0; r == 0 && i < other->cpus.count; i++) {
		r = array_extend(&tally->cpus, i);
		if (r == 0)
			load_add(&tally->cpus.items[i], &other->cpus.items[i]);
	}
	load_add(&tally->all, &other->all);
	tally->samples += other->samples;
	tally->sample_ns = MAX(tally->sample_ns, other->sample_ns);
	tally->host_cpus = MAX(tally->host_cpus, other->host_cpus);
	return r;
}
