// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens ELF files through libelf, and reads their tables and build-ids. elf-symbols.c decides which
 * symbols are functions. Every file counts as hostile, so:
 *
 *   1. libelf opens with ELF_C_READ: it reads with pread(), and only headers and notes.
 *   2. Tables are read in pieces, at most SECTION_MAX of each, because a sparse file may claim any
 *      size.
 *   3. Compressed symbol tables and their strings are unpacked, up to UNPACKED_MAX. Other
 *      compressed sections, and those without bytes, count as absent.
 */
#include "symbolizer/elf.h"

#include <gelf.h>
#include <libelf.h>

#include <endian.h>
#include <string.h>

#include "base/cleanup.h"
#include "pack/gzip.h"
#include "pack/zstd.h"
#include "symbolizer/elf-image.h"

#ifndef ELFCOMPRESS_ZSTD /* before glibc 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif

/* Section numbers from here on have a special meaning. */
#define SECTIONS_MAX SHN_LORESERVE
#define SECTION_MAX (1u << 30)
#define UNPACKED_MAX (128u << 20)
#define NOTES_MAX (1u << 20)
/* Bytes to read at a time: symbols are read in order, but their names are scattered. */
#define TABLE_STEP (64u << 10)
#define NAMES_STEP (4u << 10)

void elf_image_done(struct elf_image *image)
{
	elf_end(image->elf);
	array_done(&image->sections);
	array_done(&image->segments);
	for (size_t i = 0; i < image->unpacked.count; i++)
		free(image->unpacked.items[i].bytes);
	array_done(&image->unpacked);
}

static struct elf_section section_of(const GElf_Shdr *header, const char *name)
{
	struct elf_section section = {
		.address = header->sh_addr,
		.offset = header->sh_offset,
		.size = header->sh_size,
		.flags = header->sh_flags,
		.entry_size = header->sh_entsize,
		.type = header->sh_type,
		.link = header->sh_link,
		.labels = name && (strstr(name, "text") || strstr(name, "data")),
	};

	strncpy(section.name, name ? name : "", sizeof(section.name) - 1);
	return section;
}

/*
 * Reads the names itself, because libelf would read all strings of a file with a single string
 * section.
 */
static struct window section_names(const struct elf_image *image)
{
	struct window window = { .source = file_window_of_memory(NULL, 0), .step = NAMES_STEP };
	GElf_Shdr header;
	Elf_Scn *scn;
	size_t i;

	if (elf_getshdrstrndx(image->elf, &i) < 0)
		return window;
	scn = elf_getscn(image->elf, i);
	if (scn && gelf_getshdr(scn, &header) && header.sh_type == SHT_STRTAB)
		window.source = file_window_part(&image->file, header.sh_offset, header.sh_size);
	return window;
}

