/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Says for each instruction of a file how to find the caller. The table is immutable and lies in
 * one run of bytes. perftape makes it once per file from .eh_frame (unwind/table-builder.h) and
 * searches it by the offset in the file. It takes 4 bytes per row, 90 KB per MB of code.
 *
 * A rule holds from its row's offset up to the next row. The bytes, little-endian:
 *
 *   head       u32 magic, u32 machine, u64 base, u32 pages, u32 rows, u32 rules, u32 0
 *   pages      u32 for each page of 64 KB from `base` on: the number of its first row; then the
 *              number of all rows
 *   slices     256 u16 for each page, one for each slice of 256 bytes: the last row, counted from
 *              the page's first row, that begins at or before the slice. A search begins there.
 *   offsets    u16 for each row: where in its page the row begins. Each page has a row at 0.
 *   row rules  u16 for each row: the number of its rule
 *   rules      20 bytes for each rule; rule 0 is "unknown"
 *
 * The naming helper makes the bytes, and a hostile file may take over that process, so
 * unwind_table_open() checks each byte. Open only bytes that other processes cannot change any
 * more: sealed memory, or memory of this process.
 */

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unwind/user-registers.h"

/* The builder does not make larger tables, and unwind_table_open() does not open them. */
#define UNWIND_TABLE_MAX (16u << 20)
#define UNWIND_TABLE_MAGIC 0x31577470u /* "ptW1" */
#define UNWIND_TABLE_HEAD 32
#define UNWIND_RULE_SIZE 20
#define UNWIND_PAGE_SHIFT 16
#define UNWIND_SLICE_SHIFT 8
#define UNWIND_SLICES 256
#define UNWIND_PAGES_MAX 65536u
#define UNWIND_RULES_MAX 65536u

/* How to find the CFA, which is the caller's stack pointer after the return. */
enum unwind_rule_kind {
	/* The entries of .eh_frame do not cover this code. */
	UNWIND_RULE_UNKNOWN,
	/* register + offset */
	UNWIND_RULE_REGISTER,
	/* x86-64: an entry of the PLT, of 16 bytes; it has pushed a word from byte `offset` on */
	UNWIND_RULE_PLT,
	/* *(register + offset) + offset2 */
	UNWIND_RULE_MEMORY,
	/* The outermost frame, which lacks a return address. */
	UNWIND_RULE_END,
	/* A signal trampoline: the registers lie in the ucontext on the stack. */
	UNWIND_RULE_SIGNAL,
	/* An entry covers this code, but in a way that unwind/ does not evaluate. */
	UNWIND_RULE_STRANGE,
};
#define UNWIND_RULE_KINDS 7

/* The place of the caller's value of a register. */
enum unwind_place {
	/* In the register itself. */
	UNWIND_PLACE_SAME,
	/* In memory at CFA + offset. */
	UNWIND_PLACE_CFA,
	/* In memory at the frame pointer + offset. */
	UNWIND_PLACE_FRAME,
	/* In the register that `offset` names. */
	UNWIND_PLACE_REGISTER,
	/* The value is lost. */
	UNWIND_PLACE_LOST,
};
#define UNWIND_PLACES 5

struct unwind_rule {
	uint8_t kind;
	/* DWARF number of the CFA's register. */
	uint8_t number;
	/* Where the return address, the frame pointer and (x86-64) RBX are. */
	uint8_t return_place, frame_place, base_place;
	int32_t offset, offset2;
	/*
	 * The offsets of the three places. A place with a larger offset is lost, or makes the rule
	 * strange.
	 */
	int16_t return_offset, frame_offset, base_offset;
};

struct unwind_table {
	const uint8_t *bytes;
	/* The size of the table. More bytes may follow. */
	size_t size;
	enum unwind_machine machine;
	/* The first offset in the file that the table covers. */
	uint64_t base;
	uint32_t pages, rows, rules;
	/*
	 * Set by the owner, for unwind/rule-cache.h: unlike that of each other table, also of one
	 * that ended. 0: none.
	 */
	uint32_t number;
	/* Parts of `bytes`. */
	const uint8_t *page_at, *slice_at, *offset_at, *row_rule_at, *rule_at;
};

/*
 * Checks all bytes and opens them as a table. The bytes must outlive the table and never change.
 * Returns 0, or -EBADMSG if the bytes are not a table.
 */
int unwind_table_open(const void *bytes, size_t size, struct unwind_table *ret_table);

/*
 * Finds the rule at an offset in the file. Outside of the table, the rule is unknown. Reads at most
 * a few dozen bytes.
 */
void unwind_table_find(const struct unwind_table *table, uint64_t offset,
		       struct unwind_rule *ret_rule);

/*
 * Returns one row after the other. *at starts at 0. Returns 1 with the offset at which the rule
 * begins to hold, or 0 at the end. For tests and tools.
 */
int unwind_table_next(const struct unwind_table *table, uint32_t *at, uint64_t *ret_offset,
		      struct unwind_rule *ret_rule);

void unwind_rule_encode(const struct unwind_rule *rule, uint8_t ret_bytes[UNWIND_RULE_SIZE]);
/* Returns 0, or -EBADMSG if the bytes are not a rule. */
int unwind_rule_decode(const uint8_t bytes[UNWIND_RULE_SIZE], struct unwind_rule *ret_rule);
