// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the function table of a Go program (symbolizer/go-table.h) in its file, and the start of
 * its text.
 *
 * Go's own linker makes a section for the table. Other linkers put the table into the read-only
 * data, where its first bytes identify it. The start of the text is in the table until Go 1.25, and
 * always in the module data, which begin with the table's address. In position-independent
 * programs, a relocation may contain these two addresses instead.
 */
#include "symbolizer/elf-finders.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"
#include "symbolizer/go-table.h"
#include "symbolizer/trampolines.h"

#define SCAN_STEP (256u << 10)
/* The linkers align the table to at least TABLE_ALIGN, and pointers to their size. */
#define TABLE_ALIGN 16
#define POINTER_SIZE 8

/* Indexes of the 8-byte words of the module data. */
enum { MODULE_TABLE = 0, MODULE_MIN = 20, MODULE_MAX, MODULE_TEXT, MODULE_TEXT_END, MODULE_WORDS };
/* The offset of the text's start in the table's header. */
#define HEADER_TEXT_AT 24
/* Places that may be the module data. A program has one or two. */
#define CANDIDATES_MAX 64
#define CANDIDATE_WORDS (1 + MODULE_WORDS - MODULE_MIN)

struct go_program {
	const struct elf_image *image;
	struct go_table table;
	/* The table's address in memory. */
	uint64_t address;
};

/* A word in the program's memory, if the kernel loads the program at the addresses in its file. */
struct go_word {
	uint64_t address;
	/* 0: unknown. */
	uint64_t value;
};

/* Sorted by address. */
struct go_words {
	struct go_word items[CANDIDATES_MAX * CANDIDATE_WORDS];
	size_t count;
};

struct go_candidates {
	uint64_t items[CANDIDATES_MAX];
	size_t count;
};

static bool is_go_program(const struct elf_image *image)
{
	return elf_image_find_name(image, ".go.buildinfo") ||
	       elf_image_find_name(image, ".note.go.buildid") ||
	       elf_image_find_name(image, ".noptrdata");
}

/* Returns true if a table is at this place and its first function can be read. */
static bool try_table(struct go_program *program, const struct file_window *source,
		      uint64_t address)
{
	uint64_t first = 0, start;
	struct reader reader;
	const char *name;

	if (!go_table_open(&program->table, source))
		return false;
	reader = window_reader(&program->table.functions, 0, program->table.start_size);
	first = reader_word_host(&reader, program->table.start_size);
	if (program->table.relative)
		first += program->table.text;
	if (go_table_find(&program->table, first, &start, &name)) {
		program->address = address;
		return true;
	}
	go_table_done(&program->table);
	return false;
}

static bool scan_section(struct go_program *program, size_t i)
{
	struct file_window source = elf_image_section(program->image, i);
	_cleanup_(window_done) struct window window = { .source = source, .step = SCAN_STEP };

	for (uint64_t at = 0; at + GO_HEADER_MAX <= source.size; at += TABLE_ALIGN) {
		struct reader reader = window_reader(&window, at, 8);
		struct file_window rest;

		/* every magic number is 0xfffffff0 or more, and two zero bytes follow it */
		if (reader_failed(&reader))
			return false;
		if (reader_u32_host(&reader) < 0xfffffff0u || reader_u16(&reader))
			continue;
		rest = file_window_part(&source, at, UINT64_MAX);
		if (try_table(program, &rest, program->image->sections.items[i].address + at))
			return true;
	}
	return false;
}

static bool find_table(struct go_program *program)
{
	static const char *const section_names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	const struct elf_image *image = program->image;

	for (size_t i = 0; i < ARRAY_SIZE(section_names); i++) {
		size_t section = elf_image_find_name(image, section_names[i]);
		struct file_window source = elf_image_section(image, section);

		if (section && try_table(program, &source, image->sections.items[section].address))
			return true;
	}
	if (!is_go_program(image))
		return false;
	for (size_t i = 1; i < image->sections.count; i++)
		if (image->sections.items[i].type == SHT_PROGBITS &&
		    image->sections.items[i].flags & SHF_ALLOC &&
		    !(image->sections.items[i].flags & SHF_EXECINSTR) && scan_section(program, i))
			return true;
	return false;
}

/* Returns whether a relocation adds the program's load address to a number. */
static bool is_relative(const struct elf_image *image, uint32_t type)
{
	switch (image->machine) {
	case EM_X86_64:
		return type == R_X86_64_RELATIVE;
	case EM_AARCH64:
		return type == R_AARCH64_RELATIVE;
	default:
		return false;
	}
}

static void add_word(struct go_words *words, uint64_t address)
{
	words->items[words->count++] = (struct go_word){ .address = address };
}

static void read_words(const struct elf_image *image, struct go_words *words)
{
	struct go_word scratch[ARRAY_SIZE(words->items)];

	for (size_t i = 0; i < words->count; i++) {
		struct go_word *word = &words->items[i];
		const struct elf_segment *segment = elf_image_segment(image, word->address);

		if (segment)
			file_window_read(&image->file,
					 word->address - segment->address + segment->offset,
					 &word->value, sizeof(word->value));
	}
	sort_array(words, scratch, address);
}

/* Returns the index of the first word at or behind an address. */
static size_t words_from(const struct go_words *words, uint64_t address)
{
	return sort_array_count_below(words, address, address);
}

static uint64_t elf_go_word_at(const struct go_words *words, uint64_t address)
{
	size_t i = words_from(words, address);

	return i < words->count && words->items[i].address == address ? words->items[i].value : 0;
}

static void relocate(struct go_words *words, const struct elf_relocation *relocation)
{
	for (size_t i = words_from(words, relocation->offset);
	     i < words->count && words->items[i].address == relocation->offset; i++)
		if (!words->items[i].value && relocation->offset)
			words->items[i].value = relocation->addend;
}

