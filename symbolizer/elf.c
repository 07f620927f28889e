// SPDX-License-Identifier: GPL-2.0-only
/*
 * ELF files through libelf: opening them, their tables, and their build-id. What of the tables is a function is decided in
 * elf-symbols.c. The files of others are hostile until proven otherwise, so:
 *
 *  (1) libelf opens with ELF_C_READ: it reads with pread() what is asked for, and refuses sections that reach beyond the
 *      end of the file before it allocates
 *  (2) no section of more than SECTION_MAX is read at all (a sparse file is as big as it likes)
 *  (3) compressed sections, and those without bytes, are as if they were not there
 */
#include "symbolizer/elf.h"

#include <gelf.h>
#include <libelf.h>

#include <endian.h>
#include <string.h>

#include "base/bytes.h"
#include "symbolizer/elf-image.h"

#define SECTION_MAX (512u << 20)
#define NOTES_MAX (1u << 20)

void elf_image_done(struct elf_image *image)
{
	elf_end(image->elf);
	array_done(&image->sections);
	array_done(&image->segments);
}

static struct elf_section section_of(const GElf_Shdr *header, const char *name)
{
	struct elf_section section = {
		.address = header->sh_addr,
		.offset = header->sh_offset,
		.flags = header->sh_flags,
		.entry_size = header->sh_entsize,
		.type = header->sh_type,
		.link = header->sh_link,
		.labels = name && (strstr(name, "text") || strstr(name, "data")),
	};

	strncpy(section.name, name ? name : "", sizeof(section.name) - 1);
	return section;
}

static int read_sections(struct elf_image *image)
{
	size_t names = 0;

	if (elf_getshdrstrndx(image->elf, &names) < 0)
		names = 0;
	for (size_t i = 0;; i++) {
		Elf_Scn *scn = elf_getscn(image->elf, i);
		const char *name;
		GElf_Shdr header;

		if (!scn || !gelf_getshdr(scn, &header))
			return 0;
		name = names ? elf_strptr(image->elf, names, header.sh_name) : NULL;
		if (array_push(&image->sections, section_of(&header, name)) < 0)
			return -ENOMEM;
	}
}

