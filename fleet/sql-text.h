/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Puts values into SQL. A statement has placeholders in ClickHouse's own form, {name:Type}, so that
 * a person can run the file with --param_name=VALUE. Old servers do not know them, so perftape puts
 * the values in itself: a number in digits, a text in quotes with all but letters and digits as
 * \xHH. No name that a host or a process chose can therefore become SQL.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

struct sql_value {
	/* The name of the placeholder. */
	const char *name;
	/* For String; NULL: `number` is meant, for UInt32 and UInt64. */
	const char *text;
	uint64_t number;
};

/* Appends the text as a literal. */
void sql_put_literal(struct buffer *out, const char *text);
/*
 * Appends the statement with its values. Returns 0, -ENOMEM, or -EINVAL if a placeholder has no
 * value of its type.
 */
int sql_fill(const char *statement, const struct sql_value *values, size_t count,
	     struct buffer *out);
