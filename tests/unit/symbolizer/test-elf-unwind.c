// SPDX-License-Identifier: GPL-2.0-only
/* Which files get an unwind table: walks use 64-bit registers and words. */
#include "symbolizer/elf-unwind.h"

#include <elf.h>
#include <errno.h>

#include "tests/elves.h"
#include "tests/unwinds.h"
#include "unwind/unwind-table.h"

/* Makes .eh_frame with one function, for a section at `address`. */
static void make_frame(uint64_t address, struct unwinds_frame *frame)
{
	unwinds_common_x86_64(frame);
	unwinds_put_function(frame, UNWINDS_FRAME - address + ELVES_CODE + 0x100, 0x40,
			     UNWINDS_PROGRAM(0x0e, 16), false);
}

static void make_64(struct buffer *file)
{
	_cleanup_(unwinds_frame_done) struct unwinds_frame frame = { 0 };

	make_frame(ELVES_DATA, &frame);
	elves_make(
		file,
		(struct elves_section[]){
			{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
			{ ".eh_frame", SHT_PROGBITS, SHF_ALLOC, ELVES_DATA, 0, &frame.bytes } },
		2);
}

/* Makes a program of the x32 ABI: the machine is x86-64, and the words of the stack have 64 bits.
 */
static void make_x32(struct buffer *file)
{
	static const char names[] = "\0.eh_frame";
	enum { SEGMENTS = sizeof(Elf32_Ehdr), FRAME = 0x100, NAMES = 0x200, SECTIONS = 0x280 };
	const Elf32_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = SEGMENTS,
		.e_shoff = SECTIONS,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf32_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf32_Phdr code = { PT_LOAD,	   0x1000,	    ELVES_CODE,	 0,
				  ELVES_CODE_SIZE, ELVES_CODE_SIZE, PF_R | PF_X, 0x1000 };
	_cleanup_(unwinds_frame_done) struct unwinds_frame frame = { 0 };
	Elf32_Shdr sections[3] = { 0 };

	make_frame(ELVES_DATA, &frame);
	sections[1] = (Elf32_Shdr){ .sh_name = 1,
				    .sh_type = SHT_PROGBITS,
				    .sh_flags = SHF_ALLOC,
				    .sh_addr = ELVES_DATA,
				    .sh_offset = FRAME,
				    .sh_size = frame.bytes.size };
	sections[2] =
		(Elf32_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = sizeof(names) };
	buffer_bytes(file, &header, sizeof(header));
	buffer_bytes(file, &code, sizeof(code));
	elves_pad(file, FRAME);
	buffer_bytes(file, frame.bytes.data, frame.bytes.size);
	elves_pad(file, NAMES);
	buffer_bytes(file, names, sizeof(names));
	elves_pad(file, SECTIONS);
	buffer_bytes(file, sections, sizeof(sections));
	elves_pad(file, 0x1000 + ELVES_CODE_SIZE);
	CHECK(!buffer_failed(file));
}

static int table_of(const struct buffer *file, struct buffer *bytes)
{
	return elf_unwind_table_image(file->data, file->size, bytes);
}

static void test_64(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 }, bytes = { 0 };
	struct unwind_table table;
	struct unwind_rule rule;

	make_64(&file);
	CHECK_EQ(table_of(&file, &bytes), 0);
	CHECK_EQ(unwind_table_open(bytes.data, bytes.size, &table), 0);
	unwind_table_find(&table, ELVES_CODE - ELVES_BASE + 0x110, &rule);
	CHECK_EQ(rule.offset, 16);
}

/*
 * A program for another machine or byte order has no table, because the walk would take wrong words
 * for callers.
 */
static void test_others(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t value;
	} others[] = {
		{ "big-endian", EI_DATA, ELFDATA2MSB },
		{ "of a machine that perftape does not unwind", 18, EM_386 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		_cleanup_(buffer_done) struct buffer file = { 0 }, bytes = { 0 };

		printf("# %s\n", others[i].what);
		make_64(&file);
		file.data[others[i].at] = others[i].value;
		CHECK_EQ(table_of(&file, &bytes), -EBADMSG);
		CHECK_EQ(bytes.size, 0);
	}
}

static void test_x32(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 }, bytes = { 0 };

	make_x32(&file);
	CHECK_EQ(table_of(&file, &bytes), -EBADMSG);
	CHECK_EQ(bytes.size, 0);
}

CHECK_MAIN({ "a program of 64 bits has a table", test_64 },
	   { "foreign programs have no table", test_others },
	   { "a program of 32 bits has no table", test_x32 })
