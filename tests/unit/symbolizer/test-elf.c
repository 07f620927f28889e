// SPDX-License-Identifier: GPL-2.0-only
/*
 * ELF files made from the lists below, so that their contents are visible in the source. With
 * PERFTAPE_WRITE_ELF=DIR, the test also writes the files to DIR. The files in tests/fuzz/corpus/elf
 * were made in this way.
 */
#include "tests/check.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "symbolizer/elf.h"
#include "symbolizer/addresses.h"

/* The code is mapped 0x100000 above its offset in the file. */
#define CODE_OFFSET 0x1000
#define CODE_ADDRESS 0x101000
#define CODE_SIZE 0x300

/* The sections by number; .plt is within the code. */
enum {
	TEXT = 1,
	PLT,
	PLT_SEC,
	DATA,
	SYMTAB,
	STRTAB,
	DYNSYM,
	DYNSTR,
	RELA_PLT,
	NOTE,
	NAMES,
	SECTIONS
};
static const char section_names[] =
	"\0.text\0.plt\0.plt.sec\0.data\0.symtab\0.strtab\0.dynsym\0.dynstr\0"
	".rela.plt\0.note.gnu.build-id\0.shstrtab";

struct made_symbol {
	uint64_t value;
	uint64_t size;
	uint8_t info;
	uint8_t other;
	uint16_t section;
	const char *name;
};

#define INFO(bind, type) ELF64_ST_INFO(STB_##bind, STT_##type)

static const struct made_symbol many_symbols[] = {
	{ 0x101100, 0x20, INFO(GLOBAL, FUNC), 0, TEXT, "plain" },
	{ 0x101100, 0x20, INFO(WEAK, FUNC), 0, TEXT, "weaker_alias" },
	{ 0x101120, 0x10, INFO(LOCAL, FUNC), 0, TEXT, "_ZN5space6insideEi" },
	{ 0x101130, 0, INFO(LOCAL, NOTYPE), 0, TEXT, "label" },
	{ 0x101138, 0, INFO(GLOBAL, NOTYPE), STV_HIDDEN, TEXT, "hidden_label" },
	{ 0x101140, 0x10, INFO(GLOBAL, GNU_IFUNC), 0, TEXT, "chosen_at_load" },
	{ 0x101150, 0x10, INFO(GLOBAL, FUNC), 0, SHN_UNDEF, "elsewhere" },
	{ 0x101150, 0x10, INFO(GLOBAL, FUNC), 0, SHN_ABS, "absolute" },
	{ 0x101150, 0x10, INFO(GLOBAL, FUNC), 0, 77, "no_such_section" },
	{ 0x101150, 0x10, INFO(GLOBAL, SECTION), 0, TEXT, "section" },
	{ 0x101160, 0, INFO(GLOBAL, FUNC), 0, TEXT, "last_without_size" },
	{ 0x201000, 0x10, INFO(GLOBAL, OBJECT), 0, DATA, "variable" },
};

static const struct made_symbol dynamic_symbols[] = {
	{ 0, 0, INFO(GLOBAL, FUNC), 0, SHN_UNDEF, "malloc" },
	{ 0, 0, INFO(GLOBAL, FUNC), 0, SHN_UNDEF, "_Znwm" },
	{ 0x101100, 0x20, INFO(GLOBAL, FUNC), 0, TEXT, "exp" },
};

struct recipe {
	const char *name;
	const struct made_symbol *symbols;
	size_t symbol_count;
	const struct made_symbol *dynamic;
	size_t dynamic_count;
	bool second_plt;
	/* the file lacks code */
	bool debug;
	/* the file lacks segments, like kernel modules */
	bool bare;
};

static const struct recipe recipes[] = {
	{ .name = "full",
	  .symbols = many_symbols,
	  .symbol_count = ARRAY_SIZE(many_symbols),
	  .dynamic = dynamic_symbols,
	  .dynamic_count = ARRAY_SIZE(dynamic_symbols) },
	{ .name = "stripped",
	  .dynamic = dynamic_symbols,
	  .dynamic_count = ARRAY_SIZE(dynamic_symbols),
	  .second_plt = true },
	{ .name = "debug",
	  .symbols = many_symbols,
	  .symbol_count = ARRAY_SIZE(many_symbols),
	  .debug = true },
	{ .name = "bare",
	  .symbols = many_symbols,
	  .symbol_count = ARRAY_SIZE(many_symbols),
	  .bare = true },
	{ .name = "none" },
};
enum { FULL, STRIPPED, DEBUG, BARE, NONE };

