// SPDX-License-Identifier: GPL-2.0-only
#include "unwind/cfi-entries.h"

#include <errno.h>

/* The two halves of an address's encoding: its format, and the base to which it is relative. */
#define FORMAT_MASK 0x0f
#define BASE_MASK 0xf0
#define BASE_NONE 0x00
#define BASE_PLACE 0x10
#define ENCODING_ABSOLUTE 0x00
#define LENGTH_IS_LONG UINT32_MAX
#define LETTERS_MAX 16
/* Linkers merge equal entries, so even large programs have less than a hundred. */
#define COMMONS_MAX 16384

void cfi_entries_done(struct cfi_entries *entries)
{
	array_done(&entries->commons);
}

/* ---- numbers ---- */

int64_t cfi_read_signed(struct reader *reader)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = reader_u8(reader);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

static uint64_t cfi_read_format(struct reader *reader, uint8_t encoding)
{
	switch (encoding & FORMAT_MASK) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return reader_u64(reader);
	case 0x01:
		return reader_varint(reader);
	case 0x02:
		return reader_u16(reader);
	case 0x03:
		return reader_u32(reader);
	case 0x09:
		return (uint64_t)cfi_read_signed(reader);
	case 0x0a:
		return (uint64_t)(int16_t)reader_u16(reader);
	case 0x0b:
		return (uint64_t)(int32_t)reader_u32(reader);
	default:
		reader_fail(reader);
		return 0;
	}
}

/*
 * Every reader of an entry begins at the start of the section, so its position is an offset in the
 * section.
 */
uint64_t cfi_read_address(const struct cfi_entries *entries, struct reader *reader,
			  uint8_t encoding)
{
	uint64_t place = entries->address + reader->position;
	uint64_t value = cfi_read_format(reader, encoding);

	switch (encoding & BASE_MASK) {
	case BASE_NONE:
		return value;
	case BASE_PLACE:
		return value + place;
	default:
		reader_fail(reader);
		return 0;
	}
}

struct reader cfi_program(const struct cfi_entries *entries, uint32_t program, uint32_t program_end)
{
	struct reader reader;

	reader_init(&reader, entries->bytes, program_end);
	reader.position = program;
	return reader;
}

/* ---- common entries ---- */

static bool cfi_read_letters(struct reader *reader, char letters[LETTERS_MAX])
{
	for (size_t i = 0; i < LETTERS_MAX; i++) {
		letters[i] = (char)reader_u8(reader);
		if (!letters[i])
			return true;
	}
	return false;
}

/* Reads the data of each letter of an augmentation such as "zPLRS". */
static bool cfi_read_augmentation(struct reader *reader, const char *letters,
				  struct cfi_common *common)
{
	uint64_t size;
	size_t end;

	if (!letters[0])
		return true;
	if (letters[0] != 'z')
		return false;
	common->augmented = true;
	size = reader_varint(reader);
	if (!reader_require(reader, size))
		return false;
	end = reader->position + size;
	for (size_t i = 1; letters[i]; i++) {
		switch (letters[i]) {
		case 'R':
			common->encoding = reader_u8(reader);
			break;
		case 'L':
			reader_u8(reader);
			break;
		case 'P':
			cfi_read_format(reader, reader_u8(reader));
			break;
		case 'S':
			common->signal = true;
			break;
		case 'B': /* arm64: the second key signs return addresses */
		case 'G': /* arm64: the stack has memory tags */
			break;
		default:
			return false;
		}
	}
	if (reader->position > end)
		return false;
	reader->position = end;
	return true;
}

/* `reader` stands after the id and ends with the entry. */
static bool cfi_read_common(struct reader *reader, struct cfi_common *common)
{
	uint8_t version = reader_u8(reader);
	char letters[LETTERS_MAX];

	common->encoding = ENCODING_ABSOLUTE;
	if ((version != 1 && version != 3) || !cfi_read_letters(reader, letters))
		return false;
	common->code_factor = reader_varint(reader);
	common->data_factor = cfi_read_signed(reader);
	common->return_number = version == 1 ? reader_u8(reader) : reader_varint(reader);
	if (!cfi_read_augmentation(reader, letters, common))
		return false;
	common->program = reader->position;
	common->program_end = reader->size;
	return !reader_failed(reader);
}

