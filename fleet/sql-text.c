// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/sql-text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

void sql_put_literal(struct buffer *out, const char *text)
{
	buffer_u8(out, '\'');
	for (const char *at = text; *at; at++)
		if (isalnum((unsigned char)*at))
			buffer_u8(out, *at);
		else
			buffer_printf(out, "\\x%02X", (unsigned char)*at);
	buffer_u8(out, '\'');
}

static bool sql_is(const char *text, size_t size, const char *word)
{
	return strlen(word) == size && memcmp(text, word, size) == 0;
}

/* Finds "{name:Type}" at the begin of the text. Returns its size, or 0 if it is not there. */
static size_t sql_placeholder(const char *text, size_t *ret_name, const char **ret_type)
{
	size_t name = 0, type = 0;

	if (*text != '{')
		return 0;
	while (isalnum((unsigned char)text[1 + name]) || text[1 + name] == '_')
		name++;
	if (!name || text[1 + name] != ':')
		return 0;
	while (isalnum((unsigned char)text[2 + name + type]))
		type++;
	if (!type || text[2 + name + type] != '}')
		return 0;
	*ret_name = name;
	*ret_type = text + 2 + name;
	return name + type + 3;
}

static int sql_put_value(const struct sql_value *value, const char *type, struct buffer *out)
{
	if (strncmp(type, "String", 6) == 0 && value->text)
		sql_put_literal(out, value->text);
	else if (strncmp(type, "UInt", 4) == 0 && !value->text)
		buffer_printf(out, "%" PRIu64, value->number);
	else
		return -EINVAL;
	return 0;
}

int sql_fill(const char *statement, const struct sql_value *values, size_t count,
	     struct buffer *out)
{
	while (*statement) {
		const char *type;
		size_t name, size = sql_placeholder(statement, &name, &type), i = 0;

		if (!size) {
			buffer_u8(out, *statement++);
			continue;
		}
		while (i < count && !sql_is(statement + 1, name, values[i].name))
			i++;
		if (i == count || sql_put_value(&values[i], type, out) < 0)
			return -EINVAL;
		statement += size;
	}
	return buffer_failed(out) ? -ENOMEM : 0;
}
