// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables from .eh_frame that the test writes byte by byte. With PERFTAPE_WRITE_UNWIND=DIR, the test
 * also writes the sections to DIR. The files in tests/fuzz/corpus/unwind-build were made in this
 * way.
 */
#include "tests/check.h"

#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "tests/unwinds.h"

#define RSP 7
#define RBP 6

/* A section and its table. Starts zeroed. */
struct made {
	struct unwinds_frame frame;
	struct buffer bytes;
	struct unwind_table table;
};

static void made_done(struct made *made)
{
	unwinds_frame_done(&made->frame);
	buffer_done(&made->bytes);
}

static void write_section(const struct made *made)
{
	static unsigned int count;
	const char *dir = getenv("PERFTAPE_WRITE_UNWIND");
	char name[32];

	if (!dir)
		return;
	snprintf(name, sizeof(name), "section-%u", ++count);
	CHECK_EQ(file_replace(dir, name, made->frame.bytes.data, made->frame.bytes.size), 0);
}

static void make(struct made *made, enum unwind_machine machine)
{
	write_section(made);
	unwinds_make(&made->frame, machine, &made->bytes, &made->table);
}

/* Makes a section with one function of 0x100 bytes at 0x100. */
static void make_one(struct made *made, struct unwinds_program program)
{
	unwinds_common_x86_64(&made->frame);
	unwinds_function(&made->frame, 0x100, 0x100, program);
	make(made, UNWIND_X86_64);
}

#define CHECK_RULE(made, at, wanted_kind, wanted_number, wanted_offset)        \
	do {                                                                   \
		struct unwind_rule _rule = unwinds_rule(&(made)->table, (at)); \
		CHECK_EQ(_rule.kind, (wanted_kind));                           \
		if ((wanted_kind) == UNWIND_RULE_REGISTER) {                   \
			CHECK_EQ(_rule.number, (wanted_number));               \
			CHECK_EQ(_rule.offset, (wanted_offset));               \
		}                                                              \
	} while (0)

