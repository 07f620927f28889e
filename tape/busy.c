// SPDX-License-Identifier: GPL-2.0-only
#include "tape/busy.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutation.h"
#include "tape/busy-figures.h"
#include "tape/busy-slots.h"
#include "tape/stack-class.h"

/*
 * A second may have up to SPARE_SAMPLES samples more or fewer than expected, because the timer is
 * not aligned to the second.
 */
#define SPARE_SAMPLES 2
/*
 * The spare samples stand for at most 1/SAMPLES_LEAST of a second. Fewer samples per second do not
 * show how busy a CPU was: with one sample, each CPU would be either fully busy or idle.
 */
#define SAMPLES_LEAST 10

/* One CPU in the current slot. */
struct cpu {
	array_of(uint32_t) samples;
	uint64_t counts[STACK_CLASS_KINDS];
	/* The tape has samples or gauges of this CPU. */
	bool seen;
};

struct builder {
	const struct tape *tape;
	struct busy *busy;
	struct busy_figures figures;
	struct stack_class_marks marks;
	uint64_t sample_ns;
	/* The event does not sample idle CPUs, so an absent sample is not unseen work. */
	bool works_only;
	/* Indexed by CPU number. */
	array_of(struct cpu) cpus;
	struct busy_slot slot;
	double machine_ns;
	/* The number of samples on the current CPU, by thread and by busy_function_of(). */
	array_of(uint32_t) by_thread, by_function;
	/* Maps thread numbers of the tape to those of `busy`; 0 if not mapped yet. */
	array_of(uint32_t) thread_ids;
};

/* How a CPU spent a slot, in nanoseconds. */
struct shares {
	double busy, kernel, irq, unseen;
	/* The busy time according to the gauges; negative if unknown. */
	double gauges;
};

static void busy_builder_done(struct builder *builder)
{
	for (size_t i = 0; i < builder->cpus.count; i++)
		array_done(&builder->cpus.items[i].samples);
	array_done(&builder->cpus);
	array_done(&builder->by_thread);
	array_done(&builder->by_function);
	array_done(&builder->thread_ids);
	stack_class_marks_done(&builder->marks);
	busy_figures_done(&builder->figures);
}

void busy_done(struct busy *busy)
{
	strings_done(&busy->names);
	array_done(&busy->slots);
	array_done(&busy->threads);
	array_done(&busy->cells);
}

static bool busy_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Counters of work do not advance while a CPU idles. */
static bool counts_work(const struct tape *tape)
{
	const char *event = tape_fact(tape, "event");

	return *event && !busy_begins(event, "cpu-clock") && !busy_begins(event, "task-clock");
}

static int busy_zeros(void *array, size_t count)
{
	array_of(uint32_t) *numbers = array;

	if (array_reserve(numbers, count) < 0)
		return -ENOMEM;
	memset(numbers->items, 0, count * sizeof(uint32_t));
	numbers->count = count;
	return 0;
}

static int busy_need_cpu(struct builder *builder, uint32_t cpu)
{
	while (builder->cpus.count <= cpu)
		if (array_push(&builder->cpus, (struct cpu){ 0 }) < 0)
			return -ENOMEM;
	builder->busy->cpus += !builder->cpus.items[cpu].seen;
	builder->cpus.items[cpu].seen = true;
	return 0;
}

static int busy_builder_init(struct builder *builder)
{
	const struct tape *tape = builder->tape;
	size_t functions = strings_count(&tape->strings) + tape->modules.count;
	int r = busy_figures_make(tape, &builder->figures);

	if (r < 0)
		return r;
	if (stack_class_marks_make(&builder->marks, tape) < 0 ||
	    busy_zeros(&builder->by_thread, tape->threads.count) < 0 ||
	    busy_zeros(&builder->thread_ids, tape->threads.count) < 0 ||
	    busy_zeros(&builder->by_function, functions) < 0)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < builder->figures.cpus.count; i++)
		if (builder->figures.cpus.items[i].gauges[BUSY_FIGURE_IDLE])
			r = busy_need_cpu(builder, i);
	return r;
}