/* The header and the bytes of a section while the test makes the file. */
struct made_section {
	Elf64_Shdr header;
	struct buffer bytes;
};

static void put_symbols(struct made_section *table, struct made_section *strings,
			const struct made_symbol *symbols, size_t count)
{
	Elf64_Sym none = { 0 };

	buffer_bytes(&table->bytes, &none, sizeof(none));
	buffer_u8(&strings->bytes, 0);
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym sym = {
			.st_name = strings->bytes.size,
			.st_value = symbols[i].value,
			.st_size = symbols[i].size,
			.st_info = symbols[i].info,
			.st_other = symbols[i].other,
			.st_shndx = symbols[i].section,
		};

		buffer_bytes(&table->bytes, &sym, sizeof(sym));
		buffer_bytes(&strings->bytes, symbols[i].name, strlen(symbols[i].name) + 1);
	}
}

static void put_code(Elf64_Shdr *header, uint32_t type, uint64_t at, uint64_t size)
{
	*header = (Elf64_Shdr){ .sh_type = type,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_addr = CODE_ADDRESS + at,
				.sh_offset = CODE_OFFSET + at,
				.sh_size = size,
				.sh_entsize = at ? 0 : 16 };
}

static void put_note(struct buffer *bytes)
{
	buffer_u32(bytes, 4);
	buffer_u32(bytes, 20);
	buffer_u32(bytes, NT_GNU_BUILD_ID);
	buffer_bytes(bytes, "GNU", 4);
	for (int i = 0; i < 20; i++)
		buffer_u8(bytes, 0xa0 + i);
}

static void make_sections(const struct recipe *recipe, struct made_section *sections)
{
	uint32_t code = recipe->debug ? SHT_NOBITS : SHT_PROGBITS;
	const char *name = section_names;

	put_code(&sections[PLT].header, code, 0, 0x30);
	put_code(&sections[TEXT].header, code, 0x100, CODE_SIZE - 0x100);
	if (recipe->second_plt)
		put_code(&sections[PLT_SEC].header, code, 0x40, 0x20);
	sections[DATA].header = (Elf64_Shdr){ .sh_type = SHT_NOBITS,
					      .sh_flags = SHF_ALLOC | SHF_WRITE,
					      .sh_addr = 0x201000,
					      .sh_offset = 0x2000,
					      .sh_size = 0x10 };
	if (recipe->symbol_count) {
		sections[SYMTAB].header =
			(Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = STRTAB, .sh_entsize = 24 };
		sections[STRTAB].header.sh_type = SHT_STRTAB;
		put_symbols(&sections[SYMTAB], &sections[STRTAB], recipe->symbols,
			    recipe->symbol_count);
	}
	if (recipe->dynamic_count) {
		sections[DYNSYM].header = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
							.sh_flags = SHF_ALLOC,
							.sh_link = DYNSTR,
							.sh_entsize = 24 };
		sections[DYNSTR].header.sh_type = SHT_STRTAB;
		put_symbols(&sections[DYNSYM], &sections[DYNSTR], recipe->dynamic,
			    recipe->dynamic_count);
		sections[RELA_PLT].header = (Elf64_Shdr){
			.sh_type = SHT_RELA, .sh_link = DYNSYM, .sh_info = PLT, .sh_entsize = 24
		};
		for (uint32_t i = 1; i <= 2; i++) {
			Elf64_Rela rela = { .r_info = ELF64_R_INFO(i, R_X86_64_JUMP_SLOT) };

			buffer_bytes(&sections[RELA_PLT].bytes, &rela, sizeof(rela));
		}
	}
	sections[NOTE].header =
		(Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC, .sh_addralign = 4 };
	put_note(&sections[NOTE].bytes);
	sections[NAMES].header.sh_type = SHT_STRTAB;
	buffer_bytes(&sections[NAMES].bytes, section_names, sizeof(section_names));
	for (size_t i = 0; i < SECTIONS; i++, name += strlen(name) + 1)
		sections[i].header.sh_name = name - section_names;
}

