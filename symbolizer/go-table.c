// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/go-table.h"

#define MAGIC_1_2 0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

/* More functions than any program has. */
#define FUNCTIONS_MAX (1u << 26)
/* Number of bytes to read at a time: a few rows of functions, and one name. */
#define FUNCTIONS_STEP 1024
#define DETAILS_STEP 64
#define NAMES_STEP 256

static bool is_magic(uint32_t magic)
{
	return magic == MAGIC_1_2 || magic == MAGIC_1_16 || magic == MAGIC_1_18 ||
	       magic == MAGIC_1_20;
}

static struct window window_from(const struct file_window *source, uint64_t at, size_t step)
{
	return (struct window){ .source = file_window_part(source, at, UINT64_MAX), .step = step };
}

/*
 * Reads the header after its first 8 bytes. Returns the offset of the function table, or 0 if the
 * header is invalid.
 */
static uint64_t go_table_read_header(struct go_table *table, struct reader *header, uint32_t magic,
				     uint64_t *ret_names)
{
	size_t word = table->entry_size;

	*ret_names = 0;
	table->count = reader_word_host(header, word);
	if (magic == MAGIC_1_2)
		return 8 + word;
	reader_word_host(header, word);
	if (magic != MAGIC_1_16) {
		table->text = reader_word_host(header, word);
		table->relative = true;
		table->start_size = table->entry_size = 4;
	}
	*ret_names = reader_word_host(header, word);
	reader_take(header, 3 * word);
	return reader_word_host(header, word);
}

bool go_table_open(struct go_table *table, const struct file_window *source)
{
	uint8_t bytes[GO_HEADER_MAX];
	struct reader header;
	uint64_t functions, names;
	uint32_t magic;
	uint8_t quantum;

	*table = (struct go_table){ 0 };
	reader_init(&header, bytes, file_window_read(source, 0, bytes, sizeof(bytes)));
	magic = reader_u32_host(&header);
	if (!is_magic(magic) || reader_u16(&header))
		return false;
	quantum = reader_u8(&header);
	table->start_size = table->entry_size = reader_u8(&header);
	if ((quantum != 1 && quantum != 2 && quantum != 4) ||
	    (table->entry_size != 4 && table->entry_size != 8))
		return false;
	functions = go_table_read_header(table, &header, magic, &names);
	if (reader_failed(&header) || !table->count || table->count > FUNCTIONS_MAX ||
	    functions >= source->size || names >= source->size)
		return false;
	table->functions = window_from(source, functions, FUNCTIONS_STEP);
	/* before Go 1.16 all offsets are relative to the start of the whole table */
	table->details = window_from(source, magic == MAGIC_1_2 ? 0 : functions, DETAILS_STEP);
	table->names = window_from(source, names, NAMES_STEP);
	return true;
}

void go_table_done(struct go_table *table)
{
	window_done(&table->functions);
	window_done(&table->details);
	window_done(&table->names);
}

/* Reads the start of the i-th function. For i == count, reads the end of the last function. */
static bool read_start(struct go_table *table, uint64_t i, uint64_t *ret_start)
{
	size_t size = table->start_size;
	struct reader reader = window_reader(&table->functions, i * 2 * size, size);

	*ret_start = reader_word_host(&reader, size);
	return !reader_failed(&reader);
}

/*
 * Finds the last function that starts at or before an address. The address is relative to the text.
 */
static bool find_function(struct go_table *table, uint64_t at, uint64_t *ret_i, uint64_t *ret_start)
{
	uint64_t low = 0, high = table->count, start, end;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_start(table, middle, &start))
			return false;
		if (start <= at)
			low = middle;
		else
			high = middle;
	}
	*ret_i = low;
	return read_start(table, low, ret_start) && read_start(table, low + 1, &end) &&
	       *ret_start <= at && at < end;
}

bool go_table_find(struct go_table *table, uint64_t address, uint64_t *ret_start,
		   const char **ret_name)
{
	uint64_t base = table->relative ? table->text : 0, i, start, details;
	struct reader reader;
	uint32_t name;

	if (address < base || !find_function(table, address - base, &i, &start))
		return false;
	reader = window_reader(&table->functions, (2 * i + 1) * table->start_size,
			       table->start_size);
	details = reader_word_host(&reader, table->start_size);
	reader = window_reader(&table->details, details, table->entry_size + 4);
	/*
	 * the row and the details must state the same start, which excludes bytes that only begin
	 * like a table
	 */
	if (reader_word_host(&reader, table->entry_size) != start)
		return false;
	name = reader_u32_host(&reader);
	if (reader_failed(&reader))
		return false;
	*ret_start = base + start;
	*ret_name = window_text(&table->names, name);
	return *ret_name && **ret_name;
}
