/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What the raw bytes of one kind of trace event are: its fields, as the `format` file that the
 * kernel has for it describes them. Names, sizes and types differ from one kernel to the next, so
 * nothing of that is known beforehand. libtraceevent reads the file, and is included by
 * trace-format.c alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"

enum trace_type {
	/* `element_size` bytes each: one, unless it is an array */
	TRACE_NUMBERS,
	/* a number that is shown as one of the kernel's addresses */
	TRACE_ADDRESS,
	/* up to its NUL, or its end */
	TRACE_TEXT,
	/* anything else */
	TRACE_BYTES,
};

struct trace_field {
	char *name;
	enum trace_type type;
	bool is_signed;
	/* at its place are a size and an offset, where it really is */
	bool dynamic;
	/* that offset is from the end of its place */
	bool relative;
	uint32_t element_size;
	/* of its place */
	uint32_t offset, size;
};

struct trace_format {
	/* "cgroup:cgroup_mkdir" */
	char *name;
	/* what the first two bytes of its events are */
	uint16_t id;
	/* without those that all kinds have */
	array_of(struct trace_field) fields;
};

/* Larger files are none of the kernel's. */
#define TRACE_FORMAT_MAX 65536

/* 0; -EBADMSG when that is no description of an event; -ENOMEM. */
int trace_format_parse(const char *system, const char *text, size_t size,
		       struct trace_format **ret_format);
struct trace_format *trace_format_free(struct trace_format *format);
DEFINE_CLEANUP(trace_format, struct trace_format *, trace_format_free)

#define TRACE_NO_FIELD UINT32_MAX
/* The number of a field; TRACE_NO_FIELD where this kernel has none of that name. */
uint32_t trace_format_field(const struct trace_format *format, const char *name);