static int read_sections(struct elf_image *image)
{
	_cleanup_(window_done) struct window names = section_names(image);

	for (size_t i = 0; i < SECTIONS_MAX; i++) {
		Elf_Scn *scn = elf_getscn(image->elf, i);
		GElf_Shdr header;

		if (!scn || !gelf_getshdr(scn, &header))
			break;
		if (array_push(&image->sections,
			       section_of(&header, window_text(&names, header.sh_name))) < 0)
			return -ENOMEM;
	}
	return 0;
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
		if (array_push(&image->segments,
			       (struct elf_segment){
				       .address = header.p_vaddr,
				       .size = MAX(header.p_memsz, header.p_filesz),
				       .offset = header.p_offset,
				       .executable = header.p_flags & PF_X,
			       }) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Reads the kind of compression and the unpacked size of a section. Returns false if they are
 * impossible.
 */
static bool read_packing(const struct elf_image *image, const struct file_window *source,
			 uint32_t *ret_type, uint64_t *ret_size)
{
	_cleanup_(window_done) struct window window = { .source = *source };
	struct reader reader = window_reader(&window, 0, image->word_size == 8 ? 16 : 8);

	*ret_type = reader_u32_host(&reader);
	if (image->word_size == 8)
		reader_u32(&reader);
	*ret_size = reader_word_host(&reader, image->word_size);
	return !reader_failed(&reader);
}

static int elf_unpack(uint32_t type, uint8_t *to, size_t size, const uint8_t *packed,
		      size_t packed_size)
{
	switch (type) {
	case ELFCOMPRESS_ZLIB:
		return zlib_exact(to, size, packed, packed_size);
	case ELFCOMPRESS_ZSTD:
		return zstd_exact(to, size, packed, packed_size);
	default:
		return -EBADMSG;
	}
}

/* Unpacks a section. Returns 0, also if the section cannot be unpacked, or -ENOMEM. */
static int unpack_section(struct elf_image *image, size_t i)
{
	const struct elf_section *section = &image->sections.items[i];
	struct file_window source = file_window_part(&image->file, section->offset, section->size);
	size_t header_size = image->word_size == 8 ? 24 : 12;
	struct elf_unpacked unpacked = { .section = i };
	_cleanup_free_ uint8_t *packed = NULL, *bytes = NULL;
	uint64_t size;
	uint32_t type;
	int r;

	if (!read_packing(image, &source, &type, &size) || !size || size > UNPACKED_MAX ||
	    source.size <= header_size || source.size > UNPACKED_MAX)
		return 0;
	source = file_window_part(&source, header_size, UINT64_MAX);
	packed = malloc(source.size);
	bytes = malloc(size);
	if (!packed || !bytes)
		return -ENOMEM;
	r = elf_unpack(type, bytes, size, packed,
		       file_window_read(&source, 0, packed, source.size));
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	unpacked.bytes = bytes;
	unpacked.size = size;
	r = array_push(&image->unpacked, unpacked);
	if (r == 0)
		take_ptr(bytes);
	return r;
}

/* Unpacks only symbol tables, because no other compressed section is used. */
static int unpack_tables(struct elf_image *image)
{
	int r = 0;

	for (size_t i = 1; i < image->sections.count && r == 0; i++) {
		const struct elf_section *section = &image->sections.items[i];
		const struct elf_section *strings = section;

		if (section->type != SHT_SYMTAB || image->foreign)
			continue;
		if (section->link < image->sections.count)
			strings = &image->sections.items[section->link];
		if (section->flags & SHF_COMPRESSED)
			r = unpack_section(image, i);
		if (r == 0 && strings != section && strings->flags & SHF_COMPRESSED)
			r = unpack_section(image, section->link);
		/* only the first table is used */
		break;
	}
	return r;
}

static int read_headers(struct elf_image *image, Elf *elf, struct error *error)
{
	GElf_Ehdr header;
	int r;

	image->elf = elf;
	if (!elf)
		return error_set(error, -EBADMSG, "cannot read as ELF: %s", elf_errmsg(-1));
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return error_set(error, -EBADMSG, "not an ELF file");
	image->machine = header.e_machine;
	image->word_size = header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	image->foreign = header.e_ident[EI_DATA] !=
			 (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
	r = read_sections(image);
	if (r == 0)
		r = unpack_tables(image);
	return r < 0 ? r : read_segments(image);
}

int elf_image_open(struct elf_image *image, int fd, struct error *error)
{
	elf_version(EV_CURRENT);
	image->file = file_window_of_file(fd);
	return read_headers(image, elf_begin(fd, ELF_C_READ, NULL), error);
}

int elf_image_open_memory(struct elf_image *image, const void *bytes, size_t size,
			  struct error *error)
{
	elf_version(EV_CURRENT);
	image->file = file_window_of_memory(bytes, size);
	/* libelf only reads the bytes, but its interface lacks const */
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

bool elf_image_address(const struct elf_image *image, uint64_t offset, uint64_t *ret_address)
{
	for (size_t i = 0; i < image->segments.count; i++) {
		const struct elf_segment *segment = &image->segments.items[i];

		if (segment->executable && offset >= segment->offset &&
		    offset - segment->offset < segment->size) {
			*ret_address = offset - segment->offset + segment->address;
			return true;
		}
	}
	return false;
}

struct file_window elf_image_section(const struct elf_image *image, size_t i)
{
	const struct elf_section *section = &image->sections.items[i];

	for (size_t k = 0; k < image->unpacked.count; k++)
		if (image->unpacked.items[k].section == i)
			return file_window_of_memory(image->unpacked.items[k].bytes,
						     image->unpacked.items[k].size);
	if (i >= image->sections.count || section->type == SHT_NOBITS ||
	    section->flags & SHF_COMPRESSED || image->foreign)
		return file_window_of_memory(NULL, 0);
	return file_window_part(&image->file, section->offset, MIN(section->size, SECTION_MAX));
}

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
	symbol.type = GELF_ST_TYPE(info);
	symbol.binding = GELF_ST_BIND(info);
	symbol.visibility = GELF_ST_VISIBILITY(other);
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
	const struct elf_section *section = &image->sections.items[i];

	if (i >= image->sections.count || (section->type != SHT_RELA && section->type != SHT_REL))
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
		.symbol = word == 8 ? GELF_R_SYM(info) : ELF32_R_SYM(info),
		.type = word == 8 ? GELF_R_TYPE(info) : ELF32_R_TYPE(info),
	};
	return !reader_failed(&reader);
}

static size_t note_align(size_t size, const struct reader *reader)
{
	/* the last note may lack its padding */
	return MIN((size + 3) & ~(size_t)3, reader_left(reader));
}

int elf_notes_build_id(const void *notes, size_t size, uint8_t ret_id[ELF_BUILD_ID_MAX],
		       size_t *ret_size)
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
			data = elf_getdata_rawchunk(image->elf, header.p_offset, header.p_filesz,
						    ELF_T_BYTE);
		if (data && elf_notes_build_id(data->d_buf, data->d_size, ret_id, ret_size))
			return 1;
	}
	return 0;
}

/* Kernel modules and other object files lack segments. */
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
