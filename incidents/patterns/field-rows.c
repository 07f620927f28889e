// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/patterns/field-rows.h"

#include <errno.h>

#include "base/cleanup.h"

static bool looks_like_number(const char *text, size_t size)
{
	size_t digits = 0, points = 0;

	for (size_t i = size && *text == '-'; i < size; i++) {
		digits += text[i] >= '0' && text[i] <= '9';
		points += text[i] == '.';
	}
	return digits && points <= 1 && digits + points + (*text == '-') == size;
}

void field_rows_write(const struct fields *fields, struct buffer *rows)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->list[i];
		bool marked =
			!field->number && field->size &&
			(*field->value == '"' || looks_like_number(field->value, field->size));

		buffer_text(rows, field->name);
		buffer_u8(rows, '=');
		buffer_bytes(rows, "\"", marked);
		for (size_t k = 0; k < field->size; k++)
			buffer_u8(rows, field->value[k] == '\n' || !field->value[k]
						? ' '
						: field->value[k]);
		buffer_u8(rows, '\n');
	}
	buffer_u8(rows, 0);
}

int field_rows_read(const char *rows, struct buffer *names, struct fields *ret_fields)
{
	struct fields fields = { 0 };
	char *name;

	names->size = 0;
	name = (char *)buffer_room(names, strlen(rows) + 1);
	if (!name)
		return -ENOMEM;
	for (; *rows && fields.count < FIELDS_MAX; rows += *rows == '\n') {
		size_t size = strcspn(rows, "\n"), name_size = strcspn(rows, "=\n");
		struct field *field = &fields.list[fields.count++];

		memcpy(name, rows, name_size);
		name[name_size] = 0;
		field->name = name;
		name += name_size + 1;
		field->value = rows + MIN(name_size + 1, size);
		field->size = rows + size - field->value;
		field->number = looks_like_number(field->value, field->size);
		if (field->size && *field->value == '"') {
			field->value++;
			field->size--;
		}
		rows += size;
	}
	*ret_fields = fields;
	return 0;
}
