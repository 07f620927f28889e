/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The fields of one trace event. Pure: a format and bytes in, texts and numbers out. Whatever the
 * bytes are, nothing beyond them is read. */

#include "recorder/trace/trace-format.h"

/* Longer values are cut; the longest path of the kernel's is whole. */
#define TRACE_VALUE_MAX 4096

struct trace_raw {
	const uint8_t *data;
	size_t size;
};

/* The kind of event; 0 where there is none. */
uint16_t trace_id(const struct trace_raw *raw);

/*
 * Hands over each field, a number in decimal, an address in hexadecimal, several with commas
 * between them; `value` is valid during the call. A negative answer of `give` ends it and is handed
 * on. -EBADMSG when a field lies beyond the bytes: then none was handed over.
 */
int trace_decode(const struct trace_format *format, const struct trace_raw *raw,
		 int (*give)(void *context, const char *name, const char *value, size_t size),
		 void *context);

/* One field of it; false where it is of another type, or not there. The text is borrowed from the
 * bytes and ends with no NUL. */
bool trace_number(const struct trace_format *format, const struct trace_raw *raw, uint32_t field,
		  uint64_t *ret_value);
bool trace_text(const struct trace_format *format, const struct trace_raw *raw, uint32_t field,
		const char **ret_text, size_t *ret_size);
