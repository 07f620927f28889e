/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes small ELF files from a list of sections. A section's offset is its address minus
 * ELVES_BASE.
 */

#include <elf.h>

#include "base/bytes.h"
#include "tests/check.h"

#define ELVES_BASE 0x400000ull
#define ELVES_CODE 0x401000ull
#define ELVES_CODE_SIZE 0x1000
#define ELVES_DATA 0x402000ull
#define ELVES_SIZE 0x8000

struct elves_section {
	const char *name;
	uint32_t type;
	uint64_t flags;
	/* the section of the code is at ELVES_CODE, the others follow ELVES_DATA */
	uint64_t address;
	uint32_t link;
	const struct buffer *bytes;
};

static inline void elves_headers(struct buffer *file, size_t count)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = ELVES_SIZE,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = count,
		.e_shstrndx = count - 1,
	};
	Elf64_Phdr segments[] = {
		{ PT_LOAD, PF_R | PF_X, 0x1000, ELVES_CODE, 0, ELVES_CODE_SIZE, ELVES_CODE_SIZE,
		  0x1000 },
		{ PT_LOAD, PF_R | PF_W, 0x2000, ELVES_DATA, 0, ELVES_SIZE - 0x2000,
		  ELVES_SIZE - 0x2000, 0x1000 },
	};

	buffer_bytes(file, &header, sizeof(header));
	buffer_bytes(file, segments, sizeof(segments));
}

static inline void elves_pad(struct buffer *file, size_t size)
{
	CHECK(file->size <= size);
	while (file->size < size)
		buffer_u8(file, 0);
}

/*
 * The sections are in the order of their addresses. The function adds section 0 and the names. If
 * the list lacks a section at ELVES_CODE, zeros fill that place.
 */
static inline void elves_make(struct buffer *file, const struct elves_section *sections,
			      size_t count)
{
	_cleanup_(buffer_done) struct buffer names = { 0 };
	Elf64_Shdr headers[16] = { 0 };

	CHECK(count + 2 <= ARRAY_SIZE(headers));
	elves_headers(file, count + 2);
	buffer_u8(&names, 0);
	for (size_t i = 0; i < count; i++) {
		headers[i + 1] =
			(Elf64_Shdr){ .sh_name = names.size,
				      .sh_type = sections[i].type,
				      .sh_flags = sections[i].flags,
				      .sh_addr = sections[i].address,
				      .sh_offset = sections[i].address - ELVES_BASE,
				      .sh_size = sections[i].bytes ? sections[i].bytes->size
								   : ELVES_CODE_SIZE,
				      .sh_link = sections[i].link };
		buffer_bytes(&names, sections[i].name, strlen(sections[i].name) + 1);
		elves_pad(file, headers[i + 1].sh_offset);
		if (sections[i].bytes)
			buffer_bytes(file, sections[i].bytes->data, sections[i].bytes->size);
	}
	elves_pad(file, ELVES_SIZE);
	headers[count + 1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					   .sh_offset = ELVES_SIZE + (count + 2) * sizeof(*headers),
					   .sh_size = names.size };
	buffer_bytes(file, headers, (count + 2) * sizeof(*headers));
	buffer_bytes(file, names.data, names.size);
	CHECK(!buffer_failed(file));
}
