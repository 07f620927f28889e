// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last source: one label for each function, so that the addresses of a function stay together.
 */
#include "symbolizer/elf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolizer/eh-frame.h"
#include "symbolizer/elf-image.h"
#include "symbolizer/symbols.h"
#include "symbolizer/trampolines.h"

#define TEXT_MAX 300

/* Returns the offset in the file for the address of code. */
static bool code_offset(const struct elf_image *image, uint64_t address, uint64_t *ret_offset)
{
	const struct elf_segment *segment = elf_image_segment(image, address);

	if (!segment || !segment->executable)
		return false;
	*ret_offset = address - segment->address + segment->offset;
	return true;
}

/* Adds a function if it contains one of the open addresses. */
static int elf_frames_add_function(struct symbols *symbols, const struct elf_image *image,
				   const struct addresses *addresses,
				   const struct eh_function *function, const char *name)
{
	char text[TEXT_MAX];
	uint64_t offset;
	size_t first;

	if (!code_offset(image, function->start, &offset))
		return 0;
	first = addresses_below(addresses, offset);
	if (first == addresses->list.count ||
	    addresses->list.items[first].address - offset >= function->size)
		return 0;
	snprintf(text, sizeof(text), "[%.255s+0x%" PRIx64 "%s", name, function->start,
		 function->signal ? TRAMPOLINE_LABEL : "]");
	return symbols_add(symbols, offset, function->size, SYMBOL_LOCAL, text, strlen(text));
}

static int elf_frames_add_functions(struct symbols *symbols, const struct elf_image *image,
				    const struct addresses *addresses, const char *name)
{
	size_t section = elf_image_find_name(image, ".eh_frame");
	struct file_window source = elf_image_section(image, section);
	_cleanup_(eh_frame_done) struct eh_frame frame = { 0 };
	struct eh_function function;
	int r = 0;

	if (!section || image->foreign)
		return 0;
	eh_frame_init(&frame, &source, image->sections.items[section].address, image->word_size);
	while (r == 0 && eh_frame_next(&frame, &function))
		r = elf_frames_add_function(symbols, image, addresses, &function, name);
	return r;
}

int elf_function_starts(int fd, const char *name, struct addresses *addresses)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = NULL;
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	int r = elf_image_open(&image, fd, NULL);

	if (r == 0)
		r = symbols_new(&symbols);
	if (r == 0)
		r = elf_frames_add_functions(symbols, &image, addresses, name);
	if (r == 0)
		r = symbols_finish(symbols);
	return r < 0 ? r : symbols_answer(symbols, addresses);
}