static void put_headers(const struct recipe *recipe, struct buffer *file, uint64_t note,
			uint64_t sections)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = recipe->bare ? ET_REL : ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = recipe->bare ? 0 : sizeof(header),
		.e_shoff = sections,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = recipe->bare ? 0 : 3,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = NAMES,
	};
	Elf64_Phdr segments[] = {
		{ PT_LOAD, PF_R | PF_X, CODE_OFFSET, CODE_ADDRESS, 0, CODE_SIZE, CODE_SIZE,
		  0x1000 },
		{ PT_LOAD, PF_R | PF_W, 0x2000, 0x201000, 0, 0x10, 0x10, 0x1000 },
		{ PT_NOTE, PF_R, note, note, 0, 36, 36, 4 },
	};

	buffer_bytes(file, &header, sizeof(header));
	buffer_bytes(file, segments, sizeof(segments));
}

/*
 * The file does not contain the code, because symbolizer/ does not read code, and a section may
 * begin after the end of the file.
 */
static void make_elf(const struct recipe *recipe, struct buffer *file)
{
	struct made_section sections[SECTIONS] = { 0 };
	uint64_t at = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);

	make_sections(recipe, sections);
	for (size_t i = SYMTAB; i < SECTIONS; i++) {
		sections[i].header.sh_offset = at;
		sections[i].header.sh_size = sections[i].bytes.size;
		buffer_bytes(&sections[i].bytes, (uint8_t[8]){ 0 }, -sections[i].bytes.size & 7);
		at += sections[i].bytes.size;
	}
	put_headers(recipe, file, sections[NOTE].header.sh_offset, at);
	for (size_t i = SYMTAB; i < SECTIONS; i++)
		buffer_bytes(file, sections[i].bytes.data, sections[i].bytes.size);
	for (size_t i = 0; i < SECTIONS; i++) {
		buffer_bytes(file, &sections[i].header, sizeof(sections[i].header));
		buffer_done(&sections[i].bytes);
	}
	CHECK(!buffer_failed(file));
}

/* Opens a file in memory with these bytes. */
static int open_bytes(const void *bytes, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(file_write_all(fd, bytes, size), 0);
	return fd;
}

static int open_recipe(int i)
{
	_cleanup_(buffer_done) struct buffer file = { 0 };

	make_elf(&recipes[i], &file);
	return open_bytes(file.data, file.size);
}

/* Names every address of the code, and the addresses around it. */
static void want_all(struct addresses *addresses)
{
	for (uint64_t address = 0xff0; address < 0x2010; address++)
		CHECK_EQ(addresses_add(addresses, address), 0);
	addresses_sort(addresses);
}

static const char *name_at(const struct addresses *addresses, uint64_t address)
{
	return addresses_name(addresses, addresses_find(addresses, address));
}

/* Which other addresses are named at the same time does not change any name. */
static void check_one_by_one(int recipe, const struct addresses *all)
{
	_cleanup_close_ int fd = open_recipe(recipe);

	for (size_t i = 0; i < all->list.count; i += 3) {
		_cleanup_(addresses_done) struct addresses one = { 0 };
		const struct address *there = &all->list.items[i];

		CHECK_EQ(addresses_add(&one, there->address), 0);
		CHECK_EQ(elf_names(fd, -1, &one, NULL), 0);
		CHECK_STR(addresses_name(&one, &one.list.items[0]), addresses_name(all, there));
		CHECK_EQ(one.list.items[0].start, there->start);
	}
}

static void check_many(const struct addresses *addresses)
{
	CHECK_STR(name_at(addresses, 0x10ff), "");
	CHECK_STR(name_at(addresses, 0x1100), "plain");
	CHECK_STR(name_at(addresses, 0x111f), "plain");
	CHECK_STR(name_at(addresses, 0x1120), "space::inside");
	CHECK_STR(name_at(addresses, 0x113f), "label");
	CHECK_STR(name_at(addresses, 0x1140), "chosen_at_load");
	CHECK_STR(name_at(addresses, 0x1150), "");
	CHECK_STR(name_at(addresses, 0x12ff), "last_without_size");
}

