// SPDX-License-Identifier: GPL-2.0-only
#include "unwind/unwind-table.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/cleanup.h"

static uint16_t little_u16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static uint32_t little_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static void put_little_u16(uint8_t *at, uint16_t value)
{
	value = htole16(value);
	memcpy(at, &value, sizeof(value));
}

static void put_little_u32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

/* ---- rules ---- */

/* Offsets in a rule. Byte 5 is 0. */
enum {
	AT_KIND = 0,
	AT_NUMBER = 1,
	AT_PLACES = 2,
	AT_OFFSET = 6,
	AT_OFFSET2 = 10,
	AT_PLACE_OFFSETS = 14,
};

void unwind_rule_encode(const struct unwind_rule *rule, uint8_t ret_bytes[UNWIND_RULE_SIZE])
{
	ret_bytes[AT_KIND] = rule->kind;
	ret_bytes[AT_NUMBER] = rule->number;
	ret_bytes[AT_PLACES] = rule->return_place;
	ret_bytes[AT_PLACES + 1] = rule->frame_place;
	ret_bytes[AT_PLACES + 2] = rule->base_place;
	ret_bytes[AT_PLACES + 3] = 0;
	put_little_u32(ret_bytes + AT_OFFSET, (uint32_t)rule->offset);
	put_little_u32(ret_bytes + AT_OFFSET2, (uint32_t)rule->offset2);
	put_little_u16(ret_bytes + AT_PLACE_OFFSETS, (uint16_t)rule->return_offset);
	put_little_u16(ret_bytes + AT_PLACE_OFFSETS + 2, (uint16_t)rule->frame_offset);
	put_little_u16(ret_bytes + AT_PLACE_OFFSETS + 4, (uint16_t)rule->base_offset);
}

static void rule_read(const uint8_t *bytes, struct unwind_rule *ret_rule)
{
	*ret_rule = (struct unwind_rule){
		.kind = bytes[AT_KIND],
		.number = bytes[AT_NUMBER],
		.return_place = bytes[AT_PLACES],
		.frame_place = bytes[AT_PLACES + 1],
		.base_place = bytes[AT_PLACES + 2],
		.offset = (int32_t)little_u32(bytes + AT_OFFSET),
		.offset2 = (int32_t)little_u32(bytes + AT_OFFSET2),
		.return_offset = (int16_t)little_u16(bytes + AT_PLACE_OFFSETS),
		.frame_offset = (int16_t)little_u16(bytes + AT_PLACE_OFFSETS + 2),
		.base_offset = (int16_t)little_u16(bytes + AT_PLACE_OFFSETS + 4),
	};
}

static bool is_place(uint8_t place, int16_t offset)
{
	return place < UNWIND_PLACES &&
	       (place != UNWIND_PLACE_REGISTER || (offset >= 0 && offset < USER_REGISTERS));
}

int unwind_rule_decode(const uint8_t bytes[UNWIND_RULE_SIZE], struct unwind_rule *ret_rule)
{
	struct unwind_rule rule;

	rule_read(bytes, &rule);
	if (rule.kind >= UNWIND_RULE_KINDS || rule.number >= USER_REGISTERS ||
	    !is_place(rule.return_place, rule.return_offset) ||
	    !is_place(rule.frame_place, rule.frame_offset) ||
	    !is_place(rule.base_place, rule.base_offset))
		return -EBADMSG;
	*ret_rule = rule;
	return 0;
}

/* ---- tables ---- */

static int read_head(struct reader *reader, struct unwind_table *table)
{
	uint32_t magic = reader_u32(reader), machine = reader_u32(reader);

	table->machine = machine;
	table->base = reader_u64(reader);
	table->pages = reader_u32(reader);
	table->rows = reader_u32(reader);
	table->rules = reader_u32(reader);
	if (reader_u32(reader) != 0 || magic != UNWIND_TABLE_MAGIC ||
	    (machine != UNWIND_X86_64 && machine != UNWIND_ARM64))
		return -EBADMSG;
	if (!table->pages || table->pages > UNWIND_PAGES_MAX || table->rows < table->pages ||
	    !table->rules || table->rules > UNWIND_RULES_MAX || table->rows > UNWIND_TABLE_MAX ||
	    table->base > INT64_MAX || table->base & ((1u << UNWIND_PAGE_SHIFT) - 1))
		return -EBADMSG;
	return reader_failed(reader) ? -EBADMSG : 0;
}

/* Returns whether the rows of a page begin at 0 and ascend. */
static bool is_page(const struct unwind_table *table, uint32_t page)
{
	uint32_t first = little_u32(table->page_at + 4 * (size_t)page);
	uint32_t end = little_u32(table->page_at + 4 * ((size_t)page + 1));
	uint16_t last;

	if (first >= end || end > table->rows || little_u16(table->offset_at + 2 * (size_t)first))
		return false;
	last = 0;
	for (size_t i = first + 1; i < end; i++) {
		uint16_t offset = little_u16(table->offset_at + 2 * i);

		if (offset <= last)
			return false;
		last = offset;
	}
	return true;
}