/*
 * Reads the values of words from the file. A word that is 0 in the file gets its value from the
 * relocations, which are read once. Returns the place of the first relocation that stores the
 * table's address, or 0.
 */
static uint64_t resolve_words(const struct go_program *program, struct go_words *words)
{
	_cleanup_(elf_relocations_done) struct elf_relocations relocations = { 0 };
	const struct elf_image *image = program->image;
	struct elf_relocation relocation;
	uint64_t table_at = 0;

	read_words(image, words);
	if (!elf_relocations_open(image, elf_image_find_name(image, ".rela.dyn"), &relocations))
		return 0;
	for (size_t i = 0; elf_relocations_at(&relocations, i, &relocation); i++) {
		if (!is_relative(image, relocation.type))
			continue;
		relocate(words, &relocation);
		if (!table_at && relocation.addend == program->address)
			table_at = relocation.offset;
	}
	return table_at;
}

static bool is_code(const struct elf_image *image, uint64_t address)
{
	const struct elf_segment *segment = elf_image_segment(image, address);

	return segment && segment->executable;
}

/* Returns the start of the text if the module data are at this address; else 0. */
static uint64_t module_text(const struct go_program *program, const struct go_words *words,
			    uint64_t address)
{
	uint64_t module[MODULE_WORDS] = { 0 };

	for (size_t i = 0; i < MODULE_WORDS; i++)
		module[i] = elf_go_word_at(words, address + i * POINTER_SIZE);
	if (module[MODULE_TABLE] != program->address || module[MODULE_TEXT] > module[MODULE_MIN] ||
	    module[MODULE_MIN] >= module[MODULE_MAX] ||
	    module[MODULE_MAX] > module[MODULE_TEXT_END])
		return 0;
	return is_code(program->image, module[MODULE_MIN]) ? module[MODULE_TEXT] : 0;
}

static void add_candidate(struct go_candidates *candidates, uint64_t address)
{
	if (candidates->count < CANDIDATES_MAX)
		candidates->items[candidates->count++] = address;
}

/* Adds the places in a section that contain the table's address. */
static void scan_for_module(const struct go_program *program, size_t i,
			    struct go_candidates *candidates)
{
	const struct elf_section *section = &program->image->sections.items[i];
	struct file_window source = elf_image_section(program->image, i);
	_cleanup_(window_done) struct window window = { .source = source, .step = SCAN_STEP };

	for (uint64_t at = 0; at + POINTER_SIZE <= source.size; at += POINTER_SIZE) {
		struct reader reader = window_reader(&window, at, POINTER_SIZE);

		if (reader_failed(&reader) || candidates->count == CANDIDATES_MAX)
			return;
		if (reader_u64_host(&reader) == program->address)
			add_candidate(candidates, section->address + at);
	}
}

static uint64_t text_of_candidates(const struct go_program *program,
				   const struct go_candidates *candidates)
{
	struct go_words words = { 0 };
	uint64_t text = 0;

	for (size_t i = 0; i < candidates->count; i++) {
		add_word(&words, candidates->items[i]);
		for (size_t k = MODULE_MIN; k < MODULE_WORDS; k++)
			add_word(&words, candidates->items[i] + k * POINTER_SIZE);
	}
	resolve_words(program, &words);
	for (size_t i = 0; !text && i < candidates->count; i++)
		text = module_text(program, &words, candidates->items[i]);
	return text;
}

static uint64_t elf_go_find_text(const struct go_program *program)
{
	static const char *const places[] = { ".go.module", ".noptrdata", ".data", ".data.rel.ro" };
	struct go_candidates candidates = { 0 };
	struct go_words words = { 0 };
	uint64_t table_at;

	add_word(&words, program->address + HEADER_TEXT_AT);
	table_at = resolve_words(program, &words);
	if (words.items[0].value)
		return words.items[0].value;
	/* try the place of the relocation first; only programs built with relocations have one */
	if (table_at)
		add_candidate(&candidates, table_at);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		size_t section = elf_image_find_name(program->image, places[i]);

		if (section)
			scan_for_module(program, section, &candidates);
	}
	return text_of_candidates(program, &candidates);
}

/*
 * Finds the function at an address. The byte before a signal trampoline counts as a part of the
 * trampoline, see symbolizer/trampolines.h.
 */
static bool go_program_find(struct go_program *program, uint64_t address, uint64_t *ret_start,
			    const char **ret_name)
{
	if (go_table_find(&program->table, address + 1, ret_start, ret_name) &&
	    (*ret_start <= address || trampoline_is_signal(*ret_name)))
		return true;
	return go_table_find(&program->table, address, ret_start, ret_name);
}

static int go_program_answer(struct go_program *program, struct addresses *addresses)
{
	int r = 0;

	for (size_t i = 0; i < addresses->list.count && r == 0; i++) {
		uint64_t offset = addresses->list.items[i].address, address, start;
		const char *name;

		if (addresses->list.items[i].state == ADDRESSES_OPEN &&
		    elf_image_address(program->image, offset, &address) &&
		    go_program_find(program, address, &start, &name))
			r = addresses_answer(addresses, i, offset - (address - start), name);
	}
	return r;
}

int elf_find_go(const struct elf_image *image, struct addresses *addresses)
{
	struct go_program program = { .image = image };
	int r = 0;

	if (image->word_size != 8 || image->foreign || !find_table(&program))
		return 0;
	if (program.table.relative && !program.table.text)
		program.table.text = elf_go_find_text(&program);
	if (!program.table.relative || program.table.text)
		r = go_program_answer(&program, addresses);
	go_table_done(&program.table);
	return r;
}
