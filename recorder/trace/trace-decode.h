/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Decodes the fields of one trace event, from its format and its bytes. Never reads beyond these
 * bytes, and does not have side effects.
 */

#include "recorder/trace/trace-format.h"

/* Longer values are truncated; the kernel's longest path fits. */
#define TRACE_VALUE_MAX 4096

struct trace_raw {
	const uint8_t *data;
	size_t size;
};

/* Returns the id of the event's kind; 0: the event is too short. */
uint16_t trace_id(const struct trace_raw *raw);

/*
 * Calls `give` with each field: a number in decimal, an address in hexadecimal, arrays with commas
 * between the elements. `value` is valid during the call. Stops when `give` returns a negative
 * value, and returns that value. Returns -EBADMSG, without calling `give`, when a field lies beyond
 * the bytes.
 */
int trace_decode(const struct trace_format *format, const struct trace_raw *raw,
		 int (*give)(void *context, const char *name, const char *value, size_t size),
		 void *context);

/*
 * These functions get one field. They return false when the field does not exist or has another
 * type. The text points into the bytes and does not end with a NUL.
 */
bool trace_number(const struct trace_format *format, const struct trace_raw *raw, uint32_t field,
		  uint64_t *ret_value);
bool trace_text(const struct trace_format *format, const struct trace_raw *raw, uint32_t field,
		const char **ret_text, size_t *ret_size);