static void test_full(void)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = open_recipe(FULL);

	want_all(&addresses);
	CHECK_EQ(elf_names(fd, -1, &addresses, NULL), 0);
	check_many(&addresses);
	CHECK_STR(name_at(&addresses, 0x100f), "");
	CHECK_STR(name_at(&addresses, 0x1010), "malloc@plt");
	CHECK_STR(name_at(&addresses, 0x102f), "operator new@plt");
	CHECK_STR(name_at(&addresses, 0x1030), "");
	/* data lacks a name, but ends the label before it */
	CHECK_STR(name_at(&addresses, 0x1fff), "last_without_size");
	CHECK_STR(name_at(&addresses, 0x2000), "");
	check_one_by_one(FULL, &addresses);
}

static void test_stripped(void)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = open_recipe(STRIPPED);

	want_all(&addresses);
	CHECK_EQ(elf_names(fd, -1, &addresses, NULL), 0);
	CHECK_STR(name_at(&addresses, 0x1100), "exp");
	CHECK_STR(name_at(&addresses, 0x1040), "malloc@plt");
	CHECK_STR(name_at(&addresses, 0x1050), "operator new@plt");
}

static void test_debug_file(void)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = open_recipe(STRIPPED), debug_fd = open_recipe(DEBUG);

	want_all(&addresses);
	CHECK_EQ(elf_names(fd, debug_fd, &addresses, NULL), 0);
	check_many(&addresses);
	CHECK_STR(name_at(&addresses, 0x1040), "malloc@plt");
}

static void test_bare(void)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = open_recipe(BARE);

	want_all(&addresses);
	CHECK_EQ(elf_names(fd, -1, &addresses, NULL), 0);
	check_many(&addresses);
}

static void test_none(void)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = open_recipe(NONE);

	want_all(&addresses);
	CHECK_EQ(elf_names(fd, -1, &addresses, NULL), 0);
	CHECK_EQ(addresses.open, addresses.list.count);
}

static void test_image(void)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_(buffer_done) struct buffer file = { 0 };

	make_elf(&recipes[FULL], &file);
	want_all(&addresses);
	CHECK_EQ(elf_names_image(file.data, file.size, &addresses, NULL), 0);
	check_many(&addresses);
}

static void test_build_id(void)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size = 0;

	for (int i = 0; i < (int)ARRAY_SIZE(recipes); i++) {
		_cleanup_close_ int fd = open_recipe(i);

		memset(id, 0, sizeof(id));
		CHECK_EQ(elf_build_id(fd, id, &size), 1);
		CHECK_EQ(size, 20);
		CHECK_EQ(id[0], 0xa0);
		CHECK_EQ(id[19], 0xb3);
	}
}

static void test_notes(void)
{
	_cleanup_(buffer_done) struct buffer notes = { 0 };
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size = 0;

	/* another note precedes it, with odd sizes */
	buffer_u32(&notes, 5);
	buffer_u32(&notes, 3);
	buffer_u32(&notes, NT_GNU_BUILD_ID);
	buffer_bytes(&notes, "abcd\0\0\0\0xyz", 12);
	put_note(&notes);
	CHECK_EQ(elf_notes_build_id(notes.data, notes.size, id, &size), 1);
	CHECK_EQ(size, 20);
	/* truncated anywhere, the notes lack a build-id */
	for (size_t cut = 0; cut < notes.size; cut++)
		CHECK_EQ(elf_notes_build_id(notes.data, cut, id, &size), 0);
}

static void test_no_elf(void)
{
	static const char text[] =
		"#!/bin/sh\necho not an ELF file, but longer than the header of one is\n";
	_cleanup_close_ int fd = open_bytes(text, sizeof(text)), empty = open_bytes("", 0);
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	uint8_t id[ELF_BUILD_ID_MAX];
	struct error error = { 0 };
	size_t size;

	want_all(&addresses);
	CHECK_EQ(elf_names(fd, -1, &addresses, &error), -EBADMSG);
	CHECK_STR(error.text, "not an ELF file");
	CHECK_EQ(elf_names(empty, -1, &addresses, NULL), -EBADMSG);
	CHECK_EQ(elf_build_id(fd, id, &size), -EBADMSG);
	CHECK_EQ(elf_build_id(empty, id, &size), -EBADMSG);
	CHECK_EQ(addresses.open, addresses.list.count);
}

