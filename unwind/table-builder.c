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
/* ClickHouse, the largest known program, has 0.7 million. */
#define FUNCTIONS_MAX (1u << 20)
#define RULE_UNKNOWN 0
/* The lazy entries of a PLT push their number after 11 bytes. */
#define PLT_PUSH 11

struct rule_bytes {
	uint8_t bytes[UNWIND_RULE_SIZE];
};

/*
 * A function by its offset in the file, its entry in the section, and its executable segment. A
 * large program has a million functions, so the rest is read again.
 */
struct placed_function {
	uint64_t offset;
	uint32_t at;
	uint32_t code;
};

/*
 * The rows in the order of the table's bytes. Each page begins with a row. The last row is apart,
 * because the next row may replace it.
 */
struct table_shape {
	uint64_t base;
	array_of(uint32_t) page_rows;
	struct buffer slices, offsets, row_rules;
	bool has_last;
	uint64_t last_offset;
	uint16_t last_rule;
	/* The rule of the last row in the buffers. */
	uint16_t rule;
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
	struct table_shape shape;
	uint16_t frameless_rule;
	/*
	 * The function that the builder adds now: its common entry, and its offset minus its
	 * address.
	 */
	const struct cfi_common *common;
	uint64_t bias;
	struct known_state known[KNOWN_STATES];
};

static void table_shape_done(struct table_shape *shape)
{
	array_done(&shape->page_rows);
	buffer_done(&shape->slices);
	buffer_done(&shape->offsets);
	buffer_done(&shape->row_rules);
}

static void table_builder_done(struct table_builder *builder)
{
	cfi_entries_done(&builder->entries);
	free(builder->initial);
	array_done(&builder->placed);
	array_done(&builder->rules);
	table_shape_done(&builder->shape);
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
		if (r < 0)
			return r;
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

	return r < 0 ? r : rule_number(builder, is_x86 ? &plt : &by_link, &builder->frameless_rule);
}

/* ---- rows ---- */

static size_t shape_rows(const struct table_shape *shape)
{
	return shape->offsets.size / 2;
}

static void shape_put(struct table_shape *shape, uint64_t offset, uint16_t rule)
{
	buffer_u16(&shape->offsets, (uint16_t)offset);
	buffer_u16(&shape->row_rules, rule);
	shape->rule = rule;
}

/* Stops at the first page behind the bound of a table, so that memory has this bound, too. */
static int shape_begin_page(struct table_shape *shape)
{
	if (shape->slices.size + 2 * shape->offsets.size > UNWIND_TABLE_MAX)
		return -EFBIG;
	return array_push(&shape->page_rows, (uint32_t)shape_rows(shape));
}

/* Adds the slices of the page whose rows were added last. */
static void shape_add_slices(struct table_shape *shape)
{
	uint32_t first = shape->page_rows.items[shape->page_rows.count - 1], row = 0;
	const uint8_t *offsets = shape->offsets.data + 2 * (size_t)first;
	uint32_t count = (uint32_t)shape_rows(shape) - first;

	for (uint32_t i = 0; !buffer_failed(&shape->offsets) && i < UNWIND_SLICES; i++) {
		uint32_t begin = i << UNWIND_SLICE_SHIFT;

		while (row + 1 < count &&
		       (offsets[2 * row + 2] | (uint32_t)offsets[2 * row + 3] << 8) <= begin)
			row++;
		buffer_u16(&shape->slices, (uint16_t)row);
	}
}

/* Goes on to the page of an offset. A page without a row at its begin repeats the rule there. */
static int shape_reach(struct table_shape *shape, uint64_t offset)
{
	uint64_t page = (offset - shape->base) >> UNWIND_PAGE_SHIFT;
	bool is_begin = offset % PAGE_SIZE_BYTES == 0;
	int r = 0;

	if (page >= UNWIND_PAGES_MAX)
		return -EFBIG;
	while (r == 0 && shape->page_rows.count <= page) {
		if (shape->page_rows.count)
			shape_add_slices(shape);
		r = shape_begin_page(shape);
		if (r < 0)
			return r;
		if (shape->page_rows.count <= page || !is_begin)
			shape_put(shape, 0, shape->rule);
	}
	return r;
}

/* Moves the last row to the buffers. */
static int shape_flush(struct table_shape *shape)
{
	int r;

	if (!shape->has_last)
		return 0;
	if (!shape->page_rows.count)
		shape->base = shape->last_offset & ~(uint64_t)(PAGE_SIZE_BYTES - 1);
	r = shape_reach(shape, shape->last_offset);
	if (r < 0)
		return r;
	shape_put(shape, shape->last_offset, shape->last_rule);
	shape->has_last = false;
	return 0;
}

/*
 * Adds a row. Rows come in the order of their offsets. A row with the last row's offset replaces
 * that row.
 */
