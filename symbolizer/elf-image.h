/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What elf.c gives to the rest of this folder: a file as sections, segments and tables, with
 * nothing of libelf in it, and nothing in it that reaches beyond the file. Of this folder alone.
 * Everything lives as long as the image.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "symbolizer/file-window.h"

struct elf_section {
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	uint64_t flags;
	uint64_t entry_size;
	uint32_t type;
	uint32_t link;
	/* as much as is needed to know those that are looked for by name */
	char name[24];
	/* of the kind whose labels perf takes for functions */
	bool labels;
};

/* One that is loaded. */
struct elf_segment {
	uint64_t address;
	uint64_t size;
	uint64_t offset;
	bool executable;
};

/* What is in a section that is compressed. */
struct elf_unpacked {
	size_t section;
	uint8_t *bytes;
	size_t size;
};

/* Zeroed to start. */
struct elf_image {
	struct Elf *elf;
	struct file_window file;
	uint16_t machine;
	/* 4 or 8 */
	uint8_t word_size;
	/* of the other byte order: nothing in it ran here */
	bool foreign;
	array_of(struct elf_section) sections;
	array_of(struct elf_unpacked) unpacked;
	array_of(struct elf_segment) segments;
};

/* 0, -ENOMEM, or -EBADMSG with the reason; elf_image_done() in any case. */
int elf_image_open(struct elf_image *image, int fd, struct error *error);
int elf_image_open_memory(struct elf_image *image, const void *bytes, size_t size,
			  struct error *error);
void elf_image_done(struct elf_image *image);

/* The number of the first section of a type or a name, or 0: the section of that number is never a
 * real one. */
size_t elf_image_find_type(const struct elf_image *image, uint32_t type);
size_t elf_image_find_name(const struct elf_image *image, const char *name);
/* The segment that an address is in, or NULL. */
const struct elf_segment *elf_image_segment(const struct elf_image *image, uint64_t address);
/* The address of code at an offset in the file; false when none is mapped from there. */
bool elf_image_address(const struct elf_image *image, uint64_t offset, uint64_t *ret_address);

/* The i-th section's bytes; none where it has none. */
struct file_window elf_image_section(const struct elf_image *image, size_t i);

/* A table of symbols and its strings. Zeroed to start. */
struct elf_table {
	struct window entries;
	struct window strings;
	uint8_t word_size;
};

struct elf_symbol {
	uint64_t value;
	uint64_t size;
	uint32_t name;
	uint16_t section;
	uint8_t type;
	uint8_t binding;
	uint8_t visibility;
};

/* The i-th section as a table of symbols. false when it is of another type, or too damaged to be
 * one. */
bool elf_table_open(const struct elf_image *image, size_t i, uint32_t type,
		    struct elf_table *table);
void elf_table_done(struct elf_table *table);
/* The i-th; false when there is none. */
bool elf_table_at(struct elf_table *table, size_t i, struct elf_symbol *ret_symbol);
/* A string, NUL-terminated, until the next call; NULL when it is outside, or without an end. */
const char *elf_table_name(struct elf_table *table, uint32_t at);

/* Zeroed to start. */
struct elf_relocations {
	struct window entries;
	uint8_t word_size;
	bool addends;
};

struct elf_relocation {
	uint64_t offset;
	/* 0 where it has none */
	uint64_t addend;
	/* its number, or 0 */
	uint32_t symbol;
	uint32_t type;
};

/* The i-th section as relocations, with addends or without; false as above. */
bool elf_relocations_open(const struct elf_image *image, size_t i,
			  struct elf_relocations *relocations);
void elf_relocations_done(struct elf_relocations *relocations);
/* The i-th; false when there is none. */
bool elf_relocations_at(struct elf_relocations *relocations, size_t i,
			struct elf_relocation *ret_relocation);
