/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the end of a log line, and recognises its form by its first characters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "incidents/patterns/text-cursor.h"

struct line;

/* Longer lines are split. */
#define LINE_MAX_BYTES (1 << 20)

/* Returns the size of the line without its newline, or SIZE_MAX if the end has not arrived yet. */
size_t line_find_end(const char *text, size_t size, bool last);

/* Returns whether the line may begin an entry in JSON, or an array of such entries. */
bool line_is_json(const struct line *line);

/*
 * Returns the length of the field name with which a line of journalctl -o export begins, or 0 for
 * another line.
 */
size_t line_export_name(const struct line *line);

/*
 * Returns the hexadecimal digits behind a name such as ";b=" in the brackets of journalctl -o
 * verbose; empty if the line does not have the name.
 */
struct text_cursor line_digits_after(const struct line *line, const char *name);