static int read_segments(struct elf_image *image)
{
	size_t count;

	if (elf_getphdrnum(image->elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(image->elf, i, &header))
			return 0;
		if (header.p_type != PT_LOAD)
			continue;
		if (array_push(
			    &image->segments, (struct elf_segment){
						      .address = header.p_vaddr,
						      .size = MAX(header.p_memsz, header.p_filesz),
						      .offset = header.p_offset,
						      .executable = header.p_flags & PF_X,
					      }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_headers(struct elf_image *image, Elf *elf, struct error *error)
{
	GElf_Ehdr header;
	int r;

	image->elf = elf;
	if (!elf)
		return error_set(error, -EBADMSG, "cannot be read as ELF: %s", elf_errmsg(-1));
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return error_set(error, -EBADMSG, "not an ELF file");
	image->machine = header.e_machine;
	r = read_sections(image);
	return r < 0 ? r : read_segments(image);
}

int elf_image_open(struct elf_image *image, int fd, struct error *error)
{
	elf_version(EV_CURRENT);
	return read_headers(image, elf_begin(fd, ELF_C_READ, NULL), error);
}

int elf_image_open_memory(
	struct elf_image *image, const void *bytes, size_t size, struct error *error)
{
	elf_version(EV_CURRENT);
	/* libelf only reads it; its interface is older than const */
	return read_headers(image, elf_memory((char *)bytes, size), error);
}

size_t elf_image_find_type(const struct elf_image *image, uint32_t type)
{
	for (size_t i = 1; i < image->sections.count; i++)
		if (image->sections.items[i].type == type)
			return i;
	return 0;
}

size_t elf_image_find_name(const struct elf_image *image, const char *name)
{
	for (size_t i = 1; i < image->sections.count; i++)
		if (strcmp(image->sections.items[i].name, name) == 0)
			return i;
	return 0;
}

const struct elf_segment *elf_image_segment(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segments.count; i++) {
		const struct elf_segment *segment = &image->segments.items[i];

		if (address >= segment->address && address - segment->address < segment->size)
			return segment;
	}
	return NULL;
}

/* The i-th section's bytes in host order, or NULL when it has none that can be used. */
static Elf_Data *section_data(const struct elf_image *image, size_t i)
{
	Elf_Scn *scn = elf_getscn(image->elf, i);
	Elf_Data *data;
	GElf_Shdr header;

	if (!scn || !gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS ||
		header.sh_flags & SHF_COMPRESSED || header.sh_size > SECTION_MAX)
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

static size_t entry_count(const struct elf_image *image, const Elf_Data *data, Elf_Type type)
{
	return data->d_size / gelf_fsize(image->elf, type, 1, EV_CURRENT);
}

bool elf_table_open(
	const struct elf_image *image, size_t i, uint32_t type, struct elf_table *ret_table)
{
	Elf_Data *entries, *strings;

	if (i >= image->sections.count || image->sections.items[i].type != type)
		return false;
	entries = section_data(image, i);
	strings = section_data(image, image->sections.items[i].link);
	if (!entries || !strings)
		return false;
	*ret_table = (struct elf_table){
		.entries = entries,
		.strings = strings,
		.count = entry_count(image, entries, ELF_T_SYM),
		.bytes = entries->d_size + strings->d_size,
	};
	return true;
}

bool elf_table_at(const struct elf_table *table, size_t i, struct elf_symbol *ret_symbol)
{
	GElf_Sym sym;

	if (!gelf_getsym(table->entries, i, &sym))
		return false;
	*ret_symbol = (struct elf_symbol){
		.value = sym.st_value,
		.size = sym.st_size,
		.name = sym.st_name,
		.section = sym.st_shndx,
		.type = GELF_ST_TYPE(sym.st_info),
		.binding = GELF_ST_BIND(sym.st_info),
		.visibility = GELF_ST_VISIBILITY(sym.st_other),
	};
	return true;
}

const char *elf_table_name(const struct elf_table *table, uint32_t at)
{
	const Elf_Data *strings = table->strings;
	struct reader reader;

	reader_init(&reader, strings->d_buf, strings->d_size);
	reader_take(&reader, at);
	return reader_text(&reader, reader_left(&reader));
}

bool elf_relocations_open(
	const struct elf_image *image, size_t i, struct elf_relocations *ret_relocations)
{
	bool addends;
	Elf_Data *entries;

	if (i >= image->sections.count)
		return false;
	addends = image->sections.items[i].type == SHT_RELA;
	if (!addends && image->sections.items[i].type != SHT_REL)
		return false;
	entries = section_data(image, i);
	if (!entries)
		return false;
	*ret_relocations = (struct elf_relocations){
		.entries = entries,
		.addends = addends,
		.count = entry_count(image, entries, addends ? ELF_T_RELA : ELF_T_REL),
	};
	return true;
}

size_t elf_relocations_symbol(const struct elf_relocations *relocations, size_t i)
{
	GElf_Rela rela;
	GElf_Rel rel;

	if (relocations->addends)
		return gelf_getrela(relocations->entries, i, &rela) ? GELF_R_SYM(rela.r_info) : 0;
	return gelf_getrel(relocations->entries, i, &rel) ? GELF_R_SYM(rel.r_info) : 0;
}

/* Notes are in the byte order of their machine, and those that run here have ours. */
static uint32_t reader_u32_host(struct reader *reader)
{
	return htole32(reader_u32(reader));
}

static size_t note_align(size_t size, const struct reader *reader)
{
	/* the last one may go without its padding */
	return MIN((size + 3) & ~(size_t)3, reader_left(reader));
}

int elf_notes_build_id(
	const void *notes, size_t size, uint8_t ret_id[ELF_BUILD_ID_MAX], size_t *ret_size)
{
	struct reader reader;

	reader_init(&reader, notes, size);
	while (reader_left(&reader)) {
		size_t name_size = reader_u32_host(&reader), id_size = reader_u32_host(&reader);
		uint32_t type = reader_u32_host(&reader);
		const void *name, *id;

		if (name_size > reader_left(&reader))
			return 0;
		name = reader_take(&reader, note_align(name_size, &reader));
		if (id_size > reader_left(&reader))
			return 0;
		id = reader_take(&reader, note_align(id_size, &reader));
		if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4) != 0)
			continue;
		if (id_size == 0 || id_size > ELF_BUILD_ID_MAX)
			return 0;
		memcpy(ret_id, id, id_size);
		*ret_size = id_size;
		return 1;
	}
	return 0;
}

static int notes_of_segments(const struct elf_image *image, uint8_t *ret_id, size_t *ret_size)
{
	size_t count;

	if (elf_getphdrnum(image->elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		Elf_Data *data = NULL;
		GElf_Phdr header;

		if (!gelf_getphdr(image->elf, i, &header))
			return 0;
		if (header.p_type == PT_NOTE && header.p_filesz <= NOTES_MAX)
			data = elf_getdata_rawchunk(
				image->elf, header.p_offset, header.p_filesz, ELF_T_BYTE);
		if (data && elf_notes_build_id(data->d_buf, data->d_size, ret_id, ret_size))
			return 1;
	}
	return 0;
}

/* Kernel modules and other object files have no segments. */
static int notes_of_sections(const struct elf_image *image, uint8_t *ret_id, size_t *ret_size)
{
	for (size_t i = 1; i < image->sections.count; i++) {
		Elf_Data *data;

		if (image->sections.items[i].type != SHT_NOTE)
			continue;
		data = elf_rawdata(elf_getscn(image->elf, i), NULL);
		if (data && data->d_size <= NOTES_MAX &&
			elf_notes_build_id(data->d_buf, data->d_size, ret_id, ret_size))
			return 1;
	}
	return 0;
}

int elf_build_id(int fd, uint8_t ret_id[ELF_BUILD_ID_MAX], size_t *ret_size)
{
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	int r = elf_image_open(&image, fd, NULL);

	if (r < 0)
		return r;
	if (notes_of_segments(&image, ret_id, ret_size))
		return 1;
	return notes_of_sections(&image, ret_id, ret_size);
}
