/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Lines of a label and its fields, as `status` prints them. On a terminal, a line that is too wide
 * continues between fields, below its text. Otherwise each label has one line.
 */

#include "base/bytes.h"
#include "draw/terminal.h"

struct field_lines {
	struct terminal terminal;
	/* The lines so far, and the text of the line that field_begin() began. */
	struct buffer lines, text;
	const char *label;
};

/* Reads the properties of standard output. */
void field_lines_init(struct field_lines *fields);
void field_lines_done(struct field_lines *fields);

/*
 * Begins a line. With "", the line continues the previous label. `label` is valid until
 * field_end().
 */
void field_begin(struct field_lines *fields, const char *label);
void field_add(struct field_lines *fields, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void field_end(struct field_lines *fields);
/* Begins a line, adds its text and ends it. */
void field_line(struct field_lines *fields, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
