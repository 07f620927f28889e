// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/trace-decode.h"

#include <stdio.h>

#include "base/bytes.h"

/* The greatest number of elements that are decoded: longer arrays are memory dumps. */
#define ELEMENTS_MAX 64

uint16_t trace_id(const struct trace_raw *raw)
{
	struct reader reader;

	reader_init(&reader, raw->data, raw->size);
	return reader_u16(&reader);
}

/* Finds the bytes of a field. Returns false when the event is too short for the field. */
static bool trace_decode_find(const struct trace_field *field, const struct trace_raw *raw,
			      struct reader *ret_bytes)
{
	size_t offset = field->offset, size = field->size;
	struct reader place;

	if (offset > raw->size || size > raw->size - offset)
		return false;
	if (field->dynamic) {
		uint32_t where;

		reader_init(&place, raw->data + offset, size);
		where = reader_u32(&place);
		offset = (where & 0xffff) + (field->relative ? offset + size : 0);
		size = where >> 16;
		if (offset > raw->size || size > raw->size - offset)
			return false;
	}
	reader_init(ret_bytes, raw->data + offset, size);
	return true;
}

static uint64_t trace_decode_take_number(const struct trace_field *field, struct reader *bytes)
{
	unsigned int spare = 64 - 8 * field->element_size;
	uint64_t value = reader_little(bytes, field->element_size);

	return field->is_signed ? (uint64_t)((int64_t)(value << spare) >> spare) : value;
}

static size_t trace_decode_put_number(const struct trace_field *field, uint64_t value, char *text,
				      size_t room)
{
	if (field->type == TRACE_ADDRESS)
		return snprintf(text, room, "0x%llx", (unsigned long long)value);
	if (field->is_signed)
		return snprintf(text, room, "%lld", (long long)value);
	return snprintf(text, room, "%llu", (unsigned long long)value);
}

static size_t trace_decode_put_numbers(const struct trace_field *field, struct reader *bytes,
				       char text[TRACE_VALUE_MAX])
{
	size_t size = 0;

	for (int i = 0; reader_left(bytes) >= field->element_size; i++) {
		size += snprintf(text + size, TRACE_VALUE_MAX - size, "%s%s", i ? "," : "",
				 i == ELEMENTS_MAX ? "..." : "");
		if (i == ELEMENTS_MAX)
			break;
		size += trace_decode_put_number(field, trace_decode_take_number(field, bytes),
						text + size, TRACE_VALUE_MAX - size);
	}
	return size;
}

static size_t put_bytes(struct reader *bytes, char text[TRACE_VALUE_MAX])
{
	size_t size = 0;

	for (int i = 0; i < ELEMENTS_MAX && reader_left(bytes); i++)
		size += snprintf(text + size, TRACE_VALUE_MAX - size, "%02x", reader_u8(bytes));
	if (reader_left(bytes))
		size += snprintf(text + size, TRACE_VALUE_MAX - size, "...");
	return size;
}

static const char *trace_decode_put_value(const struct trace_field *field, struct reader *bytes,
					  char text[TRACE_VALUE_MAX], size_t *ret_size)
{
	switch (field->type) {
	case TRACE_TEXT:
		*ret_size = strnlen((const char *)bytes->data, bytes->size);
		*ret_size = *ret_size < TRACE_VALUE_MAX ? *ret_size : TRACE_VALUE_MAX;
		return (const char *)bytes->data;
	case TRACE_BYTES:
		*ret_size = put_bytes(bytes, text);
		return text;
	default:
		*ret_size = trace_decode_put_numbers(field, bytes, text);
		return text;
	}
}

int trace_decode(const struct trace_format *format, const struct trace_raw *raw,
		 int (*give)(void *context, const char *name, const char *value, size_t size),
		 void *context)
{
	char text[TRACE_VALUE_MAX];
	struct reader bytes;
	int r = 0;

	for (size_t i = 0; i < format->fields.count; i++)
		if (!trace_decode_find(&format->fields.items[i], raw, &bytes))
			return -EBADMSG;
	for (size_t i = 0; r >= 0 && i < format->fields.count; i++) {
		const struct trace_field *field = &format->fields.items[i];
		const char *value;
		size_t size;

		trace_decode_find(field, raw, &bytes);
		value = trace_decode_put_value(field, &bytes, text, &size);
		r = give(context, field->name, value, size);
	}
	return r < 0 ? r : 0;
}

bool trace_number(const struct trace_format *format, const struct trace_raw *raw, uint32_t number,
		  uint64_t *ret_value)
{
	const struct trace_field *field;
	struct reader bytes;

	if (number >= format->fields.count)
		return false;
	field = &format->fields.items[number];
	if (field->type != TRACE_NUMBERS || field->dynamic ||
	    !trace_decode_find(field, raw, &bytes) || bytes.size < field->element_size)
		return false;
	*ret_value = trace_decode_take_number(field, &bytes);
	return true;
}

bool trace_text(const struct trace_format *format, const struct trace_raw *raw, uint32_t number,
		const char **ret_text, size_t *ret_size)
{
	struct reader bytes;

	if (number >= format->fields.count || format->fields.items[number].type != TRACE_TEXT ||
	    !trace_decode_find(&format->fields.items[number], raw, &bytes))
		return false;
	*ret_text = (const char *)bytes.data;
	*ret_size = strnlen(*ret_text, bytes.size);
	return true;
}
