// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/field-lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/answer/screen.h"
#include "draw/lines.h"

#define LABEL_WIDTH 11

void field_lines_init(struct field_lines *fields)
{
	*fields = (struct field_lines){ .label = "" };
	screen_read_lines(NULL, &fields->terminal);
}

void field_lines_done(struct field_lines *fields)
{
	buffer_done(&fields->lines);
	buffer_done(&fields->text);
}

void field_begin(struct field_lines *fields, const char *label)
{
	fields->label = label;
	fields->text.size = 0;
}

static void field_add_args(struct field_lines *fields, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		fields->lines.failed = true;
		return;
	}
	buffer_text(&fields->text, text);
}

void field_add(struct field_lines *fields, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	field_add_args(fields, format, args);
	va_end(args);
}

void field_end(struct field_lines *fields)
{
	const struct lines_shape shape = { .used = LABEL_WIDTH, .indent = LABEL_WIDTH };

	buffer_u8(&fields->text, 0);
	if (buffer_failed(&fields->text)) {
		fields->lines.failed = true;
		return;
	}
	buffer_printf(&fields->lines, "%-*s", LABEL_WIDTH, fields->label);
	if (fields->terminal.wrap)
		lines_put(&fields->terminal, shape, (const char *)fields->text.data,
			  &fields->lines);
	else
		buffer_printf(&fields->lines, "%s\n", (const char *)fields->text.data);
}

void field_line(struct field_lines *fields, const char *label, const char *format, ...)
{
	va_list args;

	field_begin(fields, label);
	va_start(args, format);
	field_add_args(fields, format, args);
	va_end(args);
	field_end(fields);
}
