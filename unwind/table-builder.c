// SPDX-License-Identifier: GPL-2.0-only
#include "unwind/table-builder.h"

#include <errno.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sort.h"
#include "base/table.h"
#include "unwind/cfi-program.h"
#include "unwind/unwind-table.h"

#define PAGE_SIZE_BYTES (1u << UNWIND_PAGE_SHIFT)
#define ROWS_MAX (UNWIND_TABLE_MAX / 4)
#define RULE_UNKNOWN 0
/* The lazy entries of a PLT push their number after 11 bytes. */
#define PLT_PUSH 11

struct rule_bytes {
	uint8_t bytes[UNWIND_RULE_SIZE];
};

struct table_row {
	uint64_t offset;
	uint16_t rule;
};

/* A function, and its range of offsets in the file. */
struct placed_function {
	uint64_t offset;
	uint64_t end;
	uint32_t function;
};

/* Functions go through the same few states, so the builder remembers the rules of these states. */
#define KNOWN_STATES 256

struct known_state {
	/* NULL: the slot is empty. */
	const struct cfi_common *common;
	struct cfi_state state;
	uint16_t rule;
};

struct table_builder {
	const struct unwind_source *source;
	struct cfi_entries entries;
	/* For each common entry, the state in which its functions begin. */
	struct cfi_state *initial;
	array_of(struct placed_function) placed;
	array_of(struct rule_bytes) rules;
	struct table rule_table;
	array_of(struct table_row) rows;
	uint16_t frameless_rule;
	/*
	 * The function that the builder adds now: its common entry, and its offset minus its
	 * address.
	 */
	const struct cfi_common *common;
	uint64_t bias;
	struct known_state known[KNOWN_STATES];
};

static void table_builder_done(struct table_builder *builder)
{
	cfi_entries_done(&builder->entries);
	free(builder->initial);
	array_done(&builder->placed);
	array_done(&builder->rules);
	array_done(&builder->rows);
	table_done(&builder->rule_table);
}

/* ---- rules ---- */

static bool rule_equal(const void *context, uint32_t value, const void *key)
{
	const struct table_builder *builder = context;

	return memcmp(&builder->rules.items[value], key, UNWIND_RULE_SIZE) == 0;
}

/* The hash has a secret key, so a hostile file cannot choose rules that collide. */
static uint64_t rule_hash(const struct rule_bytes *rule)
{
	uint64_t words[3] = { 0 };

	memcpy(words, rule->bytes, sizeof(rule->bytes));
	return hash_numbers(hash_numbers(words[0], words[1]), words[2]);
}

/* Finds or adds a rule. Beyond UNWIND_RULES_MAX rules, gives RULE_UNKNOWN. */
static int rule_number(struct table_builder *builder, const struct unwind_rule *rule,
		       uint16_t *ret_number)
{
	struct rule_bytes key;
	uint64_t hash;
	uint32_t found;
	int r;

	unwind_rule_encode(rule, key.bytes);
	hash = rule_hash(&key);
	found = table_find(&builder->rule_table, hash, rule_equal, builder, key.bytes);
	if (found == TABLE_NONE && builder->rules.count == UNWIND_RULES_MAX)
		found = RULE_UNKNOWN;
	if (found == TABLE_NONE) {
		found = builder->rules.count;
		r = array_push(&builder->rules, key);
		if (r == 0)
			r = table_add(&builder->rule_table, hash, found);
		if (r < 0)
			return r;
	}
	*ret_number = (uint16_t)found;
	return 0;
}

static int add_first_rules(struct table_builder *builder)
{
	bool is_x86 = builder->source->machine == UNWIND_X86_64;
	const struct unwind_rule unknown = { .kind = UNWIND_RULE_UNKNOWN };
	const struct unwind_rule plt = {
		.kind = UNWIND_RULE_PLT,
		.offset = PLT_PUSH,
		.return_place = UNWIND_PLACE_CFA,
		.return_offset = -8,
	};
	const struct unwind_rule by_link = { .kind = UNWIND_RULE_REGISTER, .number = ARM64_SP };
	uint16_t number;
	int r = rule_number(builder, &unknown, &number);

	if (r == 0)
		r = rule_number(builder, is_x86 ? &plt : &by_link, &builder->frameless_rule);
	return r;
}