/* push rbp; mov rbp, rsp; ... pop rbp; ret */
static void test_ordinary(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	struct unwind_rule rule;

	make_one(&made, UNWINDS_PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0xf0, 0x0c, 7,
					8, 0xc6));
	CHECK_RULE(&made, 0xff, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, 0x100, UNWIND_RULE_REGISTER, RSP, 8);
	CHECK_EQ(unwinds_rule(&made.table, 0x100).frame_place, UNWIND_PLACE_SAME);
	CHECK_RULE(&made, 0x101, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_RULE(&made, 0x103, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_RULE(&made, 0x104, UNWIND_RULE_REGISTER, RBP, 16);
	rule = unwinds_rule(&made.table, 0x150);
	CHECK_EQ(rule.return_place, UNWIND_PLACE_CFA);
	CHECK_EQ(rule.return_offset, -8);
	CHECK_EQ(rule.frame_place, UNWIND_PLACE_CFA);
	CHECK_EQ(rule.frame_offset, -16);
	CHECK_RULE(&made, 0x1f4, UNWIND_RULE_REGISTER, RSP, 8);
	CHECK_EQ(unwinds_rule(&made.table, 0x1f4).frame_place, UNWIND_PLACE_SAME);
	CHECK_RULE(&made, 0x200, UNWIND_RULE_UNKNOWN, 0, 0);
}

/* The remembered state includes the CFA. */
static void test_remember(void)
{
	_cleanup_(made_done) struct made made = { 0 };

	make_one(&made,
		 UNWINDS_PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x41, 0x0a, 0x0e, 8, 0xc6, 0x41, 0x0b));
	CHECK_RULE(&made, 0x102, UNWIND_RULE_REGISTER, RSP, 8);
	CHECK_RULE(&made, 0x103, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_EQ(unwinds_rule(&made.table, 0x103).frame_place, UNWIND_PLACE_CFA);
}

/* Advances with operands of 1, 2 and 4 bytes, and an advance to an absolute address. */
static void test_advances(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	uint32_t place, target;

	make_one(&made, UNWINDS_PROGRAM(0x02, 0x10, 0x0e, 16, 0x03, 0x10, 0, 0x0e, 24, 0x04, 0x10,
					0, 0, 0, 0x0e, 32));
	CHECK_RULE(&made, 0x10f, UNWIND_RULE_REGISTER, RSP, 8);
	CHECK_RULE(&made, 0x110, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_RULE(&made, 0x120, UNWIND_RULE_REGISTER, RSP, 24);
	CHECK_RULE(&made, 0x130, UNWIND_RULE_REGISTER, RSP, 32);
	made_done(&made);

	made = (struct made){ 0 };
	unwinds_common_x86_64(&made.frame);
	/* the operand's place: length, id, start, size, augmentation, opcode */
	place = UNWINDS_FRAME + made.frame.bytes.size + 4 + 4 + 4 + 4 + 1 + 1;
	target = UNWINDS_CODE + 0x140 - place;
	unwinds_function(&made.frame, 0x100, 0x100,
			 UNWINDS_PROGRAM(0x01, target & 0xff, target >> 8 & 0xff,
					 target >> 16 & 0xff, target >> 24, 0x0e, 16));
	make(&made, UNWIND_X86_64);
	CHECK_RULE(&made, 0x13f, UNWIND_RULE_REGISTER, RSP, 8);
	CHECK_RULE(&made, 0x140, UNWIND_RULE_REGISTER, RSP, 16);
}

/* Expressions that compilers and linkers write, and an expression that they do not write. */
static void test_expressions(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	struct unwind_rule rule;

	unwinds_common_x86_64(&made.frame);
	unwinds_function(&made.frame, 0x100, 0x10,
			 UNWINDS_PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
					 0x24, 0x22));
	/* main() that aligns its stack: CFA = *(rbp - 8), RBP and RBX relative to RBP */
	unwinds_function(&made.frame, 0x200, 0x10,
			 UNWINDS_PROGRAM(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2,
					 0x76, 0x68));
	/* alloca of libffi and openssl: CFA = *(rsp + 16) + 8 */
	unwinds_function(&made.frame, 0x300, 0x10,
			 UNWINDS_PROGRAM(0x0f, 5, 0x77, 16, 0x06, 0x23, 8));
	unwinds_function(&made.frame, 0x400, 0x10, UNWINDS_PROGRAM(0x0f, 2, 0x31, 0x32));
	/* a return address by expression */
	unwinds_function(&made.frame, 0x500, 0x10, UNWINDS_PROGRAM(0x10, 16, 2, 0x77, 0));
	make(&made, UNWIND_X86_64);
	rule = unwinds_rule(&made.table, 0x100);
	CHECK_EQ(rule.kind, UNWIND_RULE_PLT);
	CHECK_EQ(rule.offset, 11);
	rule = unwinds_rule(&made.table, 0x200);
	CHECK_EQ(rule.kind, UNWIND_RULE_MEMORY);
	CHECK_EQ(rule.number, RBP);
	CHECK_EQ(rule.offset, -8);
	CHECK_EQ(rule.frame_place, UNWIND_PLACE_FRAME);
	CHECK_EQ(rule.frame_offset, 0);
	CHECK_EQ(rule.base_place, UNWIND_PLACE_FRAME);
	CHECK_EQ(rule.base_offset, -24);
	rule = unwinds_rule(&made.table, 0x300);
	CHECK_EQ(rule.kind, UNWIND_RULE_MEMORY);
	CHECK_EQ(rule.offset, 16);
	CHECK_EQ(rule.offset2, 8);
	CHECK_EQ(unwinds_rule(&made.table, 0x400).kind, UNWIND_RULE_STRANGE);
	CHECK_EQ(unwinds_rule(&made.table, 0x500).kind, UNWIND_RULE_STRANGE);
}

/*
 * _start lacks a return address; vfork() keeps the return address in a register; longjmp() loads
 * another stack pointer.
 */
static void test_special_returns(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	struct unwind_rule rule;

	unwinds_common_x86_64(&made.frame);
	unwinds_function(&made.frame, 0x100, 0x10, UNWINDS_PROGRAM(0x07, 16));
	unwinds_function(&made.frame, 0x200, 0x10, UNWINDS_PROGRAM(0x0e, 0, 0x09, 16, 5));
	unwinds_function(&made.frame, 0x300, 0x10, UNWINDS_PROGRAM(0x09, 7, 8));
	make(&made, UNWIND_X86_64);
	CHECK_RULE(&made, 0x100, UNWIND_RULE_END, 0, 0);
	rule = unwinds_rule(&made.table, 0x200);
	CHECK_EQ(rule.return_place, UNWIND_PLACE_REGISTER);
	CHECK_EQ(rule.return_offset, 5);
	CHECK_RULE(&made, 0x300, UNWIND_RULE_STRANGE, 0, 0);
}

static void test_signal(void)
{
	_cleanup_(made_done) struct made made = { 0 };

	unwinds_common(&made.frame, "zRS", 16, UNWINDS_PROGRAM(0x90, 1));
	unwinds_function(&made.frame, 0xff, 0x10, UNWINDS_PROGRAM(0x0f, 4, 0x77, 0xa0, 0x01, 0x06));
	make(&made, UNWIND_X86_64);
	CHECK_RULE(&made, 0x100, UNWIND_RULE_SIGNAL, 0, 0);
}

/* Augmentation data of all letters, a length of 64 bits, and entries of size 0 between others. */
static void test_forms(void)
{
	_cleanup_(made_done) struct made made = { 0 };

	unwinds_common(&made.frame, "zPLR", 16, UNWINDS_PROGRAM(0x0c, 7, 8, 0x90, 1));
	buffer_u32(&made.frame.bytes, 0);
	unwinds_put_function(&made.frame, UNWINDS_CODE + 0x100, 0x10, UNWINDS_PROGRAM(0x0e, 16),
			     true);
	unwinds_function(&made.frame, 0x200, 0x10, UNWINDS_PROGRAM(0x0e, 24));
	make(&made, UNWIND_X86_64);
	CHECK_RULE(&made, 0x100, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_RULE(&made, 0x200, UNWIND_RULE_REGISTER, RSP, 24);
}

/* The reader does not know what an entry of this version, or with this letter, has. */
static void test_unknown_common(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	_cleanup_(buffer_done) struct buffer body = { 0 };

	unwinds_common_x86_64(&made.frame);
	unwinds_function(&made.frame, 0x100, 0x10, UNWINDS_PROGRAM(0x0e, 16));
	unwinds_common(&made.frame, "zXR", 16, UNWINDS_PROGRAM(0x0c, 7, 8, 0x90, 1));
	unwinds_function(&made.frame, 0x200, 0x10, UNWINDS_PROGRAM(0x0e, 16));
	unwinds_common_x86_64(&made.frame);
	made.frame.bytes.data[made.frame.common + 8] = 7;
	/* right for an entry without an augmentation */
	buffer_u32(&body, made.frame.bytes.size + 4 - made.frame.common);
	buffer_u64(&body, UNWINDS_CODE + 0x300);
	buffer_u64(&body, 0x10);
	buffer_bytes(&body, (uint8_t[]){ 0x0c, 7, 8, 0x90, 1 }, 5);
	unwinds_put(&made.frame, &body, false);
	make(&made, UNWIND_X86_64);
	CHECK_RULE(&made, 0x100, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_RULE(&made, 0x200, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, 0x300, UNWIND_RULE_UNKNOWN, 0, 0);
}

/* Functions in any order, of which some overlap, repeat, or lie outside of the code. */
static void test_order(void)
{
	_cleanup_(made_done) struct made made = { 0 };

	unwinds_common_x86_64(&made.frame);
	unwinds_function(&made.frame, 0x300, 0x80, UNWINDS_PROGRAM(0x0e, 16));
	unwinds_function(&made.frame, 0x100, 0x300, UNWINDS_PROGRAM(0x0e, 24));
	unwinds_function(&made.frame, 0x300, 0x80, UNWINDS_PROGRAM(0x0e, 32));
	unwinds_put_function(&made.frame, 0, 0x100, UNWINDS_PROGRAM(0x0e, 40), false);
	unwinds_function(&made.frame, UNWINDS_SIZE, 0x10, UNWINDS_PROGRAM(0x0e, 40));
	unwinds_function(&made.frame, UNWINDS_SIZE - 0x10, 0xfffff, UNWINDS_PROGRAM(0x0e, 48));
	make(&made, UNWIND_X86_64);
	CHECK_RULE(&made, 0x2ff, UNWIND_RULE_REGISTER, RSP, 24);
	CHECK_RULE(&made, 0x37f, UNWIND_RULE_REGISTER, RSP, 32);
	CHECK_RULE(&made, 0x380, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, UNWINDS_SIZE - 1, UNWIND_RULE_REGISTER, RSP, 48);
	CHECK_EQ(made.table.base, 0);
}

/* The builder drops what a function states after an unknown instruction. */
static void test_damage(void)
{
	_cleanup_(made_done) struct made made = { 0 };

	unwinds_common_x86_64(&made.frame);
	unwinds_function(&made.frame, 0x100, 0x10, UNWINDS_PROGRAM(0x44, 0x0e, 16, 0x44, 0x3f));
	unwinds_function(&made.frame, 0x200, 0x10, UNWINDS_PROGRAM(0x0b));
	/* the operand is missing */
	unwinds_function(&made.frame, 0x300, 0x10, UNWINDS_PROGRAM(0x44, 0x0e));
	/* the offset does not fit */
	unwinds_function(&made.frame, 0x400, 0x10,
			 UNWINDS_PROGRAM(0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f));
	/* far beyond the end */
	unwinds_function(&made.frame, 0x500, 0x10,
			 UNWINDS_PROGRAM(0x0e, 16, 0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 24));
	make(&made, UNWIND_X86_64);
	CHECK_RULE(&made, 0x104, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_RULE(&made, 0x108, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, 0x200, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, 0x300, UNWIND_RULE_REGISTER, RSP, 8);
	CHECK_RULE(&made, 0x304, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, 0x400, UNWIND_RULE_STRANGE, 0, 0);
	CHECK_RULE(&made, 0x50f, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_RULE(&made, 0x510, UNWIND_RULE_UNKNOWN, 0, 0);
}

/* arm64: signed return addresses, and a frame record. */
static void test_arm64(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	struct unwind_rule rule;

	unwinds_common_arm64(&made.frame);
	/* paciasp; stp x29, x30, [sp, -32]! */
	unwinds_function(&made.frame, 0x100, 0x40,
			 UNWINDS_PROGRAM(0x44, 0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3));
	make(&made, UNWIND_ARM64);
	rule = unwinds_rule(&made.table, 0x104);
	CHECK_EQ(rule.kind, UNWIND_RULE_REGISTER);
	CHECK_EQ(rule.number, ARM64_SP);
	CHECK_EQ(rule.return_place, UNWIND_PLACE_SAME);
	rule = unwinds_rule(&made.table, 0x108);
	CHECK_EQ(rule.offset, 32);
	CHECK_EQ(rule.return_place, UNWIND_PLACE_CFA);
	CHECK_EQ(rule.return_offset, -24);
	CHECK_EQ(rule.frame_offset, -32);
}

/* A PLT gets rules where .eh_frame lacks entries. */
static void test_frameless(void)
{
	static const struct unwind_segment code = { UNWINDS_CODE, UNWINDS_OFFSET, UNWINDS_SIZE };
	static const struct unwind_segment plts[] = { { 0, UNWINDS_OFFSET + 0x40, 0x20 },
						      { 0, UNWINDS_OFFSET + 0x1f0, 0x20 } };
	_cleanup_(made_done) struct made made = { 0 };
	struct unwind_source source = { .machine = UNWIND_X86_64,
					.frame_address = UNWINDS_FRAME,
					.code = &code,
					.code_count = 1,
					.frameless = plts,
					.frameless_count = 2 };

	unwinds_common_x86_64(&made.frame);
	unwinds_function(&made.frame, 0x100, 0x100, UNWINDS_PROGRAM(0));
	source.frame = made.frame.bytes.data;
	source.frame_size = made.frame.bytes.size;
	CHECK_EQ(unwind_table_build(&source, &made.bytes), 0);
	CHECK_EQ(unwind_table_open(made.bytes.data, made.bytes.size, &made.table), 0);
	CHECK_RULE(&made, 0x3f, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, 0x40, UNWIND_RULE_PLT, 0, 0);
	CHECK_RULE(&made, 0x60, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, 0x1ff, UNWIND_RULE_REGISTER, RSP, 8);
	CHECK_RULE(&made, 0x200, UNWIND_RULE_PLT, 0, 0);
	CHECK_RULE(&made, 0x210, UNWIND_RULE_UNKNOWN, 0, 0);
}

static void test_nothing(void)
{
	_cleanup_(made_done) struct made made = { 0 };

	CHECK_EQ(unwinds_try(&made.frame, UNWIND_X86_64, &made.bytes), -ENODATA);
	unwinds_common_x86_64(&made.frame);
	CHECK_EQ(unwinds_try(&made.frame, UNWIND_X86_64, &made.bytes), -ENODATA);
	CHECK_EQ(made.bytes.size, 0);
}

/*
 * With each byte of a table changed, unwind_table_open() refuses the table, or a search of it is
 * harmless.
 */
static void test_flipped(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	size_t refused = 0;

	make_one(&made, UNWINDS_PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
	for (size_t i = 0; i < made.bytes.size * 8; i++) {
		struct unwind_table table;
		struct unwind_rule rule;

		made.bytes.data[i / 8] ^= 1 << i % 8;
		if (unwind_table_open(made.bytes.data, made.bytes.size, &table) < 0)
			refused++;
		else
			for (uint64_t at = 0; at < 0x20000; at += 0x35)
				unwind_table_find(&table, at, &rule);
		made.bytes.data[i / 8] ^= 1 << i % 8;
	}
	CHECK(refused > made.bytes.size);
	for (size_t size = 0; size < made.bytes.size; size++) {
		struct unwind_table table;

		CHECK_EQ(unwind_table_open(made.bytes.data, size, &table), -EBADMSG);
	}
}

/*
 * Rows of several pages. Each page begins with the rule that holds at the end of the page before.
 */
static void test_pages(void)
{
	static const struct unwind_segment code = { UNWINDS_CODE, UNWINDS_OFFSET, 1 << 20 };
	_cleanup_(made_done) struct made made = { 0 };
	struct unwind_source source = { .machine = UNWIND_X86_64,
					.frame_address = UNWINDS_FRAME,
					.code = &code,
					.code_count = 1 };

	unwinds_common_x86_64(&made.frame);
	unwinds_function(&made.frame, 0x100, 0x48000, UNWINDS_PROGRAM(0x41, 0x0e, 16));
	source.frame = made.frame.bytes.data;
	source.frame_size = made.frame.bytes.size;
	CHECK_EQ(unwind_table_build(&source, &made.bytes), 0);
	CHECK_EQ(unwind_table_open(made.bytes.data, made.bytes.size, &made.table), 0);
	CHECK_EQ(made.table.pages, 5);
	for (uint64_t at = 0x101; at < 0x48100; at += 0xfff)
		CHECK_RULE(&made, at, UNWIND_RULE_REGISTER, RSP, 16);
	CHECK_RULE(&made, 0x48100, UNWIND_RULE_UNKNOWN, 0, 0);
	CHECK_RULE(&made, 0x90000, UNWIND_RULE_UNKNOWN, 0, 0);
}

/* A linker merges common entries, so thousands of them come from an attacker. */
static void test_commons_bound(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	static const struct unwinds_program nothing;

	for (unsigned int i = 0; i < 16384; i++)
		unwinds_common_x86_64(&made.frame);
	unwinds_function(&made.frame, 0x100, 0x100, nothing);
	CHECK_EQ(unwinds_try(&made.frame, UNWIND_X86_64, &made.bytes), 0);
	unwinds_common_x86_64(&made.frame);
	CHECK_EQ(unwinds_try(&made.frame, UNWIND_X86_64, &made.bytes), -EFBIG);
}

static void test_functions_bound(void)
{
	_cleanup_(made_done) struct made made = { 0 };
	static const struct unwinds_program nothing;

	unwinds_common_x86_64(&made.frame);
	for (unsigned int i = 0; i < 1 << 20; i++)
		unwinds_function(&made.frame, 0x100, 0x100, nothing);
	CHECK(made.frame.bytes.size < UNWIND_FRAME_MAX);
	CHECK_EQ(unwinds_try(&made.frame, UNWIND_X86_64, &made.bytes), 0);
	unwinds_function(&made.frame, 0x100, 0x100, nothing);
	CHECK_EQ(unwinds_try(&made.frame, UNWIND_X86_64, &made.bytes), -EFBIG);
}

/* Two functions 3 GB apart would make pages for all code between them. */
static void test_pages_bound(void)
{
	static const struct unwind_segment code = { UNWINDS_CODE, UNWINDS_OFFSET, 1ull << 32 };
	_cleanup_(made_done) struct made made = { 0 };
	static const struct unwinds_program nothing;
	struct unwind_source source = { .machine = UNWIND_X86_64,
					.frame_address = UNWINDS_FRAME + (1ull << 31),
					.code = &code,
					.code_count = 1 };

	unwinds_common_x86_64(&made.frame);
	/* the section lies between both, because a distance has 32 bits */
	unwinds_put_function(&made.frame, UNWINDS_CODE - (3ull << 29), 0x100, nothing, false);
	unwinds_put_function(&made.frame, UNWINDS_CODE + (3ull << 29), 0x100, nothing, false);
	source.frame = made.frame.bytes.data;
	source.frame_size = made.frame.bytes.size;
	CHECK_EQ(unwind_table_build(&source, &made.bytes), -EFBIG);
}

/* A section may not be larger, whatever it has. */
static void test_section_bound(void)
{
	const struct unwind_source source = { .machine = UNWIND_X86_64,
					      .frame_size = UNWIND_FRAME_MAX + 1 };
	struct buffer bytes = { 0 };

	CHECK_EQ(unwind_table_build(&source, &bytes), -EFBIG);
}

CHECK_MAIN({ "an ordinary function", test_ordinary },
	   { "a remembered state comes back whole", test_remember },
	   { "all ways to advance", test_advances },
	   { "known expressions, and an unknown one", test_expressions },
	   { "no return address, one in a register, another stack", test_special_returns },
	   { "a signal trampoline", test_signal },
	   { "augmentations, long lengths, entries of size 0", test_forms },
	   { "a common entry of an unknown form has no functions", test_unknown_common },
	   { "functions in any order", test_order },
	   { "damaged functions are unknown from there on", test_damage },
	   { "signed return addresses of arm64", test_arm64 },
	   { "a PLT without entries", test_frameless },
	   { "a section without functions gives no table", test_nothing },
	   { "a damaged table is refused or harmless", test_flipped },
	   { "tables of several pages", test_pages },
	   { "too many common entries", test_commons_bound },
	   { "too many functions", test_functions_bound }, { "too many pages", test_pages_bound },
	   { "too large a section", test_section_bound })
