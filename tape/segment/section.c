// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/section.h"

#include <errno.h>
#include <stdlib.h>

static bool is_worth_it(size_t raw, size_t packed)
{
	return packed < raw && (raw <= COLUMN_RAW_FREE ||
				raw - COLUMN_RAW_FREE <= packed * (uint64_t)COLUMN_RAW_RATIO);
}

int section_put(struct section_writer *writer, const struct buffer *column)
{
	_cleanup_(buffer_done) struct buffer packed = { 0 };
	const struct buffer *stored = column;

	if (buffer_failed(column))
		return -ENOMEM;
	if (writer->packer && column->size &&
	    zstd_packer_append(writer->packer, &packed, column->data, column->size) < 0)
		return -ENOMEM;
	if (packed.size && is_worth_it(column->size, packed.size))
		stored = &packed;
	buffer_varint(writer->to, column->size);
	buffer_varint(writer->to, stored->size);
	buffer_bytes(writer->to, stored->data, stored->size);
	writer->raw_bytes += column->size;
	return buffer_failed(writer->to) ? -ENOMEM : 0;
}

int section_put_planes(struct section_writer *writer, const uint32_t *numbers, size_t count)
{
	uint32_t used = 0;

	for (size_t i = 0; i < count; i++)
		used |= numbers[i];
	for (unsigned int byte = 0; byte < PLANES; byte++) {
		_cleanup_(buffer_done) struct buffer plane = { 0 };
		uint8_t *room = buffer_room(&plane, count);
		int r;

		if (!room)
			return -ENOMEM;
		if (used >> (8 * byte) & 255) {
			for (size_t i = 0; i < count; i++)
				room[i] = numbers[i] >> (8 * byte);
			plane.size = count;
		}
		r = section_put(writer, &plane);
		if (r < 0)
			return r;
	}
	return 0;
}

void section_reader_done(struct section_reader *section)
{
	while (section->owned_count)
		free(section->owned[--section->owned_count]);
}

static int section_unpack(struct section_reader *section, size_t size, size_t stored,
			  struct reader *ret_column)
{
	const void *packed = reader_take(&section->stored, stored);
	uint8_t *raw;

	if (!packed || section->owned_count == SECTION_COLUMNS_MAX)
		return -EBADMSG;
	raw = malloc(size ? size : 1);
	if (!raw)
		return -ENOMEM;
	section->owned[section->owned_count++] = raw;
	reader_init(ret_column, raw, size);
	return zstd_unpacker_exact(section->unpacker, raw, size, packed, stored);
}

static int section_take_sizes(struct section_reader *section, uint64_t *ret_size,
			      uint64_t *ret_stored)
{
	uint64_t size = reader_varint(&section->stored), stored = reader_varint(&section->stored);

	if (reader_failed(&section->stored) || stored > reader_left(&section->stored) ||
	    stored > size || size > section->raw_limit - section->raw_bytes ||
	    (size > COLUMN_RAW_FREE && size - COLUMN_RAW_FREE > stored * COLUMN_RAW_RATIO))
		return -EBADMSG;
	section->raw_bytes += size;
	*ret_size = size;
	*ret_stored = stored;
	return 0;
}

int section_skip(struct section_reader *section)
{
	uint64_t size, stored;
	int r = section_take_sizes(section, &size, &stored);

	return r < 0 || reader_take(&section->stored, stored) ? r : -EBADMSG;
}

int section_take(struct section_reader *section, struct reader *ret_column)
{
	uint64_t size, stored;
	const void *plain;
	int r = section_take_sizes(section, &size, &stored);

	if (r < 0)
		return r;
	if (stored < size)
		return section_unpack(section, size, stored, ret_column);
	plain = reader_take(&section->stored, size);
	if (!plain)
		return -EBADMSG;
	reader_init(ret_column, plain, size);
	return 0;
}

int section_take_planes(struct section_reader *section, size_t count, struct planes *ret_planes)
{
	ret_planes->count = count;
	for (unsigned int byte = 0; byte < PLANES; byte++) {
		struct reader column;
		int r = section_take(section, &column);

		if (r < 0)
			return r;
		if (column.size && column.size != count)
			return -EBADMSG;
		ret_planes->bytes[byte] = column.size ? column.data : NULL;
	}
	return 0;
}

int column_count(struct reader *column, const struct reader *rows, size_t *ret_count)
{
	uint64_t count = reader_varint(column);

	if (reader_failed(column) || count > reader_left(rows))
		return -EBADMSG;
	*ret_count = count;
	return 0;
}
