/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The stored form of an incident's fields: rows NAME=VALUE, each with a newline. If a text looks
 * like a number or begins with a quotation mark, another quotation mark precedes it.
 */

#include "base/bytes.h"
#include "incidents/patterns/pattern.h"

/* Appends the rows and a NUL. */
void field_rows_write(const struct fields *fields, struct buffer *rows);
/*
 * Reads rows. The fields point into `names`, which receives the names, and into `rows`. Returns 0
 * or -ENOMEM.
 */
int field_rows_read(const char *rows, struct buffer *names, struct fields *ret_fields);
