/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Compares two tapes row by row and number by number. Ignores names of frames, tables for
 * interning, and the place of a gauge's points.
 */

#include "tape/tape.h"

/*
 * Compares the rows of `part` with the first rows of `whole`. Only for row types without padding.
 */
#define TAPE_ROWS_BEGIN(part, whole, table)                 \
	((part)->table.count <= (whole)->table.count &&     \
	 (!(part)->table.count ||                           \
	  memcmp((part)->table.items, (whole)->table.items, \
		 (part)->table.count * sizeof(*(part)->table.items)) == 0))

static inline bool tape_strings_begin(const struct tape *part, const struct tape *whole)
{
	for (uint32_t i = 0; i < strings_count(&part->strings); i++)
		if (strcmp(tape_string(part, i), tape_string(whole, i)) != 0)
			return false;
	return strings_count(&part->strings) <= strings_count(&whole->strings);
}

static inline bool tape_modules_begin(const struct tape *part, const struct tape *whole)
{
	if (part->modules.count > whole->modules.count)
		return false;
	for (size_t i = 0; i < part->modules.count; i++) {
		const struct tape_module *a = &part->modules.items[i];
		const struct tape_module *b = &whole->modules.items[i];

		if (a->path != b->path || a->kind != b->kind || a->device != b->device ||
		    a->inode != b->inode || a->build_id_size != b->build_id_size ||
		    memcmp(a->build_id, b->build_id, sizeof(a->build_id)) != 0)
			return false;
	}
	return true;
}

static inline bool tape_frames_begin(const struct tape *part, const struct tape *whole)
{
	if (part->frames.count > whole->frames.count)
		return false;
	for (size_t i = 0; i < part->frames.count; i++)
		if (part->frames.items[i].module != whole->frames.items[i].module ||
		    part->frames.items[i].address != whole->frames.items[i].address)
			return false;
	return true;
}

static inline bool tape_events_begin(const struct tape *part, const struct tape *whole)
{
	if (part->events.count > whole->events.count)
		return false;
	for (size_t i = 0; i < part->events.count; i++) {
		const struct tape_event *a = &part->events.items[i], *b = &whole->events.items[i];

		if (a->time_ns != b->time_ns || a->cpu != b->cpu || a->thread != b->thread ||
		    a->name != b->name || a->fields.first != b->fields.first ||
		    a->fields.count != b->fields.count)
			return false;
	}
	return true;
}

static inline bool tape_gauges_begin(const struct tape *part, const struct tape *whole)
{
	if (part->gauges.count > whole->gauges.count)
		return false;
	for (size_t i = 0; i < part->gauges.count; i++) {
		const struct tape_gauge *a = &part->gauges.items[i], *b = &whole->gauges.items[i];

		if (a->name != b->name || a->count > b->count ||
		    (a->count &&
		     memcmp(part->points.items + a->first, whole->points.items + b->first,
			    a->count * sizeof(*part->points.items)) != 0))
			return false;
	}
	return true;
}

/* Returns whether `part` is an earlier state of `whole`, when `whole` had fewer rows. */
static inline bool tape_is_beginning_of(const struct tape *part, const struct tape *whole)
{
	return part->sequence == whole->sequence && part->begin_ns == whole->begin_ns &&
	       tape_strings_begin(part, whole) && tape_modules_begin(part, whole) &&
	       tape_frames_begin(part, whole) && TAPE_ROWS_BEGIN(part, whole, stacks) &&
	       TAPE_ROWS_BEGIN(part, whole, threads) && TAPE_ROWS_BEGIN(part, whole, samples) &&
	       TAPE_ROWS_BEGIN(part, whole, facts) && TAPE_ROWS_BEGIN(part, whole, anchors) &&
	       TAPE_ROWS_BEGIN(part, whole, fields) && tape_events_begin(part, whole) &&
	       TAPE_ROWS_BEGIN(part, whole, lines) && TAPE_ROWS_BEGIN(part, whole, incidents) &&
	       TAPE_ROWS_BEGIN(part, whole, losses) && tape_gauges_begin(part, whole);
}

static inline bool tape_is_equal(const struct tape *a, const struct tape *b)
{
	return a->end_ns == b->end_ns && a->pids.count == b->pids.count &&
	       TAPE_ROWS_BEGIN(a, b, pids) && tape_is_beginning_of(a, b) &&
	       tape_is_beginning_of(b, a);
}
