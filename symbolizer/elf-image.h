/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * An ELF file as sections, segments and tables. Implemented by elf.c and elf-tables.c. Its parts
 * never refer to bytes beyond the file, and are valid as long as the image. Private to symbolizer/.
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
	/* The name, which may be truncated, but is long enough for all names that are searched. */
	char name[24];
	/* perf treats labels in sections of this kind as functions. */
	bool labels;
};

/* A segment that is loaded into memory. */
struct elf_segment {
	uint64_t address;
	uint64_t size;
	uint64_t offset;
	bool executable;
};

/* The unpacked content of a compressed section. */
struct elf_unpacked {
	size_t section;
	uint8_t *bytes;
	size_t size;
};

/* Starts zeroed. */
struct elf_image {
	struct file_window file;
	uint16_t machine;
	/* The word size: 4 or 8. */
	uint8_t word_size;
	/* The file has the other byte order, so it never ran on this machine. */
	bool foreign;
	array_of(struct elf_section) sections;
	array_of(struct elf_unpacked) unpacked;
	/* Sorted by address; at most one segment starts at each address. */
	array_of(struct elf_segment) segments;
	/* The executable segments, sorted by offset; at most one starts at each offset. */
	array_of(struct elf_segment) code;
	/* The segment table in the file, which also contains segments that are not loaded. */
	uint64_t segments_at;
	uint32_t segment_count;
	/* How many more bytes unpacked sections may take. */
	size_t unpack_left;
};

/*
 * Opens an image. Reads of the image spend from the budget, which must outlive the image. Returns
 * 0, -ENOMEM, or -EBADMSG with the reason; call elf_image_done() in any case. If the budget is
 * spent, parts of the image are missing: ask work_check().
 */
int elf_image_open(struct elf_image *image, int fd, struct work_limit *budget, struct error *error);
int elf_image_open_memory(struct elf_image *image, const void *bytes, size_t size,
			  struct work_limit *budget, struct error *error);
void elf_image_done(struct elf_image *image);

/*
 * Returns the number of the first section of a type or a name, or 0, which is never the number of a
 * real section.
 */
size_t elf_image_find_type(const struct elf_image *image, uint32_t type);
size_t elf_image_find_name(const struct elf_image *image, const char *name);
/*
 * Returns the last segment that starts at or before an address; NULL if that segment does not
 * contain the address.
 */
const struct elf_segment *elf_image_segment(const struct elf_image *image, uint64_t address);
/*
 * Finds the address at which an offset in the file is mapped. Returns false if no code is mapped
 * from that offset.
 */
bool elf_image_address(const struct elf_image *image, uint64_t offset, uint64_t *ret_address);

/* Returns the bytes of the i-th section. The window may be empty. */
struct file_window elf_image_section(const struct elf_image *image, size_t i);

/* A symbol table and its strings. Starts zeroed. */
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

/*
 * Opens the i-th section as a symbol table. Returns false if the section has another type or its
 * strings are empty.
 */
bool elf_table_open(const struct elf_image *image, size_t i, uint32_t type,
		    struct elf_table *table);
void elf_table_done(struct elf_table *table);
/* Reads the i-th entry. Returns false beyond the last one. */
bool elf_table_at(struct elf_table *table, size_t i, struct elf_symbol *ret_symbol);
/*
 * Returns a NUL-terminated string, or NULL if the string is outside the table or unterminated.
 * Valid until the next call.
 */
const char *elf_table_name(struct elf_table *table, uint32_t at);

/* Starts zeroed. */
struct elf_relocations {
	struct window entries;
	uint8_t word_size;
	bool addends;
};

struct elf_relocation {
	uint64_t offset;
	/* 0: none. */
	uint64_t addend;
	/* The symbol's number, or 0. */
	uint32_t symbol;
	uint32_t type;
};

/*
 * Opens the i-th section as relocations, with or without addends. Returns false if the section has
 * another type.
 */
bool elf_relocations_open(const struct elf_image *image, size_t i,
			  struct elf_relocations *relocations);
void elf_relocations_done(struct elf_relocations *relocations);
/* Reads the i-th entry. Returns false beyond the last one. */
bool elf_relocations_at(struct elf_relocations *relocations, size_t i,
			struct elf_relocation *ret_relocation);