/* A million symbols may share one long name. The total size of names is limited. */
static void test_shared_names(void)
{
	static struct made_symbol symbols[4000];
	static char name[8000];
	struct recipe recipe = { .symbols = symbols, .symbol_count = 1 };
	_cleanup_(buffer_done) struct buffer file = { 0 };
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	struct error error = { 0 };
	Elf64_Shdr header;

	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		symbols[i] = (struct made_symbol){ CODE_ADDRESS + i, 1, INFO(LOCAL, FUNC), 0, TEXT,
						   i ? "" : name };
	recipe.symbol_count = ARRAY_SIZE(symbols);
	make_elf(&recipe, &file);
	/* all symbols share the name of the first one */
	memcpy(&header, file.data + file.size - (SECTIONS - SYMTAB) * sizeof(header),
	       sizeof(header));
	for (size_t i = 1; i <= ARRAY_SIZE(symbols); i++)
		memcpy(file.data + header.sh_offset + i * sizeof(Elf64_Sym), &(uint32_t){ 1 }, 4);
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		CHECK_EQ(addresses_add(&addresses, CODE_OFFSET + i), 0);
	CHECK_EQ(elf_names_image(file.data, file.size, &addresses, &error), -E2BIG);
	CHECK_STR(error.text, "symbols have more than 16 MB of names");
}

/*
 * On ARM, labels such as "$x" mark what is code, and name nothing. A function may have such a name,
 * and so may a label of another machine.
 */
static void test_marks(void)
{
	static const struct made_symbol symbols[] = {
		{ 0x101100, 0x10, INFO(LOCAL, FUNC), 0, TEXT, "$x" },
		{ 0x101120, 0, INFO(LOCAL, NOTYPE), 0, TEXT, "$d.7" },
		{ 0x101140, 0, INFO(LOCAL, NOTYPE), 0, TEXT, "$dollar" },
	};
	const struct recipe recipe = { .symbols = symbols, .symbol_count = ARRAY_SIZE(symbols) };
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64, EM_ARM };

	for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
		_cleanup_(buffer_done) struct buffer file = { 0 };
		_cleanup_(addresses_done) struct addresses addresses = { 0 };

		make_elf(&recipe, &file);
		memcpy(file.data + offsetof(Elf64_Ehdr, e_machine), &machines[i], 2);
		want_all(&addresses);
		CHECK_EQ(elf_names_image(file.data, file.size, &addresses, NULL), 0);
		CHECK_STR(name_at(&addresses, 0x1100), "$x");
		CHECK_STR(name_at(&addresses, 0x1120), i ? "" : "$d.7");
		CHECK_STR(name_at(&addresses, 0x1140), "$dollar");
	}
}

/* With each byte changed and at each length the call must return. */
static void test_damage(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 };

	make_elf(&recipes[FULL], &file);
	for (size_t i = 0; i < file.size * 3; i++) {
		static const uint8_t changes[] = { 0xff, 0x80, 0x01 };
		uint8_t *at = &file.data[i / 3], was = *at;
		_cleanup_(addresses_done) struct addresses addresses = { 0 };

		for (uint64_t address = 0x1000; address < 0x1200; address += 0x10)
			CHECK_EQ(addresses_add(&addresses, address), 0);
		*at ^= changes[i % 3];
		elf_names_image(file.data, i % 2 ? file.size : i / 3, &addresses, NULL);
		*at = was;
	}
}

static void test_write_recipes(void)
{
	const char *dir = getenv("PERFTAPE_WRITE_ELF");

	for (size_t i = 0; dir && i < ARRAY_SIZE(recipes); i++) {
		_cleanup_(buffer_done) struct buffer file = { 0 };

		make_elf(&recipes[i], &file);
		CHECK_EQ(file_replace(dir, recipes[i].name, file.data, file.size), 0);
	}
}

CHECK_MAIN({ "a full file gives names", test_full },
	   { "a stripped file gives dynamic names", test_stripped },
	   { "a debug file gives names", test_debug_file },
	   { "a kernel module gives names", test_bare },
	   { "a file without symbols gives no names", test_none },
	   { "the image of a vDSO gives names", test_image },
	   { "the build-id is found", test_build_id },
	   { "notes around the build-id are skipped", test_notes },
	   { "a file that is not ELF is refused", test_no_elf },
	   { "shared names have a bounded size", test_shared_names },
	   { "marks of code are no names on ARM", test_marks },
	   { "damaged files do no harm", test_damage },
	   { "recipes are written on request", test_write_recipes })
