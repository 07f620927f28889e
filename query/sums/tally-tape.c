// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions below convert samples to a digest (tape/digest.h) first, so that stored digests
 * count in the same way. Then they map the names of the digest to those of the tally.
 */
#include "query/sums/tally-tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gauges/cgroup-names.h"
#include "query/read/weights.h"
#include "query/window/filter.h"
#include "tape/digest.h"
#include "tape/function-sums.h"

/* Cores are looked up in batches. */
#define CORES_AT_ONCE 32

/* Scratch memory for the tape that is being added. The next tape uses it again. */
struct tally_scratch {
	struct stack_class_marks marks;
	struct function_sums sums;
	/* the tally's names, indexed by function of the tape; 0: not needed yet */
	array_of(uint32_t) functions;
	/* the tally's names, indexed by function of the digest */
	array_of(uint32_t) listed;
	/* the tally's names, indexed by string that is a comm; 0: not needed yet */
	array_of(uint32_t) groups;
	/* the tally's names of a tape's threads, for groups that depend on the thread */
	array_of(uint32_t) owners;
	/* the tally's name of the owner of each sample */
	array_of(uint32_t) of_samples;
	/* the weight of each sample, in nanoseconds */
	array_of(uint64_t) weights;
	/* the tally's names by stack and function of the leaf */
	struct hash96 paths;
	/* the name that is being put together */
	struct buffer name;
};

struct adder {
	struct tally *tally;
	struct tally_scratch *scratch;
	const struct tape *tape;
	unsigned int parts;
	/* an owner of the digest is a name of the tally, not a comm */
	bool owners;
};

void tally_scratch_free(struct tally_scratch *scratch)
{
	if (!scratch)
		return;
	stack_class_marks_done(&scratch->marks);
	function_sums_done(&scratch->sums);
	array_done(&scratch->functions);
	array_done(&scratch->listed);
	array_done(&scratch->groups);
	array_done(&scratch->owners);
	array_done(&scratch->of_samples);
	array_done(&scratch->weights);
	hash96_done(&scratch->paths);
	buffer_done(&scratch->name);
	free(scratch);
}

/* Resizes an array and zeroes it. Reserves one item more, because memset() does not accept NULL. */
#define array_zero(array, wanted)                                                  \
	(array_reserve((array), (wanted) + 1) < 0                                  \
		 ? -ENOMEM                                                         \
		 : (memset((array)->items, 0, (wanted) * sizeof(*(array)->items)), \
		    (array)->count = (wanted), 0))

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
	for (;;) {
		size_t size = strcspn(text, ";");

		buffer_bytes(name, text, size);
		if (!text[size])
			return 0;
		buffer_u8(name, ':');
		text += size + 1;
	}
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

void tally_group_name(const char *comm, char group[TALLY_GROUP_SIZE])
{
	size_t size = group_size(comm);

	if (has_no_name(comm))
		snprintf(group, TALLY_GROUP_SIZE, "[no name]");
	else
		snprintf(group, TALLY_GROUP_SIZE, "%.*s%s", (int)MIN(size, 60u), comm,
			 comm[size] ? "*" : "");
}

