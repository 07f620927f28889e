// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds up a tape by the tape's own numbers first. It collects the time of a stack at the end of the
 * stack, and then passes the time from callee to caller. One pass is enough, because parents have
 * smaller numbers. A function counts once per stack, however often the stack contains it. Finally
 * it maps the names to those of the tally.
 *
 * The numbers of a tape's "functions" are those of its strings. After the strings come the modules,
 * which stand for frames without a name.
 */
#include "query/sums/tally-tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gauges/cgroup-names.h"
#include "query/sums/weights.h"

struct own_time {
	uint64_t self_ns, total_ns;
	bool kernel;
};

/*
 * Details (which thread ran on which CPU in which function) cost more than all other work. If a
 * tape has more samples than this, a random selection of about this size represents all samples.
 */
#define DETAILED_SAMPLES (128 * 1024)
#define SPOTS_MAX (1 << 20)

/* Scratch memory for the tape that is being added. The next tape uses it again. */
struct tally_scratch {
	struct stack_class_marks marks;
	/* indexed by function of the tape */
	array_of(struct own_time) times;
	/* the tally's names, indexed in the same way; 0: not needed yet */
	array_of(uint32_t) functions, groups;
	/* the tally's names of a tape's threads, for groups that depend on the thread */
	array_of(uint32_t) owners;
	/* the tally's names by stack and function of the leaf */
	struct hash96 paths;
	/* the name that is being put together */
	struct buffer name;
	/* the tally's thread + 1, indexed by thread of the tape */
	array_of(uint32_t) threads;
	/* time of each stack and of the stacks below it */
	array_of(uint64_t) subtrees;
	/*
	 * for each stack, a Bloom filter of its functions; each function has one bit, which others
	 * may share
	 */
	array_of(uint64_t) sets;
};

struct adder {
	struct tally *tally;
	struct tally_scratch *scratch;
	const struct tape *tape;
	unsigned int parts;
	/* one of this many samples is counted in detail */
	uint32_t every;
};

struct item {
	uint32_t stack, frame;
	uint32_t comm;
	/* the tape's thread; sums have none */
	uint32_t thread;
	enum stack_class_kind kind;
	/* the filter removed all frames of the stack: its time belongs to no function */
	bool frameless;
	uint64_t ns;
};

void tally_scratch_free(struct tally_scratch *scratch)
{
	if (!scratch)
		return;
	stack_class_marks_done(&scratch->marks);
	array_done(&scratch->times);
	array_done(&scratch->functions);
	array_done(&scratch->groups);
	array_done(&scratch->owners);
	hash96_done(&scratch->paths);
	buffer_done(&scratch->name);
	array_done(&scratch->threads);
	array_done(&scratch->subtrees);
	array_done(&scratch->sets);
	free(scratch);
}

/* Resizes an array and zeroes it. Reserves one item more, because memset() does not accept NULL. */
#define array_zero(array, wanted)                                                  \
	(array_reserve((array), (wanted) + 1) < 0                                  \
		 ? -ENOMEM                                                         \
		 : (memset((array)->items, 0, (wanted) * sizeof(*(array)->items)), \
		    (array)->count = (wanted), 0))

static uint32_t tally_tape_function_of(const struct adder *adder, uint32_t frame)
{
	const struct tape_frame *row = &adder->tape->frames.items[frame];

	return row->symbol ? row->symbol : strings_count(&adder->tape->strings) + row->module;
}

/* Maps a function of the tape to a name of the tally. */
static int map_function(const struct adder *adder, uint32_t function, uint32_t *ret_name)
{
	const struct tape *tape = adder->tape;
	uint32_t *name = &adder->scratch->functions.items[function];
	uint32_t strings = strings_count(&tape->strings);
	char label[TAPE_LABEL_SIZE];
	const char *text;
	int r = 0;

	if (!*name) {
		text = function < strings ? tape_string(tape, function)
					  : tape_module_label(tape, function - strings, label);
		r = tally_name(adder->tally, text, strlen(text), name);
	}
	*ret_name = *name;
	return r;
}

/* Puts a function's name. A ';' would look like the end of the name. */
static int put_function(const struct adder *adder, uint32_t function, struct buffer *name)
{
	uint32_t number;
	int r = map_function(adder, function, &number);
	const char *text;

	if (r < 0)
		return r;
	text = strings_at(&adder->tally->names, number);
	for (; *text; text++)
		buffer_u8(name, *text == ';' ? ':' : *text);
	return 0;
}

/*
 * Returns the length of a comm's group name: the whole comm, or the part up to the slash before the
 * number of a CPU or pool. strchr() also finds the NUL.
 */