/* Functions without a name count for their module. */
static uint32_t busy_function_of(const struct tape *tape, uint32_t frame)
{
	const struct tape_frame *row = &tape->frames.items[frame];

	return row->symbol ? row->symbol : strings_count(&tape->strings) + row->module;
}

static int busy_add_name(struct busy *busy, const char *name, uint32_t *ret_name)
{
	return strings_add(&busy->names, name, strlen(name), ret_name);
}

static int busy_add_function(struct builder *builder, uint32_t function, uint32_t *ret_name)
{
	const struct tape *tape = builder->tape;
	uint32_t strings = strings_count(&tape->strings);
	char label[TAPE_LABEL_SIZE];

	return busy_add_name(builder->busy,
			     function < strings
				     ? tape_string(tape, function)
				     : tape_module_label(tape, function - strings, label),
			     ret_name);
}

static int busy_add_thread(struct builder *builder, uint32_t thread, uint32_t *ret_id)
{
	const struct tape_thread *row = &builder->tape->threads.items[thread];
	uint32_t *id = &builder->thread_ids.items[thread];
	struct busy_thread ours = { row->pid, row->tid, 0 };
	int r;

	if (!*id) {
		r = busy_add_name(builder->busy, tape_string(builder->tape, row->comm), &ours.comm);
		if (r < 0)
			return r;
		r = array_push(&builder->busy->threads, ours);
		if (r < 0)
			return r;
		*id = builder->busy->threads.count;
	}
	*ret_id = *id;
	return 0;
}

static enum stack_class_kind busy_kind_of(const struct builder *builder,
					  const struct tape_sample *sample)
{
	const struct tape_thread *thread = &builder->tape->threads.items[sample->thread];

	return stack_class_kind(&builder->marks, thread->pid == 0 && thread->tid == 0,
				sample->stack, sample->frame);
}

static uint8_t per_cent(double part, double of)
{
	double share = of > 0 ? part / of * 100 + 0.5 : 0;

	return share < 0 ? 0 : share > 100 ? 100 : (uint8_t)share;
}

/* Names the thread and the function with the most samples. Prefers the first of equals. */
static int name_cell(struct builder *builder, const struct cpu *cpu, double seen_ns,
		     struct busy_cell *cell)
{
	const struct tape *tape = builder->tape;
	uint32_t *by_thread = builder->by_thread.items, *by_function = builder->by_function.items;
	uint32_t most_thread = 0, most_function = 0, thread = 0, function = 0;
	double of = (double)builder->slot.length_ns * cpu->samples.count;
	int r;

	for (size_t i = 0; i < cpu->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[cpu->samples.items[i]];

		by_thread[sample->thread]++;
		by_function[busy_function_of(tape, sample->frame)]++;
	}
	for (size_t i = 0; i < cpu->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[cpu->samples.items[i]];
		uint32_t at = busy_function_of(tape, sample->frame);

		if (by_thread[sample->thread] > most_thread) {
			most_thread = by_thread[sample->thread];
			thread = sample->thread;
		}
		if (by_function[at] > most_function) {
			most_function = by_function[at];
			function = at;
		}
		by_thread[sample->thread] = by_function[at] = 0;
	}
	if (!most_thread)
		return 0;
	cell->thread_share = per_cent(most_thread * seen_ns, of);
	if (mutated("quarter-share"))
		cell->thread_share /= 4;
	cell->function_share = per_cent(most_function * seen_ns, of);
	r = busy_add_thread(builder, thread, &cell->thread);
	return r < 0 ? r : busy_add_function(builder, function, &cell->function);
}

/*
 * Explains time without samples by busy time that the gauges show and samples do not. Busy time
 * that is neither a program's nor an interrupt's counts as the kernel's.
 */
