/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Checks the invariants of tape/tape.h in a decoded tape. */

#include "tape/tape.h"

/* Checks (1). */
static inline bool tape_first_rows_are_sound(const struct tape *tape)
{
	static const struct tape_module unknown;
	const struct tape_module *module = tape->modules.items;
	const struct tape_frame *frame = tape->frames.items;
	const struct tape_stack *stack = tape->stacks.items;

	return tape->modules.count && tape->frames.count && tape->stacks.count &&
	       !*tape_string(tape, 0) && !stack->parent && !stack->frame && !module->path &&
	       !module->kind && !module->build_id_size && !module->device && !module->inode &&
	       !memcmp(module->build_id, unknown.build_id, sizeof(unknown.build_id)) &&
	       !frame->module && !frame->address && !frame->symbol && !frame->offset;
}

static inline bool tape_facts_are_sound(const struct tape *tape, const struct tape_fact *facts,
					size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (facts[i].key >= strings_count(&tape->strings) ||
		    facts[i].value >= strings_count(&tape->strings))
			return false;
	return true;
}

/* Checks (2) and (3). */
static inline bool tape_tables_are_sound(const struct tape *tape)
{
	uint32_t strings = strings_count(&tape->strings);

	for (uint32_t i = 1; i < strings; i++)
		if (!*tape_string(tape, i))
			return false;
	for (size_t i = 0; i < tape->modules.count; i++)
		if (tape->modules.items[i].path >= strings ||
		    tape->modules.items[i].kind >= TAPE_MODULE_KINDS ||
		    tape->modules.items[i].build_id_size > TAPE_BUILD_ID_MAX)
			return false;
	for (size_t i = 0; i < tape->frames.count; i++)
		if (tape->frames.items[i].module >= tape->modules.count ||
		    tape->frames.items[i].symbol >= strings)
			return false;
	for (size_t i = 1; i < tape->stacks.count; i++)
		if (tape->stacks.items[i].parent >= i ||
		    tape->stacks.items[i].frame >= tape->frames.count)
			return false;
	for (size_t i = 0; i < tape->threads.count; i++)
		if (tape->threads.items[i].comm >= strings ||
		    tape->threads.items[i].cgroup >= strings)
			return false;
	return tape->pids.count <= tape->modules.count &&
	       tape_facts_are_sound(tape, tape->facts.items, tape->facts.count) &&
	       tape_facts_are_sound(tape, tape->fields.items, tape->fields.count);
}

static inline bool tape_run_is_sound(const struct tape *tape, const struct tape_fields *run)
{
	return run->first <= tape->fields.count && run->count <= tape->fields.count - run->first;
}

static inline bool tape_gauges_are_sound(const struct tape *tape)
{
	for (size_t i = 0; i < tape->gauges.count; i++) {
		const struct tape_gauge *gauge = &tape->gauges.items[i];

		if (gauge->name >= strings_count(&tape->strings) ||
		    gauge->first > tape->points.count ||
		    gauge->count > tape->points.count - gauge->first)
			return false;
		for (uint32_t at = 1; at < gauge->count; at++)
			if (tape->points.items[gauge->first + at].time_ns <
			    tape->points.items[gauge->first + at - 1].time_ns)
				return false;
	}
	return true;
}

static inline bool tape_usual_is_sound(const struct tape *tape)
{
	for (size_t i = 0; i < tape->usual.count; i++) {
		const struct tape_usual *row = &tape->usual.items[i];

		if (row->name >= strings_count(&tape->strings) ||
		    row->first > tape->usual_values.count ||
		    row->count > tape->usual_values.count - row->first)
			return false;
	}
	return true;
}

static inline bool tape_context_is_sound(const struct tape *tape)
{
	uint32_t strings = strings_count(&tape->strings);

	for (size_t i = 1; i < tape->anchors.count; i++)
		if (tape->anchors.items[i].perf_ns <= tape->anchors.items[i - 1].perf_ns)
			return false;
	for (size_t i = 0; i < tape->events.count; i++) {
		const struct tape_event *event = &tape->events.items[i];

		if (event->thread >= tape->threads.count || event->name >= strings ||
		    (i && event->time_ns < event[-1].time_ns) ||
		    !tape_run_is_sound(tape, &event->fields))
			return false;
	}
	for (size_t i = 0; i < tape->lines.count; i++)
		if (tape->lines.items[i].text >= strings)
			return false;
	for (size_t i = 0; i < tape->incidents.count; i++)
		if (tape->incidents.items[i].text >= strings ||
		    tape->incidents.items[i].source >= strings ||
		    !tape_run_is_sound(tape, &tape->incidents.items[i].fields))
			return false;
	return tape_gauges_are_sound(tape) && tape_usual_is_sound(tape);
}

/* Checks (4), (5), and the references of samples in (3). */
static inline bool tape_samples_are_sound(const struct tape *tape)
{
	if (tape->begin_ns > tape->end_ns || tape->begin_ns % TAPE_TIME_UNIT_NS ||
	    tape->end_ns % TAPE_TIME_UNIT_NS)
		return false;
	for (size_t i = 0; i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];

		if (sample->thread >= tape->threads.count || sample->stack >= tape->stacks.count ||
		    sample->frame >= tape->frames.count || sample->time_ns % TAPE_TIME_UNIT_NS ||
		    sample->time_ns < tape->begin_ns || sample->time_ns >= tape->end_ns ||
		    (i && sample->time_ns < sample[-1].time_ns))
			return false;
	}
	return true;
}

static inline bool tape_is_sound(const struct tape *tape)
{
	return tape_first_rows_are_sound(tape) && tape_tables_are_sound(tape) &&
	       tape_context_is_sound(tape) && tape_samples_are_sound(tape);
}