static size_t group_size(const char *comm)
{
	const char *slash = strrchr(comm, '/'),
		   *number = slash ? slash + 1 + (slash[1] == 'u') : "";
	size_t digits = strspn(number, "0123456789");

	return digits && strchr(":-", number[digits]) ? slash + 1 - comm : strlen(comm);
}

/* perf shows a thread without a name by its number. */
static bool has_no_name(const char *comm)
{
	return !*comm || (*comm == ':' && comm[1] && !comm[1 + strspn(comm + 1, "0123456789")]);
}

static int map_comm(const struct adder *adder, uint32_t comm, uint32_t *ret_name)
{
	const char *text = tape_string(adder->tape, comm);
	uint32_t *name = &adder->scratch->groups.items[comm];
	size_t size = group_size(text);
	char group[64];
	int r = 0;

	if (!*name) {
		if (has_no_name(text))
			snprintf(group, sizeof(group), "[no name]");
		else
			snprintf(group, sizeof(group), "%.*s%s", (int)MIN(size, 60u), text,
				 text[size] ? "*" : "");
		r = tally_name(adder->tally, group, strlen(group), name);
	}
	*ret_name = *name;
	return r;
}

/* Puts the name of the group that a thread belongs to. */
static void put_owner(const struct adder *adder, const struct tape_thread *thread,
		      struct buffer *name)
{
	const char *cgroup = tape_string(adder->tape, thread->cgroup);
	char number[FILTER_COMM_SIZE];

	if (adder->tally->by == TALLY_BY_THREAD)
		buffer_printf(name, "%s %d/%d", filter_shown_comm(adder->tape, thread, number),
			      thread->pid, thread->tid);
	else if (adder->tally->by == TALLY_BY_CGROUP)
		buffer_text(name, *cgroup ? cgroup : "[no cgroup]");
	else if (!cgroup_pod(cgroup, name))
		buffer_text(name, "[no pod]");
}

static int map_owner(const struct adder *adder, uint32_t thread, uint32_t *ret_name)
{
	struct buffer *name = &adder->scratch->name;
	uint32_t *known = &adder->scratch->owners.items[thread];
	int r = 0;

	if (!*known) {
		name->size = 0;
		put_owner(adder, &adder->tape->threads.items[thread], name);
		r = buffer_failed(name)
			    ? -ENOMEM
			    : tally_name(adder->tally, (const char *)name->data, name->size, known);
	}
	*ret_name = *known;
	return r;
}