/* ---- functions ---- */

/* Returns the index of the common entry that begins at `at`, or -1. */
static ssize_t cfi_find_common(const struct cfi_entries *entries, uint64_t at)
{
	size_t low = 0, high = entries->commons.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries->commons.items[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == entries->commons.count || entries->commons.items[low].at != at)
		return -1;
	return low;
}

/* The function's size has the format of its start, but lacks a base and a sign. */
static bool cfi_read_function(const struct cfi_entries *entries, struct reader *reader,
			      struct cfi_function *function)
{
	const struct cfi_common *common = &entries->commons.items[function->common];

	function->start = cfi_read_address(entries, reader, common->encoding);
	function->size = cfi_read_format(reader, common->encoding & 0x07);
	if (common->augmented)
		reader_take(reader, reader_varint(reader));
	function->program = reader->position;
	function->program_end = reader->size;
	return !reader_failed(reader) && function->size;
}

static int cfi_add_common(struct cfi_entries *entries, struct reader *reader, uint64_t at)
{
	struct cfi_common common = { .at = at };

	if (entries->commons.count == COMMONS_MAX)
		return -EFBIG;
	return cfi_read_common(reader, &common) ? array_push(&entries->commons, common) : 0;
}

/*
 * Reads a function. `id` lies at `place` and states the distance from `place` back to the common
 * entry. Returns false if the common entry or the function is invalid.
 */
static bool cfi_take_function(const struct cfi_entries *entries, struct reader *reader,
			      uint64_t place, uint32_t id, struct cfi_function *function)
{
	ssize_t common = id <= place ? cfi_find_common(entries, place - id) : -1;

	if (common < 0)
		return false;
	function->common = common;
	return cfi_read_function(entries, reader, function);
}

/* An entry: a reader of all its bytes after the length, and where these bytes begin. */
struct cfi_entry {
	struct reader reader;
	uint64_t place;
};

/* Reads the length of an entry. Returns false at the end and at the first invalid length. */
static bool cfi_next_entry(const struct cfi_entries *entries, struct reader *section,
			   struct cfi_entry *ret_entry)
{
	uint64_t length = reader_u32(section);

	if (length == LENGTH_IS_LONG)
		length = reader_u64(section);
	if (reader_failed(section) || length > reader_left(section))
		return false;
	ret_entry->place = section->position;
	section->position += length;
	ret_entry->reader = cfi_program(entries, ret_entry->place, section->position);
	return true;
}

struct cfi_function cfi_function_at(const struct cfi_entries *entries, uint32_t at)
{
	struct cfi_function function = { .at = at };
	struct reader section;
	struct cfi_entry entry;

	reader_init(&section, entries->bytes, entries->size);
	section.position = at;
	if (!cfi_next_entry(entries, &section, &entry) ||
	    !cfi_take_function(entries, &entry.reader, entry.place, reader_u32(&entry.reader),
			       &function))
		return (struct cfi_function){ .at = at };
	return function;
}

int cfi_entries_read(const uint8_t *bytes, size_t size, uint64_t address, bool open_end,
		     cfi_see_function *see, void *context, struct cfi_entries *ret_entries)
{
	struct cfi_entries *entries = ret_entries;
	struct cfi_entry entry;
	struct reader section;
	int r = 0;

	*entries = (struct cfi_entries){ .bytes = bytes, .size = size, .address = address };
	reader_init(&section, bytes, size);
	for (uint64_t at = 0; r == 0 && cfi_next_entry(entries, &section, &entry);
	     at = section.position) {
		struct cfi_function function = { .at = (uint32_t)at };
		uint32_t id;

		if (section.position == entry.place && open_end)
			return 0;
		if (reader_left(&entry.reader) < 4)
			continue;
		/* the id has 4 bytes, also in an entry with a long length */
		id = reader_u32(&entry.reader);
		if (!id)
			r = cfi_add_common(entries, &entry.reader, at);
		else if (cfi_take_function(entries, &entry.reader, entry.place, id, &function))
			r = see(context, &function);
	}
	return r;
}
