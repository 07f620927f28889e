// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/kept-baseline.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* Indexes of the values of TAPE_USUAL_SPAN. */
enum span_value {
	SPAN_FROM,
	SPAN_TO,
	SPAN_NAMES,
	SPAN_CPUS,
	SPAN_SEGMENTS,
	SPAN_OF,
	SPAN_REST,
	SPAN_SAMPLES,
	SPAN_SAMPLE,
	SPAN_HOST_CPUS,
	SPAN_VALUES,
};

#define ROW_VALUES_MAX SPAN_VALUES

static int keep_span(const struct baseline *baseline, struct tape *tape)
{
	const uint64_t values[SPAN_VALUES] = {
		[SPAN_FROM] = baseline->from_ns,
		[SPAN_TO] = baseline->to_ns,
		[SPAN_NAMES] = baseline->names_ns,
		[SPAN_CPUS] = baseline->cpus_ns,
		[SPAN_SEGMENTS] = baseline->segments,
		[SPAN_OF] = baseline->of,
		[SPAN_REST] = baseline->rest,
		[SPAN_SAMPLES] = baseline->tally->samples,
		[SPAN_SAMPLE] = baseline->tally->sample_ns,
		[SPAN_HOST_CPUS] = baseline->tally->host_cpus,
	};

	return tape_add_usual(tape, TAPE_USUAL_SPAN, "", values, ARRAY_SIZE(values));
}

static int keep_class(struct tape *tape, enum tape_usual_kind kind, const char *name,
		      const struct stack_class *times)
{
	const uint64_t values[] = { times->ns[STACK_CLASS_USER], times->ns[STACK_CLASS_KERNEL],
				    times->ns[STACK_CLASS_IRQ] };

	return tape_add_usual(tape, kind, name, values, ARRAY_SIZE(values));
}

static int keep_cpus(const struct tally *tally, struct tape *tape)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tally->cpus.count; i++) {
		const struct stack_class *times = &tally->cpus.items[i];
		const uint64_t values[] = { i, times->ns[STACK_CLASS_USER],
					    times->ns[STACK_CLASS_KERNEL],
					    times->ns[STACK_CLASS_IRQ],
					    times->ns[STACK_CLASS_IDLE] };

		if (stack_class_work_ns(times) || times->ns[STACK_CLASS_IDLE])
			r = tape_add_usual(tape, TAPE_USUAL_CPU, "", values, ARRAY_SIZE(values));
	}
	return r;
}

static int keep_name(const struct tally *tally, uint32_t name, struct tape *tape)
{
	const struct tally_function *function = &tally->functions.items[name];
	const uint64_t values[] = { function->self_ns, function->total_ns, function->kernel };
	const char *text = strings_at(&tally->names, name);
	int r = 0;

	if (stack_class_work_ns(&tally->groups.items[name]))
		r = keep_class(tape, TAPE_USUAL_THREADS, text, &tally->groups.items[name]);
	if (r < 0)
		return r;
	if (function->total_ns)
		return tape_add_usual(tape, TAPE_USUAL_FUNCTION, text, values, ARRAY_SIZE(values));
	return 0;
}

int kept_baseline_add(const struct baseline *baseline, const struct tally *window,
		      struct tape *tape)
{
	const struct tally *tally = baseline->tally;
	int r;

	if (!baseline->names_ns || !tally)
		return 0;
	r = keep_span(baseline, tape);
	if (r < 0)
		return r;
	r = keep_class(tape, TAPE_USUAL_ALL, "", &tally->all);
	if (r < 0)
		return r;
	r = keep_cpus(tally, tape);
	for (uint32_t i = 1; r == 0 && i < strings_count(&tally->names); i++) {
		const char *name = strings_at(&tally->names, i);

		if (strings_find(&window->names, name, strlen(name)))
			r = keep_name(tally, i, tape);
	}
	return r;
}

static struct stack_class class_of(const uint64_t *values)
{
	struct stack_class times = { 0 };

	times.ns[STACK_CLASS_USER] = values[0];
	times.ns[STACK_CLASS_KERNEL] = values[1];
	times.ns[STACK_CLASS_IRQ] = values[2];
	return times;
}

static void kept_baseline_read_span(const uint64_t values[ROW_VALUES_MAX],
				    struct baseline *baseline)
{
	baseline->from_ns = values[SPAN_FROM];
	baseline->to_ns = values[SPAN_TO];
	baseline->names_ns = values[SPAN_NAMES];
	baseline->cpus_ns = values[SPAN_CPUS];
	baseline->segments = values[SPAN_SEGMENTS];
	baseline->of = values[SPAN_OF];
	baseline->rest = values[SPAN_REST];
	baseline->tally->samples = values[SPAN_SAMPLES];
	baseline->tally->sample_ns = values[SPAN_SAMPLE];
	baseline->tally->host_cpus = values[SPAN_HOST_CPUS];
}

static int read_cpu(const uint64_t values[ROW_VALUES_MAX], struct tally *tally)
{
	struct stack_class times = class_of(values + 1);

	if (values[0] >= TAPE_CPUS_MAX)
		return 0;
	times.ns[STACK_CLASS_IDLE] = values[4];
	if (tally_cpu(tally, values[0]) < 0)
		return -ENOMEM;
	stack_class_add(&tally->cpus.items[values[0]], &times);
	return 0;
}

static int kept_baseline_read_name(const struct tape *tape, const struct tape_usual *row,
				   const uint64_t values[ROW_VALUES_MAX], struct tally *tally)
{
	const char *text = tape_string(tape, row->name);
	struct stack_class times = class_of(values);
	struct tally_function *function;
	uint32_t name;

	if (!*text)
		return 0;
	if (tally_name(tally, text, strlen(text), &name) < 0)
		return -ENOMEM;
	if (row->kind == TAPE_USUAL_THREADS) {
		stack_class_add(&tally->groups.items[name], &times);
		return 0;
	}
	function = &tally->functions.items[name];
	function->self_ns += values[0];
	function->total_ns += values[1];
	function->kernel |= values[2] != 0;
	return 0;
}

/* Adds a row of the tape to the baseline. Values that the row lacks count as 0. */
static int read_row(const struct tape *tape, const struct tape_usual *row,
		    struct baseline *baseline)
{
	uint64_t values[ROW_VALUES_MAX] = { 0 };
	struct stack_class all;

	if (row->count)
		memcpy(values, tape->usual_values.items + row->first,
		       MIN(row->count, (uint32_t)ROW_VALUES_MAX) * sizeof(*values));
	switch (row->kind) {
	case TAPE_USUAL_SPAN:
		kept_baseline_read_span(values, baseline);
		return 0;
	case TAPE_USUAL_ALL:
		all = class_of(values);
		stack_class_add(&baseline->tally->all, &all);
		return 0;
	case TAPE_USUAL_CPU:
		return read_cpu(values, baseline->tally);
	case TAPE_USUAL_THREADS:
	case TAPE_USUAL_FUNCTION:
		return kept_baseline_read_name(tape, row, values, baseline->tally);
	default:
		return 0;
	}
}

int kept_baseline_read(const struct tape *tape, struct baseline *ret_baseline)
{
	struct baseline baseline = { 0 };
	int r;

	if (!tape->usual.count)
		return 0;
	r = tally_new(&baseline.tally);
	for (size_t i = 0; r == 0 && i < tape->usual.count; i++)
		r = read_row(tape, &tape->usual.items[i], &baseline);
	if (r < 0) {
		baseline_done(&baseline);
		return r;
	}
	*ret_baseline = baseline;
	return 1;
}