static void busy_explain(const struct busy_account *account, double user_ns, double there_ns,
			 double unseen_ns, struct shares *shares)
{
	double more = MIN(MAX(account->busy * there_ns - shares->busy, 0.0), unseen_ns);
	double user = MIN(MAX(account->user * there_ns - user_ns, 0.0), more);
	double irq = MIN(MAX(account->irq * there_ns - shares->irq, 0.0), more - user);

	shares->busy += more;
	shares->irq += irq;
	shares->kernel += more - user - irq;
	shares->unseen = more;
}

static double spare_ns(const struct builder *builder)
{
	return MIN(SPARE_SAMPLES * builder->sample_ns, builder->slot.length_ns / SAMPLES_LEAST);
}

static void busy_scale(struct shares *shares, double by)
{
	shares->busy *= by;
	shares->kernel *= by;
	shares->irq *= by;
}

static struct shares shares_of(const struct builder *builder, uint32_t number)
{
	const struct cpu *cpu = &builder->cpus.items[number];
	const struct busy_slot *slot = &builder->slot;
	uint64_t to_ns = slot->perf_ns + slot->length_ns;
	double there_ns = slot->length_ns -
			  busy_figures_offline_ns(&builder->figures, number, slot->perf_ns, to_ns);
	double sample_ns = builder->sample_ns, held_ns, lost_ns;
	double user_ns = cpu->counts[STACK_CLASS_USER] * sample_ns;
	struct shares shares = {
		.kernel = cpu->counts[STACK_CLASS_KERNEL] * sample_ns,
		.irq = cpu->counts[STACK_CLASS_IRQ] * sample_ns,
		.gauges = -1,
	};
	double seen_ns, unseen_ns;
	struct busy_account account;

	shares.busy = user_ns + shares.kernel + shares.irq;
	seen_ns = shares.busy + cpu->counts[STACK_CLASS_IDLE] * sample_ns;
	there_ns = MIN(MAX(there_ns, seen_ns), (double)slot->length_ns);
	unseen_ns = there_ns - seen_ns;
	if (busy_figures_account(&builder->figures, number, slot->perf_ns, to_ns, &account))
		shares.gauges = account.busy * there_ns;
	if (unseen_ns < 0 || (seen_ns && unseen_ns <= spare_ns(builder))) {
		busy_scale(&shares, there_ns / seen_ns);
		return shares;
	}
	if (shares.gauges >= 0 && !builder->works_only) {
		busy_explain(&account, user_ns, there_ns, unseen_ns, &shares);
		return shares;
	}
	busy_figures_unseen(&builder->figures, number, slot->perf_ns, to_ns, builder->sample_ns,
			    &held_ns, &lost_ns);
	/* assume that lost samples are like the others, if the others are the majority */
	if (lost_ns > 0 && seen_ns > there_ns / 2) {
		lost_ns = MIN(lost_ns, unseen_ns);
		busy_scale(&shares, (seen_ns + lost_ns) / seen_ns);
		unseen_ns -= lost_ns;
	}
	shares.unseen = MIN(held_ns, unseen_ns);
	shares.kernel += shares.unseen;
	shares.busy += shares.unseen;
	return shares;
}

static int end_cpu(struct builder *builder, uint32_t number)
{
	struct cpu *cpu = &builder->cpus.items[number];
	struct shares shares = shares_of(builder, number);
	double slot_ns = builder->slot.length_ns;
	struct busy_cell cell = {
		.cpu = number,
		.slot = builder->busy->slots.count,
		.busy = per_cent(shares.busy, slot_ns),
		.kernel = per_cent(shares.kernel, slot_ns),
		.irq = per_cent(shares.irq, slot_ns),
		.unseen = per_cent(shares.unseen, slot_ns),
		.gauges = shares.gauges < 0 ? BUSY_UNKNOWN : per_cent(shares.gauges, slot_ns),
	};
	int r = 0;

	builder->machine_ns += shares.busy;
	if (cell.busy >= BUSY_LEAST) {
		r = name_cell(builder, cpu, shares.busy - shares.unseen, &cell);
		if (r == 0)
			r = array_push(&builder->busy->cells, cell);
	}
	cpu->samples.count = 0;
	memset(cpu->counts, 0, sizeof(cpu->counts));
	return r;
}