static int tally_tape_map_comm(const struct adder *adder, uint32_t comm, uint32_t *ret_name)
{
	uint32_t *name = &adder->scratch->groups.items[comm];
	char group[TALLY_GROUP_SIZE];
	int r = 0;

	if (!*name) {
		tally_group_name(tape_string(adder->tape, comm), group);
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
		functions[at++] = tape_function_of(adder->tape, stacks[i].frame);
	while (at-- > 0) {
		int r = put_function(adder, functions[at], name);

		if (r < 0)
			return r;
		buffer_u8(name, ';');
	}
	return 0;
}

static int name_path(const struct adder *adder, const struct tape_sample *sample, bool frameless,
		     uint32_t function, uint32_t *ret_name)
{
	struct buffer *name = &adder->scratch->name;
	int r = 0;

	name->size = 0;
	if (!frameless)
		r = put_callers(adder, sample->stack, name);
	if (r < 0)
		return r;
	r = put_function(adder, function, name);
	if (r < 0)
		return r;
	if (buffer_failed(name))
		return -ENOMEM;
	return tally_name(adder->tally, (const char *)name->data, name->size, ret_name);
}

static int map_path(const struct adder *adder, const struct tape_sample *sample, bool frameless,
		    uint32_t *ret_name)
{
	uint32_t function = tape_function_of(adder->tape, sample->frame);
	struct hash96_key key =
		hash96_key_add(hash96_key_add((struct hash96_key){ 0 }, sample->stack), function);
	uint32_t known = hash96_get(&adder->scratch->paths, key);
	int r;

	if (!known) {
		r = name_path(adder, sample, frameless, function, &known);
		if (r < 0)
			return r;
		r = hash96_put(&adder->scratch->paths, key, known);
		if (r < 0)
			return r;
	}
	*ret_name = known;
	return 0;
}

/* Finds the group of each sample, for groupings other than by name and by function. */
static int map_owners(struct adder *adder, const uint8_t *kinds)
{
	struct tally_scratch *scratch = adder->scratch;
	const struct tape *tape = adder->tape;
	int r = 0;

	if (array_reserve(&scratch->of_samples, tape->samples.count + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		bool frameless = kinds && tape_is_no_stack(tape, sample->frame);
		uint32_t *owner = &scratch->of_samples.items[i];

		if (adder->tally->by == TALLY_BY_PATH)
			r = map_path(adder, sample, frameless, owner);
		else
			r = map_owner(adder, sample->thread, owner);
	}
	return r;
}

static int tally_tape_begin_tape(struct adder *adder)
{
	const struct tape *tape = adder->tape;
	struct tally_scratch *scratch = adder->tally->scratch;

	if (!scratch)
		scratch = calloc(1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	adder->tally->scratch = adder->scratch = scratch;
	hash96_done(&scratch->paths);
	scratch->paths = (struct hash96){ 0 };
	if (array_zero(&scratch->groups, strings_count(&tape->strings)) < 0 ||
	    array_zero(&scratch->owners, tape->threads.count) < 0 ||
	    array_zero(&scratch->functions, tape_function_count(tape)) < 0)
		return -ENOMEM;
	return 0;
}

static int map_group(const struct adder *adder, uint32_t owner, uint32_t *ret_name)
{
	if (!adder->owners)
		return tally_tape_map_comm(adder, owner, ret_name);
	*ret_name = owner;
	return 0;
}

static int add_cells(struct adder *adder, const struct digest *digest, uint64_t unit_ns)
{
	struct tally *tally = adder->tally;
	size_t cpus = digest->cpus.count;

	for (size_t i = 0; i < cpus; i++)
		if (tally_cpu(tally, digest->cpus.items[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < digest->cells.count; i++)
		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
			tally->cpus.items[digest->cpus.items[i % cpus]].ns[kind] +=
				unit_ns * digest->cells.items[i].n[kind];
	return 0;
}

static int add_digest_thread(struct adder *adder, const struct digest_thread *thread,
			     uint64_t unit_ns)
{
	const struct tape_thread *of = &adder->tape->threads.items[thread->thread];
	struct tally *tally = adder->tally;
	struct tally_place place = { thread->cpu, unit_ns * thread->there };
	struct tally_row row = { .a = of->pid, .b = of->tid };
	struct stack_class spent = { 0 };
	int r;

	for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
		spent.ns[kind] = unit_ns * thread->n[kind];
	stack_class_add(&tally->all, &spent);
	spent.ns[STACK_CLASS_IDLE] = 0;
	row.ns = stack_class_work_ns(&spent);
	if (!row.ns)
		return 0;
	r = map_group(adder, thread->owner, &row.c);
	if (r < 0)
		return r;
	stack_class_add(&tally->groups.items[row.c], &spent);
	return adder->parts & TALLY_DETAILS ? tally_add_thread(tally, &row, &place) : 0;
}

/* Adds a function of the digest. *name is the name before it, and then its own. */
static int add_digest_function(struct adder *adder, const struct digest_function *function,
			       uint64_t unit_ns, uint32_t *name)
{
	struct tally *tally = adder->tally;
	const char *text = tape_string(adder->tape, function->string);
	char label[TAPE_LABEL_SIZE];
	struct tally_function *sum;

	if (function->is_module)
		text = tape_path_label(text, label);
	if (tally_name_after(tally, *name, text, name) < 0)
		return -ENOMEM;
	sum = &tally->functions.items[*name];
	sum->self_ns += unit_ns * function->self;
	sum->total_ns += unit_ns * function->total;
	sum->led_ns += unit_ns * function->led;
	sum->kernel |= function->kernel;
	return 0;
}

/* Finds the row of a core's share, and the row of its most frequent function. */
static int make_core_rows(struct adder *adder, const struct digest_core *core, uint64_t unit_ns,
			  struct tally_row *ret_share, struct tally_row *ret_spot)
{
	uint32_t group;
	int r = map_group(adder, core->owner, &group);

	if (r < 0)
		return r;
	*ret_share = (struct tally_row){ core->cpu, group, 0, unit_ns * core->work };
	*ret_spot = (struct tally_row){ .a = core->cpu, .b = group, .ns = unit_ns * core->there };
	ret_spot->c = core->function ? adder->scratch->listed.items[core->function - 1] : 0;
	return 0;
}

/*
 * Adds some cores. The shares of two tapes are in nearly the same order, so the row after the last
 * one is the best guess. Rows of functions are looked up in two steps, so that their cache misses
 * overlap.
 */
static int add_digest_cores(struct adder *adder, const struct digest_core *cores, size_t count,
			    uint64_t unit_ns, uint32_t *at)
{
	struct tally_row share, spots[CORES_AT_ONCE];
	struct tally *tally = adder->tally;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = make_core_rows(adder, &cores[i], unit_ns, &share, &spots[i]);
		if (r == 0)
			r = tally_rows_add_at(&tally->shares, &share, at);
		*at += 1;
		tally_rows_prefetch(&tally->spots, &spots[i]);
	}
	for (size_t i = 0; r == 0 && i < count; i++)
		r = cores[i].function ? tally_rows_add(&tally->spots, &spots[i], NULL) : 0;
	return r;
}

static int add_all_cores(struct adder *adder, const struct digest *digest, uint64_t unit_ns)
{
	size_t count = digest->cores.count, part;
	uint32_t at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i += part) {
		part = MIN(count - i, (size_t)CORES_AT_ONCE);
		r = add_digest_cores(adder, &digest->cores.items[i], part, unit_ns, &at);
	}
	return r;
}

static int add_digest(struct adder *adder, const struct digest *digest, uint64_t unit_ns)
{
	struct tally_scratch *scratch = adder->scratch;
	int r = adder->parts & TALLY_CPUS ? add_cells(adder, digest, unit_ns) : 0;
	uint32_t name = 0;

	if (r < 0 || !(adder->parts & (TALLY_NAMES | TALLY_GROUPS)))
		return r;
	r = array_reserve(&scratch->listed, digest->functions.count + 1);
	for (size_t i = 0; r == 0 && i < digest->threads.count; i++)
		r = add_digest_thread(adder, &digest->threads.items[i], unit_ns);
	for (size_t i = 0; r == 0 && i < digest->functions.count; i++) {
		r = add_digest_function(adder, &digest->functions.items[i], unit_ns, &name);
		scratch->listed.items[i] = name;
	}
	if (r == 0 && adder->parts & TALLY_DETAILS)
		r = add_all_cores(adder, digest, unit_ns);
	adder->tally->samples += digest->samples;
	return r;
}

static int weigh_samples(const struct tape *tape, uint64_t sample_ns, struct tally_scratch *scratch)
{
	_cleanup_(weights_done) struct weights weights = { 0 };
	int r = weights_make(&weights, tape, sample_ns);

	if (r < 0 || array_reserve(&scratch->weights, tape->samples.count + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < tape->samples.count; i++)
		scratch->weights.items[i] = weights_of(&weights, &tape->samples.items[i]);
	return 0;
}

int tally_add_samples(struct tally *tally, const struct tape *tape, const uint8_t *kinds,
		      uint64_t sample_ns, unsigned int parts)
{
	struct adder adder = { .tally = tally,
			       .tape = tape,
			       .parts = parts,
			       .owners = !tally_by_has_sums(tally->by) };
	struct digest_input input = { .tape = tape, .kinds = kinds };
	_cleanup_(digest_done) struct digest digest = { 0 };
	int r = tally_tape_begin_tape(&adder);

	if (r < 0)
		return r;
	r = stack_class_marks_make(&adder.scratch->marks, tape);
	if (r < 0)
		return r;
	r = weigh_samples(tape, sample_ns, adder.scratch);
	if (r < 0)
		return r;
	if (adder.owners)
		r = map_owners(&adder, kinds);
	if (r < 0)
		return r;
	input.marks = &adder.scratch->marks;
	input.weights = adder.scratch->weights.items;
	input.owners = adder.owners ? adder.scratch->of_samples.items : NULL;
	input.threads_only = parts == TALLY_GROUPS;
	r = digest_make(&input, &digest);
	if (r == 0)
		r = add_digest(&adder, &digest, 1);
	if (tape->samples.count)
		tally->sample_ns = MAX(tally->sample_ns, sample_ns);
	tally->host_cpus = MAX(tally->host_cpus, stack_class_host_cpus(tape));
	return r;
}

int tally_add_digest(struct tally *tally, const struct tape *tape, uint64_t sample_ns,
		     unsigned int parts)
{
	struct adder adder = { .tally = tally, .tape = tape, .parts = parts };
	int r = tally_tape_begin_tape(&adder);

	if (r == 0)
		r = add_digest(&adder, tape->digest, sample_ns);
	if (tape->digest->samples)
		tally->sample_ns = MAX(tally->sample_ns, sample_ns);
	tally->host_cpus = MAX(tally->host_cpus, stack_class_host_cpus(tape));
	return r;
}

/* Adds a sum of stacks. Its time belongs to no thread. */
static int add_sum(struct adder *adder, const struct tape_sum *sum, bool idle, uint64_t ns)
{
	struct tally *tally = adder->tally;
	enum stack_class_kind kind =
		stack_class_kind(&adder->scratch->marks, idle, sum->stack, sum->frame);
	uint32_t group;
	int r;

	tally->all.ns[kind] += ns;
	if (kind == STACK_CLASS_IDLE)
		return 0;
	r = tally_tape_map_comm(adder, sum->comm, &group);
	if (r < 0)
		return r;
	tally->groups.items[group].ns[kind] += ns;
	return function_sums_add(&adder->scratch->sums, sum->stack, sum->frame, ns);
}

static int add_sums(struct adder *adder, uint64_t sample_ns)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < adder->tape->sums.count; i++) {
		const struct tape_sum *sum = &adder->tape->sums.items[i];
		const char *comm = tape_string(adder->tape, sum->comm);

		adder->tally->samples += sum->count;
		r = add_sum(adder, sum, stack_class_is_idle_comm(comm), sample_ns * sum->count);
	}
	return r;
}

static int tally_tape_take_functions(struct adder *adder)
{
	const struct function_sums *sums = &adder->scratch->sums;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sums->list.count; i++) {
		const struct function_sum *sum = &sums->list.items[i];
		struct tally_function *function;
		uint32_t name;

		if (!sum->total)
			continue;
		r = map_function(adder, i, &name);
		if (r < 0)
			break;
		function = &adder->tally->functions.items[name];
		function->self_ns += sum->self;
		function->total_ns += sum->total;
		function->led_ns += sum->led;
		function->kernel |= sum->kernel;
	}
	return r;
}

int tally_add_sums(struct tally *tally, const struct tape *tape, uint64_t sample_ns)
{
	struct adder adder = { .tally = tally, .tape = tape };
	int r = tally_tape_begin_tape(&adder);

	if (r < 0)
		return r;
	r = stack_class_marks_make(&adder.scratch->marks, tape);
	if (r < 0)
		return r;
	r = function_sums_begin(&adder.scratch->sums, tape);
	if (r < 0)
		return r;
	r = add_sums(&adder, sample_ns);
	if (r < 0)
		return r;
	r = function_sums_finish(&adder.scratch->sums);
	return r < 0 ? r : tally_tape_take_functions(&adder);
}
