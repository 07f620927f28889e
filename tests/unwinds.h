/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes .eh_frame sections from a list of functions, and tables of them. Code lies at
 * UNWINDS_CODE, which is mapped from UNWINDS_OFFSET in the file: the two differ, as lld links.
 */

#include <stdint.h>

#include "tests/check.h"
#include "unwind/table-builder.h"
#include "unwind/unwind-table.h"

#define UNWINDS_CODE 0x201000ull
#define UNWINDS_OFFSET 0x1000ull
#define UNWINDS_SIZE 0x4000ull
#define UNWINDS_FRAME 0x300000ull

/* The bytes of instructions. */
struct unwinds_program {
	uint8_t bytes[48];
	size_t size;
};
#define UNWINDS_PROGRAM(...)                                                         \
	(struct unwinds_program)                                                     \
	{                                                                            \
		.bytes = { __VA_ARGS__ }, .size = sizeof((uint8_t[]){ __VA_ARGS__ }) \
	}

struct unwinds_frame {
	struct buffer bytes;
	/* The offset of the last common entry. */
	size_t common;
};

static inline void unwinds_frame_done(struct unwinds_frame *frame)
{
	buffer_done(&frame->bytes);
}

/* Appends an entry with its length; with `wide`, the length has 64 bits. */
static inline void unwinds_put(struct unwinds_frame *frame, const struct buffer *body, bool wide)
{
	if (wide) {
		buffer_u32(&frame->bytes, UINT32_MAX);
		buffer_u64(&frame->bytes, body->size);
	} else {
		buffer_u32(&frame->bytes, body->size);
	}
	buffer_bytes(&frame->bytes, body->data, body->size);
}

/* Appends a common entry: code factor 1, data factor -8, relative addresses of 4 bytes. */
static inline void unwinds_common(struct unwinds_frame *frame, const char *letters,
				  uint8_t return_number, struct unwinds_program program)
{
	_cleanup_(buffer_done) struct buffer body = { 0 };

	buffer_u32(&body, 0);
	buffer_u8(&body, 1);
	buffer_bytes(&body, letters, strlen(letters) + 1);
	buffer_bytes(&body, (uint8_t[]){ 1, 0x78, return_number }, 3);
	buffer_u8(&body, strchr(letters, 'P') ? 7 : 1);
	/* data of the augmentation, in the order of its letters */
	if (strchr(letters, 'P'))
		buffer_bytes(&body, (uint8_t[]){ 0x1b, 1, 2, 3, 4, 0x1b }, 6);
	buffer_u8(&body, 0x1b);
	buffer_bytes(&body, program.bytes, program.size);
	frame->common = frame->bytes.size;
	unwinds_put(frame, &body, false);
}

/* Appends the common entry that compilers write for x86-64: CFA = rsp + 8, return address below. */
static inline void unwinds_common_x86_64(struct unwinds_frame *frame)
{
	unwinds_common(frame, "zR", 16, UNWINDS_PROGRAM(0x0c, 7, 8, 0x90, 1));
}

/* Appends the common entry for arm64: CFA = sp, the return address is in x30. */
static inline void unwinds_common_arm64(struct unwinds_frame *frame)
{
	unwinds_common(frame, "zR", 30, UNWINDS_PROGRAM(0x0c, 31, 0));
}

static inline void unwinds_put_function(struct unwinds_frame *frame, uint64_t start, uint32_t size,
					struct unwinds_program program, bool wide)
{
	_cleanup_(buffer_done) struct buffer body = { 0 };
	size_t id_at = frame->bytes.size + (wide ? 12 : 4);

	buffer_u32(&body, id_at - frame->common);
	buffer_u32(&body, start - (UNWINDS_FRAME + id_at + 4));
	buffer_u32(&body, size);
	buffer_u8(&body, 0);
	buffer_bytes(&body, program.bytes, program.size);
	unwinds_put(frame, &body, wide);
}

/* Appends the entry of a function at an offset in the code. */
static inline void unwinds_function(struct unwinds_frame *frame, uint64_t at, uint32_t size,
				    struct unwinds_program program)
{
	unwinds_put_function(frame, UNWINDS_CODE + at, size, program, false);
}

static inline int unwinds_try(const struct unwinds_frame *frame, enum unwind_machine machine,
			      struct buffer *bytes)
{
	static const struct unwind_segment code = { UNWINDS_CODE, UNWINDS_OFFSET, UNWINDS_SIZE };
	const struct unwind_source source = {
		.machine = machine,
		.frame = frame->bytes.data,
		.frame_size = frame->bytes.size,
		.frame_address = UNWINDS_FRAME,
		.code = &code,
		.code_count = 1,
	};

	return unwind_table_build(&source, bytes);
}

/* Makes the table; `bytes` holds it. */
static inline void unwinds_make(const struct unwinds_frame *frame, enum unwind_machine machine,
				struct buffer *bytes, struct unwind_table *ret_table)
{
	CHECK(!buffer_failed(&frame->bytes));
	CHECK_EQ(unwinds_try(frame, machine, bytes), 0);
	CHECK_EQ(unwind_table_open(bytes->data, bytes->size, ret_table), 0);
	CHECK_EQ(ret_table->size, bytes->size);
}

/* Returns the rule at an offset in the code. */
static inline struct unwind_rule unwinds_rule(const struct unwind_table *table, uint64_t at)
{
	struct unwind_rule rule;

	unwind_table_find(table, UNWINDS_OFFSET + at, &rule);
	return rule;
}
