/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What the raw bytes of one kind of trace event are: its fields, as the `format` file that the kernel has for it describes them. Names, sizes and
 * types differ from one kernel to the next, so nothing of that is known beforehand. libtraceevent reads the file, and is included by
 * trace-format.c alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"

enum trace_type {
	TRACE_NUMBERS, /* `element_size` bytes each: one, unless it is an array */
	TRACE_ADDRESS, /* a number that is shown as one of the kernel's addresses */
	TRACE_TEXT, /* up to its NUL, or its end */
	TRACE_BYTES, /* anything else */
};

struct trace_field {
	char *name;
	enum trace_type type;
	bool is_signed;
	bool dynamic; /* at its place are a size and an offset, where it really is */
	bool relative; /* that offset is from the end of its place */
	uint32_t element_size;
	uint32_t offset, size; /* of its place */
};

struct trace_format {
	char *name; /* "cgroup:cgroup_mkdir" */
	uint16_t id; /* what the first two bytes of its events are */
	array_of(struct trace_field) fields; /* without those that all kinds have */
};

/* Larger files are none of the kernel's. */
#define TRACE_FORMAT_MAX 65536

/* 0; -EBADMSG when that is no description of an event; -ENOMEM. */
int trace_format_parse(
	const char *system, const char *text, size_t size, struct trace_format **ret_format);
struct trace_format *trace_format_free(struct trace_format *format);
DEFINE_CLEANUP(trace_format, struct trace_format *, trace_format_free)

#define TRACE_NO_FIELD UINT32_MAX
/* The number of a field; TRACE_NO_FIELD where this kernel has none of that name. */
uint32_t trace_format_field(const struct trace_format *format, const char *name);
