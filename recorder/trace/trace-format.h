/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The layout of one kind of trace event: its fields, as the kernel's `format` file describes them.
 * Names, sizes and types of fields differ between kernels. libtraceevent reads the file; only
 * trace-format.c includes that library.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"

enum trace_type {
	/* a number of `element_size` bytes, or an array of such numbers */
	TRACE_NUMBERS,
	/* a number that is shown as a kernel address */
	TRACE_ADDRESS,
	/* a text up to its NUL, or to the end of the field */
	TRACE_TEXT,
	/* anything else */
	TRACE_BYTES,
};

struct trace_field {
	char *name;
	enum trace_type type;
	bool is_signed;
	/* the field holds the size and the offset of its value */
	bool dynamic;
	/* that offset counts from the end of the field */
	bool relative;
	uint32_t element_size;
	/* the field's position in the event, and its size */
	uint32_t offset, size;
};

struct trace_format {
	/* "cgroup:cgroup_mkdir" */
	char *name;
	/* the id of the kind, as in the first two bytes of its events */
	uint16_t id;
	/* the fields, without those that all kinds have */
	array_of(struct trace_field) fields;
};

/* The maximum size of a format file. The kernel's files are smaller. */
#define TRACE_FORMAT_MAX 65536

/* Parses a format file. Returns 0; -EBADMSG when the text does not describe an event; -ENOMEM. */
int trace_format_parse(const char *system, const char *text, size_t size,
		       struct trace_format **ret_format);
struct trace_format *trace_format_free(struct trace_format *format);
DEFINE_CLEANUP(trace_format, struct trace_format *, trace_format_free)

#define TRACE_NO_FIELD UINT32_MAX
/* Returns the number of a field; TRACE_NO_FIELD when this kernel does not have it. */
uint32_t trace_format_field(const struct trace_format *format, const char *name);
