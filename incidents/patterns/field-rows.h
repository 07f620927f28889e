/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The fields of an incident as they are stored: rows NAME=VALUE, each with a newline. A value that
 * looks like a number and is none, or that begins with a quotation mark, has one before it.
 */

#include "base/bytes.h"
#include "incidents/patterns/pattern.h"

/* Appends the rows and a NUL. */
void field_rows_write(const struct fields *fields, struct buffer *rows);
/* Names are made in `names`, which the fields borrow from, as they do from the rows. 0 or -ENOMEM.
 */
int field_rows_read(const char *rows, struct buffer *names, struct fields *ret_fields);