/* ---- rows ---- */

/*
 * Adds a row. Rows come in the order of their offsets. A row with the last row's offset replaces
 * that row.
 */
static int builder_add_row(struct table_builder *builder, uint64_t offset, uint16_t rule)
{
	struct table_row *last =
		builder->rows.count ? &builder->rows.items[builder->rows.count - 1] : NULL;

	if (last && last->offset == offset) {
		last->rule = rule;
		return 0;
	}
	if (last ? last->rule == rule : rule == RULE_UNKNOWN)
		return 0;
	if (builder->rows.count == ROWS_MAX)
		return -EFBIG;
	return array_push(&builder->rows, (struct table_row){ offset, rule });
}

static bool cfi_state_equal(const struct cfi_state *a, const struct cfi_state *b)
{
	if (a->kind != b->kind || a->number != b->number || a->offset != b->offset ||
	    a->offset2 != b->offset2)
		return false;
	for (size_t i = 0; i < CFI_TRACKED; i++)
		if (a->places[i].kind != b->places[i].kind ||
		    a->places[i].offset != b->places[i].offset)
			return false;
	return true;
}

static struct known_state *place_of_state(struct table_builder *builder,
					  const struct cfi_state *state)
{
	uint64_t key = (uint64_t)state->offset / 8 + 37 * state->number +
		       71 * state->places[CFI_FRAME].kind + 113 * state->places[CFI_BASE].kind +
		       (uint64_t)state->places[CFI_BASE].offset;

	return &builder->known[key % KNOWN_STATES];
}

static int emit_state(void *context, uint64_t address, const struct cfi_state *state)
{
	struct table_builder *builder = context;
	struct known_state *known = place_of_state(builder, state);
	struct unwind_rule rule;
	uint16_t number;
	int r;

	if (known->common != builder->common || !cfi_state_equal(state, &known->state)) {
		cfi_state_rule(state, builder->common, builder->source->machine, &rule);
		r = rule_number(builder, &rule, &number);
		if (r < 0)
			return r;
		*known = (struct known_state){ builder->common, *state, number };
	}
	return builder_add_row(builder, address + builder->bias, known->rule);
}

/* Adds the rows of the range between two functions. */
static int builder_add_gap(struct table_builder *builder, uint64_t from, uint64_t to)
{
	const struct unwind_source *source = builder->source;
	int r = from < to ? builder_add_row(builder, from, RULE_UNKNOWN) : 0;

	for (size_t i = 0; r == 0 && i < source->frameless_count; i++) {
		const struct unwind_segment *range = &source->frameless[i];
		uint64_t begin = MAX(from, range->offset);
		uint64_t end = MIN(to, range->offset + range->size);

		if (begin >= end)
			continue;
		r = builder_add_row(builder, begin, builder->frameless_rule);
		if (r == 0 && end < to)
			r = builder_add_row(builder, end, RULE_UNKNOWN);
		from = end;
	}
	return r;
}

static int builder_add_function(struct table_builder *builder, const struct placed_function *placed,
				uint64_t end)
{
	const struct cfi_function *function = &builder->entries.functions.items[placed->function];
	struct cfi_run run = {
		.entries = &builder->entries,
		.common = &builder->entries.commons.items[function->common],
		.machine = builder->source->machine,
		.initial = &builder->initial[function->common],
		.address = function->start,
		.end = function->start + (end - placed->offset),
		.emit = emit_state,
		.context = builder,
	};

	builder->common = run.common;
	builder->bias = placed->offset - function->start;
	return cfi_run_function(&run, function);
}

/*
 * Adds all functions. A function ends where the next function begins, even if its entry claims
 * more.
 */
