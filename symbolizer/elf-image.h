/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What elf.c gives to the rest of this folder: a file as sections, segments and tables, with nothing of libelf in it, and
 * nothing in it that reaches beyond the file. Of this folder alone. Everything lives as long as the image.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

struct elf_section {
	uint64_t address;
	uint64_t offset;
	uint64_t flags;
	uint64_t entry_size;
	uint32_t type;
	uint32_t link;
	char name[12]; /* as much as is needed to know .rela.plt and .plt.sec */
	bool labels; /* of the kind whose labels perf takes for functions */
};

/* One that is loaded. */
struct elf_segment {
	uint64_t address;
	uint64_t size;
	uint64_t offset;
	bool executable;
};

/* Zeroed to start. */
struct elf_image {
	struct Elf *elf;
	uint16_t machine;
	array_of(struct elf_section) sections;
	array_of(struct elf_segment) segments;
};

/* 0, -ENOMEM, or -EBADMSG with the reason; elf_image_done() in any case. */
int elf_image_open(struct elf_image *image, int fd, struct error *error);
int elf_image_open_memory(
	struct elf_image *image, const void *bytes, size_t size, struct error *error);
void elf_image_done(struct elf_image *image);

/* The number of the first section of a type or a name, or 0: the section of that number is never a real one. */
size_t elf_image_find_type(const struct elf_image *image, uint32_t type);
size_t elf_image_find_name(const struct elf_image *image, const char *name);
/* The segment that an address is in, or NULL. */
const struct elf_segment *elf_image_segment(const struct elf_image *image, uint64_t address);

/* A table of symbols and its strings. */
struct elf_table {
	void *entries;
	void *strings;
	size_t count;
	size_t bytes; /* of both */
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

/* The i-th section as a table of symbols. false when it is of another type, or too damaged to be one. */
bool elf_table_open(
	const struct elf_image *image, size_t i, uint32_t type, struct elf_table *ret_table);
bool elf_table_at(const struct elf_table *table, size_t i, struct elf_symbol *ret_symbol);
/* A string, NUL-terminated; NULL when it is outside, or without an end. */
const char *elf_table_name(const struct elf_table *table, uint32_t at);

struct elf_relocations {
	void *entries;
	bool addends;
	size_t count;
};

/* The i-th section as relocations, with addends or without; false as above. */
bool elf_relocations_open(
	const struct elf_image *image, size_t i, struct elf_relocations *ret_relocations);
/* The number of the i-th one's symbol, or 0. */
size_t elf_relocations_symbol(const struct elf_relocations *relocations, size_t i);
