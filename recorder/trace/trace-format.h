/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The layout of one kind of trace event: its fields, as the kernel's `format` file describes them.
 * Names, sizes and types differ between kernels, so nothing is known in advance. libtraceevent
 * reads the file; trace-format.c alone includes it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"

enum trace_type {
	/* numbers of `element_size` bytes each; one number unless it is an array */
	TRACE_NUMBERS,
	/* a number that is shown as a kernel address */
	TRACE_ADDRESS,
	/* text up to its NUL, or to its end */
	TRACE_TEXT,
	/* anything else */
	TRACE_BYTES,
};

struct trace_field {
	char *name;
	enum trace_type type;
	bool is_signed;
	/* its place holds a size and an offset to the value */
	bool dynamic;
	/* the offset counts from the end of its place */
	bool relative;
	uint32_t element_size;
	/* its place in the event */
	uint32_t offset, size;
};

struct trace_format {
	/* "cgroup:cgroup_mkdir" */
	char *name;
	/* the id of the kind, in the first two bytes of its events */
	uint16_t id;
	/* without the common fields of all kinds */
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
