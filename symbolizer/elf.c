// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads ELF files: headers, sections, segments and build-ids. elf-tables.c reads the rows of
 * tables. Every file counts as hostile, so:
 *
 *   1. elf.c reads everything through windows, so memory does not depend on the sizes that a file
 *      claims. All work spends units of a budget.
 *   2. elf.c reads tables in pieces, and at most SECTION_MAX of each table, because a sparse file
 *      may claim any size.
 *   3. elf.c unpacks compressed symbol tables and their strings, up to UNPACKED_MAX together. Other
 *      compressed sections, and sections without bytes, count as absent.
 */
#include "symbolizer/elf.h"

#include <elf.h>
#include <endian.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"
#include "pack/gzip.h"
#include "pack/zstd.h"
#include "symbolizer/elf-image.h"

#ifndef ELFCOMPRESS_ZSTD /* before glibc 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif

/* Section numbers from here on have a special meaning. */
#define SECTIONS_MAX SHN_LORESERVE
/* The largest number that an ELF header can state. Programs have a dozen segments. */
#define SEGMENTS_MAX PN_XNUM
#define SECTION_MAX (1u << 30)
/* Compressed symbol tables are rare. These limits bound their memory, packed and unpacked. */
#define UNPACKED_MAX (32u << 20)
#define UNPACKED_ONE_MAX (16u << 20)
/* Unpacked bytes for one unit of a budget. */
#define UNPACK_BYTES 4
#define NOTES_MAX (64u << 10)
/* Long enough to recognise a section by its name. */
#define SECTION_NAME_MAX 128
/* Bytes to read at a time: rows are read in order, but their names are scattered. */
#define TABLE_STEP (64u << 10)
#define NAMES_STEP (4u << 10)

/* The numbers of an ELF header that say where its tables are. */
struct elf_places {
	uint64_t sections_at;
	uint64_t segments_at;
	uint32_t section_count;
	uint32_t segment_count;
	/* The number of the section with the names of sections. */
	uint32_t names;
};

/* A row of the section table. */
struct section_row {
	struct elf_section section;
	uint32_t name;
	uint32_t info;
};

/* A row of the segment table. */
struct segment_row {
	struct elf_segment segment;
	uint64_t file_size;
	uint32_t type;
};

void elf_image_done(struct elf_image *image)
{
	array_done(&image->sections);
	array_done(&image->segments);
	array_done(&image->code);
	for (size_t i = 0; i < image->unpacked.count; i++)
		free(image->unpacked.items[i].bytes);
	array_done(&image->unpacked);
}