static int builder_add_functions(struct table_builder *builder)
{
	uint64_t covered = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < builder->placed.count; i++) {
		const struct placed_function *placed = &builder->placed.items[i];
		uint64_t end = placed->end;

		if (i + 1 < builder->placed.count)
			end = MIN(end, placed[1].offset);
		if (end <= placed->offset)
			continue;
		r = builder_add_gap(builder, covered, placed->offset);
		if (r == 0)
			r = builder_add_function(builder, placed, end);
		covered = end;
	}
	return r < 0 ? r : builder_add_gap(builder, covered, UINT64_MAX);
}

/* ---- functions by their place in the file ---- */

static int builder_place_function(struct table_builder *builder, uint32_t number)
{
	const struct cfi_function *function = &builder->entries.functions.items[number];

	for (size_t i = 0; i < builder->source->code_count; i++) {
		const struct unwind_segment *code = &builder->source->code[i];
		uint64_t at = function->start - code->address;

		if (function->start < code->address || at >= code->size ||
		    code->offset > INT64_MAX - code->size)
			continue;
		return array_push(
			&builder->placed,
			(struct placed_function){
				.offset = code->offset + at,
				.end = code->offset + at + MIN(function->size, code->size - at),
				.function = number,
			});
	}
	return 0;
}

static int builder_place_functions(struct table_builder *builder)
{
	_cleanup_free_ void *scratch = NULL;
	int r = array_reserve(&builder->placed, builder->entries.functions.count);

	for (uint32_t i = 0; r == 0 && i < builder->entries.functions.count; i++)
		r = builder_place_function(builder, i);
	if (r < 0)
		return r;
	if (!builder->placed.count)
		return -ENODATA;
	if (sort_array_is_sorted(&builder->placed, offset))
		return 0;
	scratch = malloc(builder->placed.count * sizeof(*builder->placed.items));
	if (!scratch)
		return -ENOMEM;
	sort_array(&builder->placed, scratch, offset);
	return 0;
}

static int run_commons(struct table_builder *builder)
{
	size_t count = builder->entries.commons.count;

	builder->initial = calloc(count + 1, sizeof(*builder->initial));
	if (!builder->initial)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		builder->initial[i] =
			cfi_run_common(&builder->entries, &builder->entries.commons.items[i],
				       builder->source->machine);
	return 0;
}

/* ---- bytes ---- */

/* The rows in the order of the table's bytes. Each page begins with a row. */
struct table_shape {
	uint64_t base;
	uint32_t pages;
	array_of(uint32_t) page_rows;
	struct buffer slices, offsets, row_rules;
};

static void table_shape_done(struct table_shape *shape)
{
	array_done(&shape->page_rows);
	buffer_done(&shape->slices);
	buffer_done(&shape->offsets);
	buffer_done(&shape->row_rules);
}

static void shape_add(struct table_shape *shape, uint64_t offset, uint16_t rule)
{
	buffer_u16(&shape->offsets, (uint16_t)offset);
	buffer_u16(&shape->row_rules, rule);
}

static int shape_begin_page(struct table_shape *shape)
{
	return array_push(&shape->page_rows, (uint32_t)(shape->offsets.size / 2));
}

/* Adds the slices of the page whose rows were added last. */
static void shape_add_slices(struct table_shape *shape)
{
	uint32_t first = shape->page_rows.items[shape->page_rows.count - 1], row = 0;
	const uint8_t *offsets = shape->offsets.data + 2 * (size_t)first;
	uint32_t count = (uint32_t)(shape->offsets.size / 2) - first;

	for (uint32_t i = 0; !buffer_failed(&shape->offsets) && i < UNWIND_SLICES; i++) {
		uint32_t begin = i << UNWIND_SLICE_SHIFT;

		while (row + 1 < count &&
		       (offsets[2 * row + 2] | (uint32_t)offsets[2 * row + 3] << 8) <= begin)
			row++;
		buffer_u16(&shape->slices, (uint16_t)row);
	}
}

/* The first row of the next page, and the rule that holds where this page begins. */
struct shape_place {
	size_t row;
	uint16_t rule;
};