static uint32_t slice_row(const struct unwind_table *table, uint32_t page, unsigned int slice)
{
	return little_u16(table->slice_at + 2 * ((size_t)page * UNWIND_SLICES + slice));
}

/* Returns whether each slice states the last row that begins at or before the slice. */
static bool has_right_slices(const struct unwind_table *table, uint32_t page)
{
	uint32_t first = little_u32(table->page_at + 4 * (size_t)page);
	uint32_t count = little_u32(table->page_at + 4 * ((size_t)page + 1)) - first;
	const uint8_t *offsets = table->offset_at + 2 * (size_t)first;

	for (unsigned int i = 0; i < UNWIND_SLICES; i++) {
		uint32_t row = slice_row(table, page, i), begin = i << UNWIND_SLICE_SHIFT;

		if (row >= count || little_u16(offsets + 2 * (size_t)row) > begin)
			return false;
		if (row + 1 < count && little_u16(offsets + 2 * ((size_t)row + 1)) <= begin)
			return false;
	}
	return true;
}

static int check_parts(const struct unwind_table *table)
{
	struct unwind_rule rule;

	if (little_u32(table->page_at) != 0 ||
	    little_u32(table->page_at + 4 * (size_t)table->pages) != table->rows)
		return -EBADMSG;
	for (uint32_t i = 0; i < table->pages; i++)
		if (!is_page(table, i) || !has_right_slices(table, i))
			return -EBADMSG;
	for (size_t i = 0; i < table->rows; i++)
		if (little_u16(table->row_rule_at + 2 * i) >= table->rules)
			return -EBADMSG;
	for (size_t i = 0; i < table->rules; i++)
		if (unwind_rule_decode(table->rule_at + UNWIND_RULE_SIZE * i, &rule) < 0)
			return -EBADMSG;
	rule_read(table->rule_at, &rule);
	return rule.kind == UNWIND_RULE_UNKNOWN ? 0 : -EBADMSG;
}

int unwind_table_open(const void *bytes, size_t size, struct unwind_table *ret_table)
{
	struct unwind_table table = { .bytes = bytes };
	struct reader reader;
	int r;

	reader_init(&reader, bytes, MIN(size, UNWIND_TABLE_MAX));
	r = read_head(&reader, &table);
	if (r < 0)
		return r;
	table.page_at = reader_take(&reader, 4 * ((size_t)table.pages + 1));
	table.slice_at = reader_take(&reader, 2 * UNWIND_SLICES * (size_t)table.pages);
	table.offset_at = reader_take(&reader, 2 * (size_t)table.rows);
	table.row_rule_at = reader_take(&reader, 2 * (size_t)table.rows);
	table.rule_at = reader_take(&reader, UNWIND_RULE_SIZE * (size_t)table.rules);
	if (reader_failed(&reader))
		return -EBADMSG;
	table.size = reader.position;
	r = check_parts(&table);
	if (r < 0)
		return r;
	*ret_table = table;
	return 0;
}

/* Returns the last row of a page that begins at or before `offset`. */
static uint32_t find_row(const struct unwind_table *table, uint32_t page, uint16_t offset)
{
	uint32_t first = little_u32(table->page_at + 4 * (size_t)page);
	unsigned int slice = offset >> UNWIND_SLICE_SHIFT;
	uint32_t low = first + slice_row(table, page, slice), high;

	if (slice + 1 < UNWIND_SLICES)
		high = first + slice_row(table, page, slice + 1) + 1;
	else
		high = little_u32(table->page_at + 4 * ((size_t)page + 1));
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (little_u16(table->offset_at + 2 * (size_t)middle) <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void rule_of_row(const struct unwind_table *table, uint32_t row,
			struct unwind_rule *ret_rule)
{
	size_t rule = little_u16(table->row_rule_at + 2 * (size_t)row);

	rule_read(table->rule_at + UNWIND_RULE_SIZE * rule, ret_rule);
}

void unwind_table_find(const struct unwind_table *table, uint64_t offset,
		       struct unwind_rule *ret_rule)
{
	uint64_t in_table = offset - table->base, page = in_table >> UNWIND_PAGE_SHIFT;

	if (offset < table->base || page >= table->pages) {
		*ret_rule = (struct unwind_rule){ .kind = UNWIND_RULE_UNKNOWN };
		return;
	}
	rule_of_row(table, find_row(table, page, (uint16_t)in_table), ret_rule);
}

/* Returns the page of a row. */
static uint32_t page_of_row(const struct unwind_table *table, uint32_t row)
{
	uint32_t low = 0, high = table->pages;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (little_u32(table->page_at + 4 * (size_t)middle) <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int unwind_table_next(const struct unwind_table *table, uint32_t *at, uint64_t *ret_offset,
		      struct unwind_rule *ret_rule)
{
	uint32_t row = *at;

	if (row >= table->rows)
		return 0;
	*ret_offset = table->base + ((uint64_t)page_of_row(table, row) << UNWIND_PAGE_SHIFT) +
		      little_u16(table->offset_at + 2 * (size_t)row);
	rule_of_row(table, row, ret_rule);
	*at = row + 1;
	return 1;
}
