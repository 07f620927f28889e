// SPDX-License-Identifier: GPL-2.0-only
/*
 * Go's tables of functions, made from the list below in each of their versions. With
 * PERFTAPE_WRITE_GO=DIR, the test also writes the tables to DIR. The files in tests/fuzz/corpus/go
 * were made in this way.
 */
#include "tests/check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/file.h"
#include "symbolizer/elf.h"
#include "symbolizer/go-table.h"
#include "tests/elves.h"

#define TEXT ELVES_CODE

struct made_function {
	uint64_t start;
	const char *name;
};

/* The last entry is the end of the text. */
static const struct made_function functions[] = {
	{ 0x000, "runtime.text" },	     { 0x010, "main.main" },
	{ 0x080, "net/http.(*conn).serve" }, { 0x081, "" },
	{ 0x100, "main.Map[...].func1" },    { 0x180, NULL },
};
#define FUNCTIONS (ARRAY_SIZE(functions) - 1)

struct recipe {
	const char *name;
	uint32_t magic;
	size_t word;
	bool no_text;
};

static const struct recipe recipes[] = {
	{ "1.2", 0xfffffffb, 8, false },
	{ "1.16", 0xfffffffa, 8, false },
	{ "1.18", 0xfffffff0, 8, false },
	{ "1.20", 0xfffffff1, 8, false },
	{ "1.26", 0xfffffff1, 8, true },
	{ "1.2 of 32 bits", 0xfffffffb, 4, false },
	{ "1.18 of 32 bits", 0xfffffff0, 4, false },
};
enum { GO_1_2, GO_1_16, GO_1_18, GO_1_20, GO_1_26 };

static void put_word(struct buffer *buffer, size_t size, uint64_t value)
{
	if (size == 8)
		buffer_u64(buffer, value);
	else
		buffer_u32(buffer, value);
}

/* Makes the header, the names, the table of functions, and the functions' data, in this order. */
static void make_table(const struct recipe *recipe, struct buffer *table)
{
	bool first = recipe->magic == 0xfffffffb, relative = recipe->magic < 0xfffffffa;
	size_t word = recipe->word, size = relative ? 4 : word;
	size_t header = first ? 8 + word : 8 + (relative ? 8 : 7) * word;
	uint64_t base = relative ? 0 : TEXT;
	_cleanup_(buffer_done) struct buffer names = { 0 }, details = { 0 }, starts = { 0 };
	size_t starts_size = (2 * FUNCTIONS + 1) * size + 4;
	/* in the first version, the names come last */
	size_t names_at = first ? header + starts_size + FUNCTIONS * (size + 4) : 0;

	for (size_t i = 0; i < FUNCTIONS; i++) {
		put_word(&starts, size, base + functions[i].start);
		put_word(&starts, size, (first ? header : 0) + starts_size + details.size);
		put_word(&details, size, base + functions[i].start);
		buffer_u32(&details, names_at + names.size);
		buffer_bytes(&names, functions[i].name, strlen(functions[i].name) + 1);
	}
	put_word(&starts, size, base + functions[FUNCTIONS].start);
	buffer_u32(&starts, 0);
	buffer_u32(table, recipe->magic);
	buffer_bytes(table, (uint8_t[]){ 0, 0, 1, word }, 4);
	put_word(table, word, FUNCTIONS);
	if (!first) {
		put_word(table, word, 0);
		if (relative)
			put_word(table, word, recipe->no_text ? 0 : TEXT);
		put_word(table, word, header);
		for (size_t i = 0; i < 3; i++)
			put_word(table, word, 0);
		put_word(table, word, header + names.size);
		buffer_bytes(table, names.data, names.size);
	}
	buffer_bytes(table, starts.data, starts.size);
	buffer_bytes(table, details.data, details.size);
	if (first)
		buffer_bytes(table, names.data, names.size);
	CHECK(!buffer_failed(table));
}

static const char *find(struct go_table *table, uint64_t address)
{
	uint64_t start = 0;
	const char *name;

	if (!go_table_find(table, address, &start, &name))
		return "";
	CHECK(start <= address);
	return name;
}

static void test_versions(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(recipes); i++) {
		_cleanup_(buffer_done) struct buffer bytes = { 0 };
		_cleanup_(go_table_done) struct go_table table = { 0 };
		struct file_window source;

		make_table(&recipes[i], &bytes);
		source = file_window_of_memory(bytes.data, bytes.size);
		CHECK(go_table_open(&table, &source));
		CHECK_EQ(table.count, FUNCTIONS);
		CHECK_EQ(table.text, table.relative && !recipes[i].no_text ? TEXT : 0);
		table.text = TEXT;
		CHECK_STR(find(&table, TEXT - 1), "");
		CHECK_STR(find(&table, TEXT), "runtime.text");
		CHECK_STR(find(&table, TEXT + 0x7f), "main.main");
		CHECK_STR(find(&table, TEXT + 0x80), "net/http.(*conn).serve");
		CHECK_STR(find(&table, TEXT + 0x81), "");
		CHECK_STR(find(&table, TEXT + 0x17f), "main.Map[...].func1");
		CHECK_STR(find(&table, TEXT + 0x180), "");
		CHECK_STR(find(&table, UINT64_MAX), "");
	}
}

/* A program around the table, and how the table is found in it. */
struct program {
	enum { IN_OWN, IN_RODATA, IN_RELRO } where;
	enum { NO_MODULE, MODULE, MODULE_RELOCATED } module;
	int version;
};