/* Puts the functions from the outermost caller to this stack, each with a ';' behind it. */
static int put_callers(const struct adder *adder, uint32_t stack, struct buffer *name)
{
	_cleanup_free_ uint32_t *functions = NULL;
	const struct tape_stack *stacks = adder->tape->stacks.items;
	size_t count = 0, at = 0;

	for (uint32_t i = stack; i; i = stacks[i].parent)
		count++;
	functions = malloc(MAX(count, (size_t)1) * sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	for (uint32_t i = stack; i; i = stacks[i].parent)
		functions[at++] = tally_tape_function_of(adder, stacks[i].frame);
	while (at-- > 0) {
		int r = put_function(adder, functions[at], name);

		if (r < 0)
			return r;
		buffer_u8(name, ';');
	}
	return 0;
}

static int map_path(const struct adder *adder, const struct item *item, uint32_t *ret_name)
{
	uint32_t function = tally_tape_function_of(adder, item->frame);
	struct hash96_key key =
		hash96_key_add(hash96_key_add((struct hash96_key){ 0 }, item->stack), function);
	struct buffer *name = &adder->scratch->name;
	uint32_t known = hash96_get(&adder->scratch->paths, key);
	int r = 0;

	if (!known) {
		name->size = 0;
		r = item->frameless ? 0 : put_callers(adder, item->stack, name);
		if (r == 0)
			r = put_function(adder, function, name);
		if (r == 0 && buffer_failed(name))
			r = -ENOMEM;
		if (r == 0)
			r = tally_name(adder->tally, (const char *)name->data, name->size, &known);
		if (r == 0)
			r = hash96_put(&adder->scratch->paths, key, known);
	}
	*ret_name = known;
	return r;
}

static int map_group(const struct adder *adder, const struct item *item, uint32_t *ret_name)
{
	if (tally_by_has_sums(adder->tally->by))
		return map_comm(adder, item->comm, ret_name);
	if (adder->tally->by == TALLY_BY_PATH)
		return map_path(adder, item, ret_name);
	return map_owner(adder, item->thread, ret_name);
}

static int tally_tape_begin_tape(struct adder *adder)
{
	const struct tape *tape = adder->tape;
	struct tally_scratch *scratch = adder->tally->scratch;
	size_t strings = strings_count(&tape->strings), stacks = tape->stacks.count;
	size_t functions = strings + tape->modules.count;

	if (!scratch)
		scratch = calloc(1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	adder->tally->scratch = adder->scratch = scratch;
	hash96_done(&scratch->paths);
	scratch->paths = (struct hash96){ 0 };
	if (stack_class_marks_make(&scratch->marks, tape) < 0 ||
	    array_zero(&scratch->threads, tape->threads.count) < 0 ||
	    array_zero(&scratch->groups, strings) < 0 ||
	    array_zero(&scratch->owners, tape->threads.count) < 0 ||
	    array_zero(&scratch->times, functions) < 0 ||
	    array_zero(&scratch->functions, functions) < 0 ||
	    array_zero(&scratch->subtrees, stacks) < 0 || array_zero(&scratch->sets, stacks) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < stacks; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		scratch->sets.items[i] = scratch->sets.items[stack->parent] |
					 1ull << tally_tape_function_of(adder, stack->frame) % 64;
	}
	return 0;
}

static bool tally_tape_is_within(const struct adder *adder, uint32_t stack, uint32_t function)
{
	const struct tape_stack *stacks = adder->tape->stacks.items;

	if (!(adder->scratch->sets.items[stack] & 1ull << function % 64))
		return false;
	for (; stack; stack = stacks[stack].parent)
		if (tally_tape_function_of(adder, stacks[stack].frame) == function)
			return true;
	return false;
}

static int add_call(struct adder *adder, uint32_t caller_frame, uint32_t callee_frame, uint64_t ns)
{
	struct tally_row row = { .ns = ns };

	if (map_function(adder, tally_tape_function_of(adder, caller_frame), &row.a) < 0 ||
	    map_function(adder, tally_tape_function_of(adder, callee_frame), &row.b) < 0)
		return -ENOMEM;
	return row.a == row.b ? 0 : tally_rows_add(&adder->tally->calls, &row, NULL);
}

static int add_names(struct adder *adder, const struct item *item)
{
	struct tally *tally = adder->tally;
	uint32_t function = tally_tape_function_of(adder, item->frame), group;
	struct own_time *time = &adder->scratch->times.items[function];

	tally->all.ns[item->kind] += item->ns;
	if (item->kind == STACK_CLASS_IDLE)
		return 0;
	if (map_group(adder, item, &group) < 0)
		return -ENOMEM;
	tally->groups.items[group].ns[item->kind] += item->ns;
	if (item->frameless)
		return 0;
	time->self_ns += item->ns;
	time->kernel |= stack_class_is_kernel(adder->tape, item->frame);
	if (!tally_tape_is_within(adder, item->stack, function))
		time->total_ns += item->ns;
	adder->scratch->subtrees.items[item->stack] += item->ns;
	return 0;
}

/* Goes backwards, so that callees come before their callers. */
static int add_to_callers(struct adder *adder)
{
	const struct tape_stack *stacks = adder->tape->stacks.items;
	uint64_t *subtrees = adder->scratch->subtrees.items;

	for (size_t i = adder->tape->stacks.count; i-- > 1;) {
		uint32_t frame = stacks[i].frame, parent = stacks[i].parent;
		uint32_t function = tally_tape_function_of(adder, frame);
		struct own_time *time = &adder->scratch->times.items[function];

		if (!subtrees[i])
			continue;
		subtrees[parent] += subtrees[i];
		time->kernel |= stack_class_is_kernel(adder->tape, frame);
		if (!tally_tape_is_within(adder, parent, function))
			time->total_ns += subtrees[i];
		if (adder->parts & TALLY_DETAILS && parent &&
		    add_call(adder, stacks[parent].frame, frame, subtrees[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int tally_tape_end_tape(struct adder *adder)
{
	int r = add_to_callers(adder);

	for (size_t i = 0; r == 0 && i < adder->scratch->times.count; i++) {
		const struct own_time *time = &adder->scratch->times.items[i];
		struct tally_function *function;
		uint32_t name;

		if (!time->total_ns)
			continue;
		r = map_function(adder, i, &name);
		if (r < 0)
			break;
		function = &adder->tally->functions.items[name];
		function->self_ns += time->self_ns;
		function->total_ns += time->total_ns;
		function->kernel |= time->kernel;
	}
	return r;
}

static int tally_tape_map_thread(const struct adder *adder, const struct item *item,
				 uint32_t *ret_thread)
{
	const struct tape_thread *thread = &adder->tape->threads.items[item->thread];
	struct tally_row row = { .a = thread->pid, .b = thread->tid };
	uint32_t *known = &adder->scratch->threads.items[item->thread], number;
	/* the paths of a thread vary */
	bool varies = adder->tally->by == TALLY_BY_PATH;
	int r = 0;

	if (varies || !*known) {
		r = map_group(adder, item, &row.c);
		if (r == 0)
			r = tally_rows_add(&adder->tally->threads, &row, &number);
		if (r < 0)
			return r;
		*known = number + 1;
	}
	*ret_thread = *known - 1;
	return 0;
}

/*
 * Adds to a spot. Drops new spots beyond the limit, because a spot that appears so late has little
 * time.
 */
static int add_spot(struct tally_rows *spots, const struct tally_row *spot)
{
	if (spots->list.count < SPOTS_MAX || tally_rows_have(spots, spot))
		return tally_rows_add(spots, spot, NULL);
	return 0;
}

static int add_details(struct adder *adder, uint32_t cpu, uint32_t thread, const struct item *item)
{
	const struct tape_stack *stacks = adder->tape->stacks.items;
	struct tally *tally = adder->tally;
	struct tally_row place = { .a = cpu, .b = thread, .ns = item->ns }, spot = place;
	int r = map_group(adder, item, &spot.b);

	tally->threads.list.items[thread].ns += item->ns;
	if (r < 0)
		return r;
	if (!item->frameless)
		r = map_function(adder, tally_tape_function_of(adder, item->frame), &spot.c);
	if (r < 0)
		return r;
	r = tally_rows_add(&tally->places, &place, NULL);
	if (r < 0)
		return r;
	r = add_spot(&tally->spots, &spot);
	if (r < 0)
		return r;
	if (item->stack)
		r = add_call(adder, stacks[item->stack].frame, item->frame, item->ns);
	return r;
}

static int tally_tape_add_sample(struct adder *adder, size_t number, const uint8_t *kinds,
				 uint64_t ns)
{
	const struct tape_sample *sample = &adder->tape->samples.items[number];
	const struct tape_thread *thread = &adder->tape->threads.items[sample->thread];
	bool detailed = adder->every == 1 || hash_u64(number) % adder->every == 0;
	bool idle = thread->pid == 0 && thread->tid == 0;
	struct item item = {
		.stack = sample->stack,
		.frame = sample->frame,
		.comm = thread->comm,
		.thread = sample->thread,
		.kind = kinds ? kinds[number]
			      : stack_class_kind(&adder->scratch->marks, idle, sample->stack,
						 sample->frame),
		.frameless = kinds && tape_is_no_stack(adder->tape, sample->frame),
		.ns = ns,
	};
	uint32_t own;
	int r = 0;

	if (adder->parts & TALLY_CPUS && sample->cpu < TAPE_CPUS_MAX) {
		if (tally_cpu(adder->tally, sample->cpu) < 0)
			return -ENOMEM;
		adder->tally->cpus.items[sample->cpu].ns[item.kind] += ns;
	}
	if (adder->parts & TALLY_NAMES)
		r = add_names(adder, &item);
	if (r < 0 || !(adder->parts & TALLY_DETAILS) || item.kind == STACK_CLASS_IDLE)
		return r;
	r = tally_tape_map_thread(adder, &item, &own);
	if (r < 0 || !detailed)
		return r;
	item.ns *= adder->every;
	return add_details(adder, sample->cpu, own, &item);
}

int tally_add_samples(struct tally *tally, const struct tape *tape, const uint8_t *kinds,
		      uint64_t sample_ns, unsigned int parts)
{
	_cleanup_(weights_done) struct weights weights = { 0 };
	struct adder adder = { .tally = tally,
			       .tape = tape,
			       .parts = parts,
			       .every = 1 + tape->samples.count / DETAILED_SAMPLES };
	int r = tally_tape_begin_tape(&adder);

	if (r == 0)
		r = weights_make(&weights, tape, sample_ns);
	for (size_t i = 0; r == 0 && i < tape->samples.count; i++)
		r = tally_tape_add_sample(&adder, i, kinds,
					  weights_of(&weights, &tape->samples.items[i]));
	if (r == 0 && parts & TALLY_NAMES)
		r = tally_tape_end_tape(&adder);
	if (tape->samples.count)
		tally->sample_ns = MAX(tally->sample_ns, sample_ns);
	tally->host_cpus = MAX(tally->host_cpus, stack_class_host_cpus(tape));
	if (parts & TALLY_NAMES)
		tally->samples += tape->samples.count;
	return r;
}

int tally_add_sums(struct tally *tally, const struct tape *tape, uint64_t sample_ns,
		   const struct filter *filter)
{
	struct adder adder = { .tally = tally, .tape = tape, .parts = TALLY_NAMES, .every = 1 };
	int r = tally_tape_begin_tape(&adder);

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
		item.kind = stack_class_kind(&tally->scratch->marks, stack_class_is_idle_comm(comm),
					     sum->stack, sum->frame);
		tally->samples += sum->count;
		r = add_names(&adder, &item);
	}
	return r < 0 ? r : tally_tape_end_tape(&adder);
}
