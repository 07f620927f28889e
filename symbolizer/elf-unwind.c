// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/elf-unwind.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "symbolizer/elf-image.h"
#include "unwind/table-builder.h"

/* The most sections of a PLT: linkers make .plt, .plt.sec, .plt.got and .iplt. */
#define FRAMELESS_MAX 8
/* .eh_frame_hdr: version, three encodings, and the address of .eh_frame. */
#define HEADER_SIZE 8
#define HEADER_POINTER 4
/* The encoding that all linkers use: 4 signed bytes, relative to their own place. */
#define HEADER_ENCODING 0x1b

/* The place of .eh_frame in a file. */
struct frame_place {
	struct file_window window;
	uint64_t address;
	bool open_end;
};

static bool section_place(const struct elf_image *image, struct frame_place *place)
{
	size_t section = elf_image_find_name(image, ".eh_frame");

	if (!section)
		return false;
	place->window = elf_image_section(image, section);
	place->address = image->sections.items[section].address;
	return place->window.size > 0;
}

/* Finds the segment of .eh_frame_hdr. */
static bool header_segment(const struct elf_image *image, Elf64_Phdr *ret_segment)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		Elf64_Phdr segment;

		if (file_window_read(&image->file, image->segments_at + i * sizeof(segment),
				     &segment, sizeof(segment)) != sizeof(segment))
			return false;
		if (segment.p_type != PT_GNU_EH_FRAME)
			continue;
		*ret_segment = segment;
		return true;
	}
	return false;
}

/*
 * Finds .eh_frame in a file without section headers. .eh_frame_hdr states only where .eh_frame
 * begins.
 */
static bool header_place(const struct elf_image *image, struct frame_place *place)
{
	const struct elf_segment *segment;
	uint8_t header[HEADER_SIZE];
	Elf64_Phdr found;
	int32_t distance;

	if (!header_segment(image, &found) ||
	    file_window_read(&image->file, found.p_offset, header, sizeof(header)) !=
		    sizeof(header) ||
	    header[0] != 1 || header[1] != HEADER_ENCODING)
		return false;
	memcpy(&distance, header + HEADER_POINTER, sizeof(distance));
	place->address = found.p_vaddr + HEADER_POINTER + (uint64_t)(int64_t)distance;
	segment = elf_image_segment(image, place->address);
	if (!segment)
		return false;
	place->window =
		file_window_part(&image->file, place->address - segment->address + segment->offset,
				 segment->size - (place->address - segment->address));
	place->open_end = true;
	return place->window.size > 0;
}

/*
 * Collects the sections of PLTs, whose code jumps on without a frame, in the order of their
 * offsets.
 */
static size_t collect_frameless(const struct elf_image *image,
				struct unwind_segment ret_list[FRAMELESS_MAX])
{
	size_t count = 0;

	for (size_t i = 1; i < image->sections.count && count < FRAMELESS_MAX; i++) {
		const struct elf_section *section = &image->sections.items[i];

		if (!(section->flags & SHF_EXECINSTR) || section->type != SHT_PROGBITS ||
		    (strncmp(section->name, ".plt", 4) != 0 &&
		     strncmp(section->name, ".iplt", 5) != 0) ||
		    section->size > INT64_MAX || section->offset > INT64_MAX ||
		    (count && ret_list[count - 1].offset > section->offset))
			continue;
		ret_list[count++] =
			(struct unwind_segment){ section->address, section->offset, section->size };
	}
	return count;
}

static int build(const struct elf_image *image, const struct frame_place *place,
		 struct buffer *ret_bytes)
{
	_cleanup_free_ struct unwind_segment *code = calloc(image->code.count + 1, sizeof(*code));
	size_t size = MIN(place->window.size, UNWIND_FRAME_MAX + 1);
	_cleanup_free_ uint8_t *frame = malloc(size);
	struct unwind_segment frameless[FRAMELESS_MAX];
	struct unwind_source source = {
		.machine = image->machine == EM_AARCH64 ? UNWIND_ARM64 : UNWIND_X86_64,
		.frame = frame,
		.frame_address = place->address,
		.frame_open_end = place->open_end,
		.code = code,
		.code_count = image->code.count,
		.frameless = frameless,
	};

	if (!code || !frame)
		return -ENOMEM;
	if (place->window.size > UNWIND_FRAME_MAX && !place->open_end)
		return -EFBIG;
	for (size_t i = 0; i < image->code.count; i++)
		code[i] = (struct unwind_segment){ image->code.items[i].address,
						   image->code.items[i].offset,
						   image->code.items[i].size };
	source.frameless_count = collect_frameless(image, frameless);
	source.frame_size = file_window_read(&place->window, 0, frame, MIN(size, UNWIND_FRAME_MAX));
	return unwind_table_build(&source, ret_bytes);
}

static int table_of(const struct elf_image *image, struct buffer *ret_bytes)
{
	struct frame_place place = { .address = 0 };

	if (image->foreign || image->word_size != 8 ||
	    (image->machine != EM_X86_64 && image->machine != EM_AARCH64))
		return -EBADMSG;
	if (!section_place(image, &place) && !header_place(image, &place))
		return -ENODATA;
	return build(image, &place, ret_bytes);
}

int elf_unwind_table(int fd, struct buffer *ret_bytes)
{
	struct work_limit budget = work_limit_of(WORK_BASE);
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	int r = elf_image_open(&image, fd, &budget, NULL);

	return work_check(&budget, r < 0 ? r : table_of(&image, ret_bytes));
}

int elf_unwind_table_image(const void *bytes, size_t size, struct buffer *ret_bytes)
{
	struct work_limit budget = work_limit_of(WORK_BASE);
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	int r = elf_image_open_memory(&image, bytes, size, &budget, NULL);

	return work_check(&budget, r < 0 ? r : table_of(&image, ret_bytes));
}