static int shape_add_page(const struct table_builder *builder, struct table_shape *shape,
			  uint64_t begin, struct shape_place *place)
{
	const struct table_row *rows = builder->rows.items;
	int r = shape_begin_page(shape);

	if (r < 0)
		return r;
	if (place->row == builder->rows.count || rows[place->row].offset != begin)
		shape_add(shape, 0, place->rule);
	for (;
	     place->row < builder->rows.count && rows[place->row].offset - begin < PAGE_SIZE_BYTES;
	     place->row++) {
		place->rule = rows[place->row].rule;
		shape_add(shape, rows[place->row].offset - begin, place->rule);
	}
	shape_add_slices(shape);
	return 0;
}

static int shape_rows(const struct table_builder *builder, struct table_shape *shape)
{
	struct shape_place place = { 0, RULE_UNKNOWN };
	int r = 0;

	for (uint32_t page = 0; r == 0 && page < shape->pages; page++)
		r = shape_add_page(builder, shape, shape->base + (uint64_t)page * PAGE_SIZE_BYTES,
				   &place);
	return r < 0 ? r : shape_begin_page(shape);
}

static void write_head(const struct table_builder *builder, const struct table_shape *shape,
		       struct buffer *bytes)
{
	buffer_u32(bytes, UNWIND_TABLE_MAGIC);
	buffer_u32(bytes, builder->source->machine);
	buffer_u64(bytes, shape->base);
	buffer_u32(bytes, shape->pages);
	buffer_u32(bytes, (uint32_t)(shape->offsets.size / 2));
	buffer_u32(bytes, (uint32_t)builder->rules.count);
	buffer_u32(bytes, 0);
}

static int write_table(struct table_builder *builder, struct buffer *bytes)
{
	const struct table_row *rows = builder->rows.items;
	_cleanup_(table_shape_done) struct table_shape shape = { 0 };
	uint64_t pages;
	size_t size;
	int r;

	if (!builder->rows.count)
		return -ENODATA;
	shape.base = rows[0].offset & ~(uint64_t)(PAGE_SIZE_BYTES - 1);
	pages = ((rows[builder->rows.count - 1].offset - shape.base) >> UNWIND_PAGE_SHIFT) + 1;
	if (pages > UNWIND_PAGES_MAX)
		return -EFBIG;
	shape.pages = (uint32_t)pages;
	r = shape_rows(builder, &shape);
	if (r < 0)
		return r;
	if (buffer_failed(&shape.slices) || buffer_failed(&shape.offsets) ||
	    buffer_failed(&shape.row_rules))
		return -ENOMEM;
	size = UNWIND_TABLE_HEAD + 4 * shape.page_rows.count + shape.slices.size +
	       2 * shape.offsets.size + UNWIND_RULE_SIZE * builder->rules.count;
	if (size > UNWIND_TABLE_MAX)
		return -EFBIG;
	write_head(builder, &shape, bytes);
	for (size_t i = 0; i < shape.page_rows.count; i++)
		buffer_u32(bytes, shape.page_rows.items[i]);
	buffer_bytes(bytes, shape.slices.data, shape.slices.size);
	buffer_bytes(bytes, shape.offsets.data, shape.offsets.size);
	buffer_bytes(bytes, shape.row_rules.data, shape.row_rules.size);
	buffer_bytes(bytes, builder->rules.items, UNWIND_RULE_SIZE * builder->rules.count);
	return buffer_failed(bytes) ? -ENOMEM : 0;
}

int unwind_table_build(const struct unwind_source *source, struct buffer *ret_bytes)
{
	_cleanup_(table_builder_done) struct table_builder builder = { .source = source };
	int r;

	if (source->frame_size > UNWIND_FRAME_MAX)
		return -EFBIG;
	r = cfi_entries_read(source->frame, source->frame_size, source->frame_address,
			     source->frame_open_end, &builder.entries);
	if (r == 0)
		r = add_first_rules(&builder);
	if (r == 0)
		r = run_commons(&builder);
	if (r == 0)
		r = builder_place_functions(&builder);
	if (r == 0)
		r = builder_add_functions(&builder);
	return r < 0 ? r : write_table(&builder, ret_bytes);
}
