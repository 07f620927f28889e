// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/stack-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "fleet/row-binary.h"

/* Fixed, because all hosts must agree. */
static const uint64_t stack_names_key[2] = { 0x7065726674617065ull, 0x666c656574000001ull };

static uint64_t stack_names_mix(uint64_t a, uint64_t b)
{
	const uint64_t both[2] = { htole64(a), htole64(b) };

	return hash_sip13(stack_names_key, both, sizeof(both));
}

static uint64_t stack_names_text(const char *text)
{
	return hash_sip13(stack_names_key, text, strlen(text));
}

static const char *stack_names_function(const struct tape *tape, uint32_t frame,
					char label[TAPE_LABEL_SIZE])
{
	const struct tape_frame *row = &tape->frames.items[frame];

	return row->symbol ? tape_string(tape, row->symbol)
			   : tape_module_label(tape, row->module, label);
}

static const char *stack_names_module(const struct tape *tape, uint32_t frame)
{
	return tape_string(tape, tape->modules.items[tape->frames.items[frame].module].path);
}

static uint64_t stack_names_of_frame(const struct stack_names *names, uint32_t frame)
{
	const struct tape *tape = names->tape;
	const struct tape_frame *row = &tape->frames.items[frame];
	char label[TAPE_LABEL_SIZE];
	uint64_t hash = stack_names_text(stack_names_function(tape, frame, label));

	hash = stack_names_mix(hash, stack_names_text(stack_names_module(tape, frame)));
	hash = stack_names_mix(hash, tape->modules.items[row->module].kind);
	if (names->of == STACK_NAMES_FUNCTIONS)
		return hash;
	return stack_names_mix(stack_names_mix(hash, row->address), row->offset);
}

int stack_names_init(struct stack_names *names, const struct tape *tape, enum stack_names_of of)
{
	*names = (struct stack_names){ .tape = tape, .of = of };
	names->frames = calloc(MAX(tape->frames.count, (size_t)1), sizeof(*names->frames));
	names->stacks = calloc(MAX(tape->stacks.count, (size_t)1), sizeof(*names->stacks));
	if (!names->frames || !names->stacks) {
		stack_names_done(names);
		return -ENOMEM;
	}
	for (size_t i = 0; i < tape->frames.count; i++)
		names->frames[i] = stack_names_of_frame(names, i);
	/* a parent has a smaller number; stack 0 is empty */
	for (size_t i = 1; i < tape->stacks.count; i++)
		names->stacks[i] = stack_names_mix(names->stacks[tape->stacks.items[i].parent],
						   names->frames[tape->stacks.items[i].frame]);
	return 0;
}

void stack_names_done(struct stack_names *names)
{
	free(names->frames);
	free(names->stacks);
	*names = (struct stack_names){ 0 };
}

uint64_t stack_names_hash(const struct stack_names *names, uint32_t stack, uint32_t frame)
{
	/* 0 is the sum of all other stacks */
	return stack_names_mix(names->stacks[stack], names->frames[frame]) | 1;
}

/* Calls put() for the leaf and each of its callers. */
static void stack_names_each(const struct stack_names *names, uint32_t stack, uint32_t frame,
			     void (*put)(const struct tape *tape, uint32_t frame,
					 struct buffer *row),
			     struct buffer *row)
{
	const struct tape *tape = names->tape;
	uint64_t depth = 1;

	for (uint32_t at = stack; at; at = tape->stacks.items[at].parent)
		depth++;
	buffer_varint(row, depth);
	put(tape, frame, row);
	for (uint32_t at = stack; at; at = tape->stacks.items[at].parent)
		put(tape, tape->stacks.items[at].frame, row);
}

static void stack_names_put_function(const struct tape *tape, uint32_t frame, struct buffer *row)
{
	char label[TAPE_LABEL_SIZE];

	row_put_text(row, stack_names_function(tape, frame, label));
}

static void stack_names_put_module(const struct tape *tape, uint32_t frame, struct buffer *row)
{
	row_put_text(row, stack_names_module(tape, frame));
}

static void stack_names_put_kind(const struct tape *tape, uint32_t frame, struct buffer *row)
{
	buffer_u8(row, tape->modules.items[tape->frames.items[frame].module].kind);
}

static void stack_names_put_address(const struct tape *tape, uint32_t frame, struct buffer *row)
{
	buffer_u64(row, tape->frames.items[frame].address);
}

static void stack_names_put_offset(const struct tape *tape, uint32_t frame, struct buffer *row)
{
	buffer_u64(row, tape->frames.items[frame].offset);
}

void stack_names_put(const struct stack_names *names, uint32_t stack, uint32_t frame, uint32_t day,
		     struct batch_rows *rows)
{
	struct buffer *row = batch_rows_add(rows, FLEET_STACKS);

	buffer_u64(row, stack_names_hash(names, stack, frame));
	buffer_u32(row, day);
	stack_names_each(names, stack, frame, stack_names_put_function, row);
	stack_names_each(names, stack, frame, stack_names_put_module, row);
	stack_names_each(names, stack, frame, stack_names_put_kind, row);
	if (names->of == STACK_NAMES_FUNCTIONS) {
		buffer_varint(row, 0);
		buffer_varint(row, 0);
		return;
	}
	stack_names_each(names, stack, frame, stack_names_put_address, row);
	stack_names_each(names, stack, frame, stack_names_put_offset, row);
}

/* 512 KB for the stacks of a day: a stack that is sent twice costs bytes, but is the same row. */
#define SENT_SLOTS 65536
#define SENT_MAX (SENT_SLOTS / 4 * 3)

void sent_stacks_done(struct sent_stacks *sent)
{
	free(sent->slots);
	*sent = (struct sent_stacks){ 0 };
}

bool sent_stacks_add(struct sent_stacks *sent, uint64_t stack, uint32_t day)
{
	size_t at = (stack >> 16) % SENT_SLOTS;

	if (!sent->slots)
		sent->slots = calloc(SENT_SLOTS, sizeof(*sent->slots));
	if (!sent->slots)
		return true;
	if (sent->day != day || sent->count == SENT_MAX) {
		memset(sent->slots, 0, SENT_SLOTS * sizeof(*sent->slots));
		sent->count = 0;
		sent->day = day;
	}
	for (; sent->slots[at]; at = (at + 1) % SENT_SLOTS)
		if (sent->slots[at] == stack)
			return false;
	sent->slots[at] = stack;
	sent->count++;
	return true;
}