/*
 * Keeps a slot if it has cells. Drops the cells of a slot if the tape covers less than 9/10 of it.
 */
static int end_slot(struct builder *builder)
{
	struct busy *busy = builder->busy;
	uint64_t covered_ns = busy_slot_covered_ns(builder->tape, &builder->slot);
	size_t cells = busy->cells.count;
	int r = 0;

	builder->machine_ns = 0;
	for (uint32_t i = 0; r == 0 && i < builder->cpus.count; i++)
		if (builder->cpus.items[i].seen)
			r = end_cpu(builder, i);
	if (covered_ns < builder->slot.length_ns / 10 * 9)
		busy->cells.count = cells;
	if (r < 0 || busy->cells.count == cells)
		return r;
	builder->slot.machine = builder->machine_ns * 1000 / builder->slot.length_ns /
					MAX(busy->cpus, stack_class_host_cpus(builder->tape)) +
				0.5;
	return array_push(&busy->slots, builder->slot);
}

static int busy_add_sample(struct builder *builder, uint32_t number)
{
	const struct tape_sample *sample = &builder->tape->samples.items[number];
	enum stack_class_kind kind;
	struct cpu *cpu;

	if (sample->cpu >= TAPE_CPUS_MAX)
		return 0;
	if (busy_need_cpu(builder, sample->cpu) < 0)
		return -ENOMEM;
	cpu = &builder->cpus.items[sample->cpu];
	kind = busy_kind_of(builder, sample);
	cpu->counts[kind]++;
	return kind == STACK_CLASS_IDLE ? 0 : array_push(&cpu->samples, number);
}

static int make_cells(struct builder *builder)
{
	const struct tape *tape = builder->tape;
	bool begun = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->samples.count; i++) {
		uint64_t time_ns = tape->samples.items[i].time_ns;

		if (!begun || time_ns - builder->slot.perf_ns >= builder->slot.length_ns) {
			r = begun ? end_slot(builder) : 0;
			builder->slot = busy_slot_at(tape, begun ? &builder->slot : NULL, time_ns);
			begun = true;
		}
		if (r < 0)
			return r;
		r = busy_add_sample(builder, i);
	}
	return r == 0 && begun ? end_slot(builder) : r;
}

static int compare_cells(const void *a, const void *b)
{
	const struct busy_cell *left = a, *right = b;

	if (left->cpu != right->cpu)
		return left->cpu < right->cpu ? -1 : 1;
	return (left->slot > right->slot) - (left->slot < right->slot);
}

static int busy_builder_run(struct builder *builder)
{
	int r = busy_builder_init(builder);

	return r < 0 ? r : make_cells(builder);
}

int busy_make(const struct tape *tape, struct busy *busy)
{
	_cleanup_(busy_builder_done) struct builder builder = {
		.tape = tape,
		.busy = busy,
		.sample_ns = stack_class_sample_ns(tape, 0),
		.works_only = counts_work(tape),
	};
	int r = 0;

	*busy = (struct busy){ .known = builder.sample_ns &&
					builder.sample_ns <= NSEC_PER_SEC / SAMPLES_LEAST };
	if (busy->known)
		r = busy_builder_run(&builder);
	if (r < 0)
		return r;
	if (busy->cells.count)
		qsort(busy->cells.items, busy->cells.count, sizeof(*busy->cells.items),
		      compare_cells);
	busy->cpus = MAX(busy->cpus, stack_class_host_cpus(tape));
	return 0;
}
