// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the rows of symbol tables and of relocations. elf-symbols.c decides which symbols are
 * functions.
 */
#include <elf.h>

#include "base/cleanup.h"
#include "symbolizer/elf-image.h"

/* Bytes to read at a time: symbols are read in order, but their names are scattered. */
#define TABLE_STEP (64u << 10)
#define NAMES_STEP (4u << 10)

bool elf_table_open(const struct elf_image *image, size_t i, uint32_t type, struct elf_table *table)
{
	if (i >= image->sections.count || image->sections.items[i].type != type)
		return false;
	table->entries.source = elf_image_section(image, i);
	table->entries.step = TABLE_STEP;
	table->strings.source = elf_image_section(image, image->sections.items[i].link);
	table->strings.step = NAMES_STEP;
	table->word_size = image->word_size;
	return table->strings.source.size;
}

void elf_table_done(struct elf_table *table)
{
	window_done(&table->entries);
	window_done(&table->strings);
}

/* The order of the fields depends on the word size. */
bool elf_table_at(struct elf_table *table, size_t i, struct elf_symbol *ret_symbol)
{
	size_t size = table->word_size * 2 + 8;
	struct reader reader = window_reader(&table->entries, i * size, size);
	struct elf_symbol symbol = { .name = reader_u32_host(&reader) };
	uint8_t info, other;

	if (table->word_size == 4) {
		symbol.value = reader_u32_host(&reader);
		symbol.size = reader_u32_host(&reader);
	}
	info = reader_u8(&reader);
	other = reader_u8(&reader);
	symbol.section = reader_u16_host(&reader);
	if (table->word_size == 8) {
		symbol.value = reader_u64_host(&reader);
		symbol.size = reader_u64_host(&reader);
	}
	symbol.type = ELF64_ST_TYPE(info);
	symbol.binding = ELF64_ST_BIND(info);
	symbol.visibility = ELF64_ST_VISIBILITY(other);
	*ret_symbol = symbol;
	return !reader_failed(&reader);
}

const char *elf_table_name(struct elf_table *table, uint32_t at)
{
	return window_text(&table->strings, at);
}

bool elf_relocations_open(const struct elf_image *image, size_t i,
			  struct elf_relocations *relocations)
{
	const struct elf_section *section;

	if (i >= image->sections.count)
		return false;
	section = &image->sections.items[i];
	if (section->type != SHT_RELA && section->type != SHT_REL)
		return false;
	relocations->entries.source = elf_image_section(image, i);
	relocations->entries.step = TABLE_STEP;
	relocations->addends = section->type == SHT_RELA;
	relocations->word_size = image->word_size;
	return true;
}

void elf_relocations_done(struct elf_relocations *relocations)
{
	window_done(&relocations->entries);
}

bool elf_relocations_at(struct elf_relocations *relocations, size_t i,
			struct elf_relocation *ret_relocation)
{
	size_t word = relocations->word_size, size = (2 + relocations->addends) * word;
	struct reader reader = window_reader(&relocations->entries, i * size, size);
	uint64_t offset = reader_word_host(&reader, word), info = reader_word_host(&reader, word);

	*ret_relocation = (struct elf_relocation){
		.offset = offset,
		.addend = relocations->addends ? reader_word_host(&reader, word) : 0,
		.symbol = word == 8 ? ELF64_R_SYM(info) : ELF32_R_SYM(info),
		.type = word == 8 ? ELF64_R_TYPE(info) : ELF32_R_TYPE(info),
	};
	return !reader_failed(&reader);
}