static void make_module(const struct program *program, uint64_t table, struct buffer *module)
{
	static const uint64_t words[] = { TEXT, TEXT + 0x180, TEXT, TEXT + 0x180 };

	/* other data before the module data also points to the table */
	buffer_u64(module, table);
	buffer_u64(module, 0);
	buffer_u64(module, program->module == MODULE ? table : 0);
	for (size_t i = 1; i < 20; i++)
		buffer_u64(module, i);
	for (size_t i = 0; i < 4; i++)
		buffer_u64(module, program->module == MODULE ? words[i] : 0);
}

static void put_relocation(struct buffer *relocations, uint64_t offset, uint64_t addend)
{
	buffer_u64(relocations, offset);
	buffer_u64(relocations, ELF64_R_INFO(0, R_X86_64_RELATIVE));
	buffer_u64(relocations, addend);
}

static void make_relocations(uint64_t module, uint64_t table, struct buffer *relocations)
{
	put_relocation(relocations, ELVES_DATA, TEXT);
	put_relocation(relocations, module, table);
	for (uint64_t i = 0; i < 4; i++)
		put_relocation(relocations, module + (20 + i) * 8, TEXT + i % 2 * 0x180);
}

static void make_program(const struct program *program, struct buffer *file)
{
	static const char *const sections[] = { ".gopclntab", ".rodata", ".data.rel.ro.gopclntab" };
	_cleanup_(buffer_done) struct buffer table = { 0 }, module = { 0 }, relocations = { 0 };
	uint64_t at = ELVES_DATA;

	/* among other data, the table begins at any place, and similar bytes precede it */
	if (program->where == IN_RODATA) {
		buffer_u32(&table, 0xfffffff1);
		buffer_bytes(&table, (uint8_t[]){ 0, 0, 1, 8, 1 }, 5);
		elves_pad(&table, 0x120);
		at += 0x120;
	}
	make_table(&recipes[program->version], &table);
	make_module(program, at, &module);
	make_relocations(ELVES_DATA + 0x2010, at, &relocations);
	elves_make(
		file,
		(struct elves_section[]){
			{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
			{ sections[program->where], SHT_PROGBITS, SHF_ALLOC, ELVES_DATA, 0,
			  &table },
			{ ".noptrdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, ELVES_DATA + 0x2000, 0,
			  program->module ? &module : &relocations },
			{ program->module == MODULE_RELOCATED ? ".rela.dyn" : ".other", SHT_RELA,
			  SHF_ALLOC, ELVES_DATA + 0x4000, 0, &relocations },
		},
		4);
}

static void check_program(const struct program *program, bool named)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_(buffer_done) struct buffer file = { 0 };
	const struct address *address;

	make_program(program, &file);
	CHECK_EQ(addresses_add(&addresses, 0x1090 - 0x10), 0);
	CHECK_EQ(addresses_add(&addresses, 0x1185), 0);
	CHECK_EQ(elf_names_image(file.data, file.size, &addresses, NULL), 0);
	address = addresses_find(&addresses, 0x1080);
	CHECK_STR(addresses_name(&addresses, address), named ? "net/http.(*conn).serve" : "");
	CHECK_EQ(address->start, named ? 0x1080 : 0);
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1185)), "");
}

static void test_programs(void)
{
	for (int where = IN_OWN; where <= IN_RELRO; where++) {
		for (int version = GO_1_2; version <= GO_1_20; version++)
			check_program(&(struct program){ where, NO_MODULE, version }, true);
		check_program(&(struct program){ where, MODULE, GO_1_26 }, true);
		check_program(&(struct program){ where, MODULE_RELOCATED, GO_1_26 }, true);
		/* names at wrong places are worse than missing names */
		check_program(&(struct program){ where, NO_MODULE, GO_1_26 }, false);
	}
}

/* With each byte changed and at each length the call must return. */
static void test_damage(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(recipes); i++) {
		_cleanup_(buffer_done) struct buffer bytes = { 0 };

		make_table(&recipes[i], &bytes);
		for (size_t at = 0; at < bytes.size * 4; at++) {
			static const uint8_t changes[] = { 0xff, 0x80, 0x01, 0 };
			_cleanup_(go_table_done) struct go_table table = { 0 };
			uint8_t *byte = &bytes.data[at / 4];
			struct file_window source = file_window_of_memory(
				bytes.data, changes[at % 4] ? bytes.size : at / 4);

			*byte ^= changes[at % 4];
			if (go_table_open(&table, &source))
				for (uint64_t offset = 0; offset < 0x200; offset += 0x10)
					find(&table, TEXT + offset);
			*byte ^= changes[at % 4];
		}
	}
}

static void test_write_recipes(void)
{
	const char *dir = getenv("PERFTAPE_WRITE_GO");

	for (size_t i = 0; dir && i < ARRAY_SIZE(recipes); i++) {
		_cleanup_(buffer_done) struct buffer bytes = { 0 };

		make_table(&recipes[i], &bytes);
		CHECK_EQ(file_replace(dir, recipes[i].name, bytes.data, bytes.size), 0);
	}
}

CHECK_MAIN({ "each version of the table gives names", test_versions },
	   { "the table is found in each kind of program", test_programs },
	   { "damaged tables do no harm", test_damage },
	   { "recipes are written on request", test_write_recipes })