static int builder_add_row(struct table_builder *builder, uint64_t offset, uint16_t rule)
{
	struct table_shape *shape = &builder->shape;
	int r;

	if (shape->has_last && shape->last_offset == offset) {
		shape->last_rule = rule;
		return 0;
	}
	if (rule == (shape->has_last ? shape->last_rule : RULE_UNKNOWN))
		return 0;
	r = shape_flush(shape);
	shape->has_last = true;
	shape->last_offset = offset;
	shape->last_rule = rule;
	return r;
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

static int builder_add_function(struct table_builder *builder, const struct cfi_function *function,
				uint64_t offset, uint64_t end)
{
	struct cfi_run run = {
		.entries = &builder->entries,
		.common = &builder->entries.commons.items[function->common],
		.machine = builder->source->machine,
		.initial = &builder->initial[function->common],
		.address = function->start,
		.end = function->start + (end - offset),
		.emit = emit_state,
		.context = builder,
	};

	builder->common = run.common;
	builder->bias = offset - function->start;
	return cfi_run_function(&run, function);
}

/* Returns where a function ends in the file: with its segment, even if its entry claims more. */
static uint64_t builder_end_of(const struct table_builder *builder,
			       const struct placed_function *placed,
			       const struct cfi_function *function)
{
	const struct unwind_segment *code = &builder->source->code[placed->code];

	return placed->offset + MIN(function->size, code->offset + code->size - placed->offset);
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
		struct cfi_function function = cfi_function_at(&builder->entries, placed->at);
		uint64_t end = builder_end_of(builder, placed, &function);

		if (i + 1 < builder->placed.count)
			end = MIN(end, placed[1].offset);
		if (end <= placed->offset)
			continue;
		r = builder_add_gap(builder, covered, placed->offset);
		if (r == 0)
			r = builder_add_function(builder, &function, placed->offset, end);
		covered = end;
	}
	return r < 0 ? r : builder_add_gap(builder, covered, UINT64_MAX);
}

/* ---- functions by their place in the file ---- */

static int builder_place_function(void *context, const struct cfi_function *function)
{
	struct table_builder *builder = context;

	for (size_t i = 0; i < builder->source->code_count; i++) {
		const struct unwind_segment *code = &builder->source->code[i];
		uint64_t at = function->start - code->address;

		if (function->start < code->address || at >= code->size ||
		    code->offset > INT64_MAX - code->size)
			continue;
		if (builder->placed.count == FUNCTIONS_MAX)
			return -EFBIG;
		return array_push(&builder->placed,
				  (struct placed_function){ code->offset + at, function->at, i });
	}
	return 0;
}

static int builder_sort_functions(struct table_builder *builder)
{
	_cleanup_free_ void *scratch = NULL;

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

static void write_head(const struct table_builder *builder, uint32_t pages, struct buffer *bytes)
{
	const struct table_shape *shape = &builder->shape;

	buffer_u32(bytes, UNWIND_TABLE_MAGIC);
	buffer_u32(bytes, builder->source->machine);
	buffer_u64(bytes, shape->base);
	buffer_u32(bytes, pages);
	buffer_u32(bytes, (uint32_t)shape_rows(shape));
	buffer_u32(bytes, (uint32_t)builder->rules.count);
	buffer_u32(bytes, 0);
}

/* Adds the last row and the last page. */
static int shape_end(struct table_shape *shape)
{
	int r = shape_flush(shape);

	if (r < 0)
		return r;
	if (!shape->page_rows.count)
		return -ENODATA;
	shape_add_slices(shape);
	r = shape_begin_page(shape);
	if (buffer_failed(&shape->slices) || buffer_failed(&shape->offsets) ||
	    buffer_failed(&shape->row_rules))
		return -ENOMEM;
	return r;
}

static int write_table(const struct table_builder *builder, struct buffer *bytes)
{
	const struct table_shape *shape = &builder->shape;
	size_t size = UNWIND_TABLE_HEAD + 4 * shape->page_rows.count + shape->slices.size +
		      2 * shape->offsets.size + UNWIND_RULE_SIZE * builder->rules.count;

	if (size > UNWIND_TABLE_MAX)
		return -EFBIG;
	write_head(builder, (uint32_t)shape->page_rows.count - 1, bytes);
	for (size_t i = 0; i < shape->page_rows.count; i++)
		buffer_u32(bytes, shape->page_rows.items[i]);
	buffer_bytes(bytes, shape->slices.data, shape->slices.size);
	buffer_bytes(bytes, shape->offsets.data, shape->offsets.size);
	buffer_bytes(bytes, shape->row_rules.data, shape->row_rules.size);
	buffer_bytes(bytes, builder->rules.items, UNWIND_RULE_SIZE * builder->rules.count);
	return buffer_failed(bytes) ? -ENOMEM : 0;
}

static int builder_run(struct table_builder *builder)
{
	const struct unwind_source *source = builder->source;
	int r = cfi_entries_read(source->frame, source->frame_size, source->frame_address,
				 source->frame_open_end, builder_place_function, builder,
				 &builder->entries);

	if (r < 0)
		return r;
	r = builder_sort_functions(builder);
	if (r < 0)
		return r;
	r = add_first_rules(builder);
	if (r < 0)
		return r;
	r = run_commons(builder);
	if (r < 0)
		return r;
	r = builder_add_functions(builder);
	return r < 0 ? r : shape_end(&builder->shape);
}

int unwind_table_build(const struct unwind_source *source, struct buffer *ret_bytes)
{
	_cleanup_(table_builder_done) struct table_builder builder = { .source = source };
	int r;

	if (source->frame_size > UNWIND_FRAME_MAX)
		return -EFBIG;
	r = builder_run(&builder);
	/* the table needs memory, too */
	array_done(&builder.placed);
	return r < 0 ? r : write_table(&builder, ret_bytes);
}