static size_t section_row_size(const struct elf_image *image)
{
	return image->word_size == 8 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static size_t segment_row_size(const struct elf_image *image)
{
	return image->word_size == 8 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

/* Returns false beyond the end of the file. */
static bool read_section(const struct elf_image *image, struct window *table, uint64_t i,
			 struct section_row *ret_row)
{
	size_t size = section_row_size(image), word = image->word_size;
	struct reader reader = window_reader(table, i * size, size);
	struct section_row row = { 0 };

	row.name = reader_u32_host(&reader);
	row.section.type = reader_u32_host(&reader);
	row.section.flags = reader_word_host(&reader, word);
	row.section.address = reader_word_host(&reader, word);
	row.section.offset = reader_word_host(&reader, word);
	row.section.size = reader_word_host(&reader, word);
	row.section.link = reader_u32_host(&reader);
	row.info = reader_u32_host(&reader);
	reader_word_host(&reader, word);
	row.section.entry_size = reader_word_host(&reader, word);
	*ret_row = row;
	return !reader_failed(&reader);
}

/* The flags are at different places in files of 32 and of 64 bits. */
static bool read_segment(const struct elf_image *image, struct window *table, uint64_t i,
			 struct segment_row *ret_row)
{
	size_t size = segment_row_size(image), word = image->word_size;
	struct reader reader = window_reader(table, i * size, size);
	uint32_t flags = 0;
	uint64_t memory_size;
	struct segment_row row = { .type = reader_u32_host(&reader) };

	if (word == 8)
		flags = reader_u32_host(&reader);
	row.segment.offset = reader_word_host(&reader, word);
	row.segment.address = reader_word_host(&reader, word);
	reader_word_host(&reader, word);
	row.file_size = reader_word_host(&reader, word);
	memory_size = reader_word_host(&reader, word);
	if (word == 4)
		flags = reader_u32_host(&reader);
	row.segment.size = MAX(memory_size, row.file_size);
	row.segment.executable = flags & PF_X;
	*ret_row = row;
	return !reader_failed(&reader);
}

static struct window table_window(const struct elf_image *image, uint64_t at)
{
	return (struct window){ .source = file_window_part(&image->file, at, UINT64_MAX),
				.step = TABLE_STEP };
}

/* Reads from section 0 the counts that do not fit into the header. */
static void read_large_counts(const struct elf_image *image, struct elf_places *places)
{
	_cleanup_(window_done) struct window table = table_window(image, places->sections_at);
	struct section_row first;

	table.step = 0;
	if ((places->section_count && places->segment_count < PN_XNUM &&
	     places->names < SHN_XINDEX) ||
	    !read_section(image, &table, 0, &first))
		return;
	if (!places->section_count)
		places->section_count = MIN(first.section.size, SECTIONS_MAX);
	if (places->segment_count == PN_XNUM)
		places->segment_count = first.info;
	if (places->names == SHN_XINDEX)
		places->names = first.section.link;
}

/* Returns false if the bytes are not an ELF header of this machine's byte order. */
static bool read_places(struct elf_image *image, struct elf_places *places)
{
	_cleanup_(window_done) struct window window = { .source = image->file };
	size_t word = image->word_size;
	size_t size = word == 8 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	struct reader reader = window_reader(&window, 0, size);
	uint16_t segment_size, section_size;

	reader_take(&reader, EI_NIDENT + 2);
	image->machine = reader_u16_host(&reader);
	reader_u32(&reader);
	reader_word_host(&reader, word);
	places->segments_at = reader_word_host(&reader, word);
	places->sections_at = reader_word_host(&reader, word);
	reader_u32(&reader);
	reader_u16(&reader);
	segment_size = reader_u16_host(&reader);
	places->segment_count = reader_u16_host(&reader);
	section_size = reader_u16_host(&reader);
	places->section_count = reader_u16_host(&reader);
	places->names = reader_u16_host(&reader);
	if (reader_failed(&reader))
		return false;
	if (places->sections_at && section_size == section_row_size(image))
		read_large_counts(image, places);
	else
		places->section_count = 0;
	if (!places->segments_at || segment_size != segment_row_size(image))
		places->segment_count = 0;
	return true;
}

/* Section names are scattered, so most of them cost a separate read. */
static void name_section(struct window *names, uint32_t at, struct elf_section *section)
{
	uint64_t left = at < names->source.size ? names->source.size - at : 0;
	struct reader reader = window_reader(names, at, MIN(left, SECTION_NAME_MAX));
	size_t size = reader_left(&reader);
	const void *bytes = reader_take(&reader, size);
	char name[SECTION_NAME_MAX + 1] = { 0 };

	if (bytes)
		memcpy(name, bytes, size);
	memcpy(section->name, name, sizeof(section->name) - 1);
	section->labels = strstr(name, "text") || strstr(name, "data");
}

static int read_sections(struct elf_image *image, const struct elf_places *places)
{
	_cleanup_(window_done) struct window table = table_window(image, places->sections_at);
	_cleanup_(window_done) struct window names = { .step = NAMES_STEP };
	struct section_row row;

	if (places->names < places->section_count &&
	    read_section(image, &table, places->names, &row) && row.section.type == SHT_STRTAB)
		names.source = file_window_part(&image->file, row.section.offset, row.section.size);
	for (size_t i = 0; i < MIN(places->section_count, SECTIONS_MAX); i++) {
		if (!read_section(image, &table, i, &row))
			break;
		name_section(&names, row.name, &row.section);
		if (array_push(&image->sections, row.section) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct elf_segment *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct elf_segment *one = a, *other = b;

	if (one->offset != other->offset)
		return one->offset < other->offset ? -1 : 1;
	return one->address < other->address ? -1 : one->address > other->address;
}

static void sort_segments(struct elf_image *image)
{
	size_t kept = 0;

	if (image->segments.count)
		qsort(image->segments.items, image->segments.count, sizeof(struct elf_segment),
		      compare_addresses);
	for (size_t i = 0; i < image->segments.count; i++)
		if (!kept ||
		    image->segments.items[kept - 1].address != image->segments.items[i].address)
			image->segments.items[kept++] = image->segments.items[i];
	image->segments.count = kept;
	kept = 0;
	if (image->code.count)
		qsort(image->code.items, image->code.count, sizeof(struct elf_segment),
		      compare_offsets);
	for (size_t i = 0; i < image->code.count; i++)
		if (!kept || image->code.items[kept - 1].offset != image->code.items[i].offset)
			image->code.items[kept++] = image->code.items[i];
	image->code.count = kept;
}

static int read_segments(struct elf_image *image, const struct elf_places *places)
{
	_cleanup_(window_done) struct window table = table_window(image, places->segments_at);
	struct segment_row row;

	image->segments_at = places->segments_at;
	image->segment_count = MIN(places->segment_count, SEGMENTS_MAX);
	for (size_t i = 0; i < image->segment_count && read_segment(image, &table, i, &row); i++) {
		if (row.type != PT_LOAD || !row.segment.size)
			continue;
		if (array_push(&image->segments, row.segment) < 0)
			return -ENOMEM;
		if (row.segment.executable && array_push(&image->code, row.segment) < 0)
			return -ENOMEM;
	}
	sort_segments(image);
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

	if (!read_packing(image, &source, &type, &size) || !size ||
	    size > MIN(image->unpack_left, UNPACKED_ONE_MAX) || source.size <= header_size ||
	    source.size > UNPACKED_ONE_MAX || !work_spend(image->file.budget, size / UNPACK_BYTES))
		return 0;
	image->unpack_left -= size;
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
	if (r < 0)
		return r;
	take_ptr(bytes);
	return 0;
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
		/* elf_image_find_type() finds only the first table */
		break;
	}
	return r;
}

static int read_headers(struct elf_image *image, struct error *error)
{
	struct elf_places places = { 0 };
	uint8_t identity[EI_NIDENT];
	int r;

	image->unpack_left = UNPACKED_MAX;
	if (file_window_read(&image->file, 0, identity, sizeof(identity)) < sizeof(identity) ||
	    memcmp(identity, ELFMAG, SELFMAG) != 0 || identity[EI_CLASS] < ELFCLASS32 ||
	    identity[EI_CLASS] > ELFCLASS64)
		return error_set(error, -EBADMSG, "not an ELF file");
	image->word_size = identity[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	image->foreign =
		identity[EI_DATA] != (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
	if (image->foreign)
		return 0;
	if (!read_places(image, &places))
		return error_set(error, -EBADMSG, "the ELF header is truncated");
	r = read_sections(image, &places);
	if (r < 0)
		return r;
	r = unpack_tables(image);
	return r < 0 ? r : read_segments(image, &places);
}

int elf_image_open(struct elf_image *image, int fd, struct work_limit *budget, struct error *error)
{
	image->file = file_window_of_file(fd);
	image->file.budget = budget;
	return read_headers(image, error);
}

int elf_image_open_memory(struct elf_image *image, const void *bytes, size_t size,
			  struct work_limit *budget, struct error *error)
{
	image->file = file_window_of_memory(bytes, size);
	image->file.budget = budget;
	return read_headers(image, error);
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
	const struct elf_segment *segment = image->segments.items;
	size_t count = image->segments.count;

	/* runs for each symbol, so this search avoids branches that depend on addresses */
	while (count > 1) {
		size_t half = count / 2;

		segment += segment[half].address <= address ? half : 0;
		count -= half;
	}
	return count && address - segment->address < segment->size && address >= segment->address
		       ? segment
		       : NULL;
}

bool elf_image_address(const struct elf_image *image, uint64_t offset, uint64_t *ret_address)
{
	size_t i = sort_array_count_below(&image->code, offset, offset + 1);
	const struct elf_segment *segment;

	if (!i)
		return false;
	segment = &image->code.items[i - 1];
	if (offset - segment->offset >= segment->size)
		return false;
	*ret_address = offset - segment->offset + segment->address;
	return true;
}

struct file_window elf_image_section(const struct elf_image *image, size_t i)
{
	const struct elf_section *section;

	for (size_t k = 0; k < image->unpacked.count; k++)
		if (image->unpacked.items[k].section == i) {
			struct file_window bytes = file_window_of_memory(
				image->unpacked.items[k].bytes, image->unpacked.items[k].size);

			bytes.budget = image->file.budget;
			return bytes;
		}
	if (i >= image->sections.count || image->foreign)
		return file_window_of_memory(NULL, 0);
	section = &image->sections.items[i];
	if (section->type == SHT_NOBITS || section->flags & SHF_COMPRESSED)
		return file_window_of_memory(NULL, 0);
	return file_window_part(&image->file, section->offset, MIN(section->size, SECTION_MAX));
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

/*
 * Returns 1 with the build-id in the notes at an offset, else 0. Skips notes larger than NOTES_MAX,
 * which real files lack.
 */
static int notes_at(const struct elf_image *image, uint64_t offset, uint64_t size, uint8_t *ret_id,
		    size_t *ret_size)
{
	_cleanup_(window_done) struct window window = { .source = image->file };
	struct reader reader;

	if (size > NOTES_MAX)
		return 0;
	reader = window_reader(&window, offset, size);
	if (reader_failed(&reader))
		return 0;
	return elf_notes_build_id(reader_take(&reader, size), size, ret_id, ret_size);
}

static int notes_of_segments(const struct elf_image *image, uint8_t *ret_id, size_t *ret_size)
{
	_cleanup_(window_done) struct window table = table_window(image, image->segments_at);
	struct segment_row row;

	for (size_t i = 0; i < image->segment_count && read_segment(image, &table, i, &row); i++)
		if (row.type == PT_NOTE &&
		    notes_at(image, row.segment.offset, row.file_size, ret_id, ret_size))
			return 1;
	return 0;
}

/* Needed because kernel modules and other object files lack segments. */
static int notes_of_sections(const struct elf_image *image, uint8_t *ret_id, size_t *ret_size)
{
	for (size_t i = 1; i < image->sections.count; i++) {
		const struct elf_section *section = &image->sections.items[i];

		if (section->type == SHT_NOTE && !(section->flags & SHF_COMPRESSED) &&
		    notes_at(image, section->offset, section->size, ret_id, ret_size))
			return 1;
	}
	return 0;
}

static int find_build_id(int fd, struct work_limit *budget, uint8_t ret_id[ELF_BUILD_ID_MAX],
			 size_t *ret_size)
{
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	int r = elf_image_open(&image, fd, budget, NULL);

	if (r < 0)
		return r;
	r = notes_of_segments(&image, ret_id, ret_size);
	return r != 0 ? r : notes_of_sections(&image, ret_id, ret_size);
}

int elf_build_id(int fd, uint8_t ret_id[ELF_BUILD_ID_MAX], size_t *ret_size)
{
	struct work_limit budget = work_limit_of(WORK_SMALL);
	int r = find_build_id(fd, &budget, ret_id, ret_size);

	return r == 1 && !budget.starved ? 1 : work_check(&budget, r);
}
