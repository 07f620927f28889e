// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples are added up twice: by (tape, thread, stack), which costs no text, and then by their line, since each tape
 * has numbers of its own and different addresses of one function make the same line.
 */
#include "query/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"

struct group {
	uint32_t tape;
	uint32_t thread;
	uint32_t stack;
	uint32_t frame;
	uint64_t weight;
};

struct groups {
	array_of(struct group) list;
	struct table table;
};

struct folded {
	struct strings lines;
	array_of(uint64_t) weights; /* by the number of the line */
	struct buffer line;
	array_of(uint32_t) path; /* the frames of a stack, leaf first */
};

static void groups_done(struct groups *groups)
{
	array_done(&groups->list);
	table_done(&groups->table);
}

static void folded_done(struct folded *folded)
{
	strings_done(&folded->lines);
	array_done(&folded->weights);
	buffer_done(&folded->line);
	array_done(&folded->path);
}

static bool group_equal(const void *context, uint32_t value, const void *key)
{
	const struct group *there = &((const struct group *)context)[value], *wanted = key;

	return there->tape == wanted->tape && there->thread == wanted->thread &&
	       there->stack == wanted->stack && there->frame == wanted->frame;
}

static int group_add(struct groups *groups, const struct group *group)
{
	uint64_t hash = hash_u64(((uint64_t)group->thread << 32 | group->stack) ^
				 (uint64_t)group->tape << 56 ^ hash_u64(group->frame));
	uint32_t id = table_find(&groups->table, hash, group_equal, groups->list.items, group);

	if (id != TABLE_NONE) {
		groups->list.items[id].weight += group->weight;
		return 0;
	}
	if (array_push(&groups->list, *group) < 0)
		return -ENOMEM;
	return table_add(&groups->table, hash, groups->list.count - 1);
}

/* A line's own separators must not come out of a name. */
static void put_name(struct buffer *line, const char *name)
{
	size_t size = strlen(name);
	uint8_t *at = buffer_room(line, size);

	if (!at)
		return;
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = name[i];

		at[i] = byte == ';' ? ':' : byte < 0x20 || byte == 0x7f ? '?' : byte;
	}
	line->size += size;
}

static void put_comm(struct buffer *line, const struct tape *tape, uint32_t id)
{
	const struct tape_thread *thread = &tape->threads.items[id];

	if (thread->comm)
		put_name(line, tape_string(tape, thread->comm));
	else
		buffer_printf(line, ":%d", thread->tid);
}

static int put_line(struct folded *folded, const struct tape *tape, const struct group *group)
{
	folded->line.size = 0;
	folded->path.count = 0;
	put_comm(&folded->line, tape, group->thread);
	if (array_push(&folded->path, group->frame) < 0)
		return -ENOMEM;
	for (uint32_t id = group->stack; id; id = tape->stacks.items[id].parent)
		if (array_push(&folded->path, tape->stacks.items[id].frame) < 0)
			return -ENOMEM;
	for (size_t i = folded->path.count; i-- > 0;) {
		const struct tape_frame *frame = &tape->frames.items[folded->path.items[i]];

		buffer_u8(&folded->line, ';');
		put_name(&folded->line,
			frame->symbol ? tape_string(tape, frame->symbol) : "[unknown]");
	}
	return buffer_failed(&folded->line) ? -ENOMEM : 0;
}

static int add_group(struct folded *folded, const struct tape *tape, const struct group *group)
{
	uint32_t id;
	int r = put_line(folded, tape, group);

	if (r == 0)
		r = strings_add(
			&folded->lines, (const char *)folded->line.data, folded->line.size, &id);
	/* over 4 GB of different lines: the same answer to the person as no memory */
	if (r < 0)
		return -ENOMEM;
	if (array_reserve(&folded->weights, id + 1) < 0)
		return -ENOMEM;
	while (folded->weights.count <= id)
		folded->weights.items[folded->weights.count++] = 0;
	folded->weights.items[id] += group->weight;
	return 0;
}

static int group_rows(
	struct groups *groups, const struct selection *selection, enum folded_weight weight)
{
	for (size_t i = 0; i < selection->rows.count; i++) {
		const struct selection_row *row = &selection->rows.items[i];
		const struct tape_sample *sample =
			&selection->tapes.items[row->tape]->samples.items[row->sample];
		struct group group = {
			.tape = row->tape,
			.thread = sample->thread,
			.stack = sample->stack,
			.frame = sample->frame,
			.weight = weight == FOLDED_PERIOD ? sample->period : 1,
		};
		int r = group_add(groups, &group);

		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_lines(const void *a, const void *b, void *lines)
{
	return strcmp(
		strings_at(lines, *(const uint32_t *)a), strings_at(lines, *(const uint32_t *)b));
}

static int put_sorted(struct folded *folded, struct output *output)
{
	uint32_t count = strings_count(&folded->lines) - 1;
	_cleanup_free_ uint32_t *order = malloc((count ? count : 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i + 1;
	qsort_r(order, count, sizeof(*order), compare_lines, &folded->lines);
	for (uint32_t i = 0; i < count; i++) {
		buffer_text(&output->text, strings_at(&folded->lines, order[i]));
		buffer_printf(&output->text, " %" PRIu64 "\n", folded->weights.items[order[i]]);
		output_flush(output);
	}
	return buffer_failed(&output->text) ? -ENOMEM : 0;
}

int folded_write(
	const struct selection *selection, enum folded_weight weight, struct output *output)
{
	_cleanup_(groups_done) struct groups groups = { 0 };
	_cleanup_(folded_done) struct folded folded = { 0 };
	int r = group_rows(&groups, selection, weight);

	for (size_t i = 0; r == 0 && i < groups.list.count; i++) {
		const struct group *group = &groups.list.items[i];

		r = add_group(&folded, selection->tapes.items[group->tape], group);
	}
	return r < 0 ? r : put_sorted(&folded, output);
}
