// SPDX-License-Identifier: GPL-2.0-only
/*
 * Labels the addresses that other sources could not name. All addresses of a function get the same
 * label, so that they stay together.
 */
#include "symbolizer/elf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbolizer/eh-frame.h"
#include "symbolizer/elf-image.h"
#include "symbolizer/trampolines.h"

#define TEXT_MAX 300

/* The innermost function found so far that contains an address. */
struct innermost {
	/* The function's start in the file, and in memory. The label shows the start in memory. */
	uint64_t offset;
	uint64_t start;
	bool found;
	bool signal;
};

/* Starts zeroed. */
struct frame_search {
	const struct elf_image *image;
	struct addresses *addresses;
	struct work_limit *budget;
	/* One item for each address, so that memory does not depend on the number of functions. */
	struct innermost *innermost;
};

/* Returns the offset in the file for the address of code. */
static bool code_offset(const struct elf_image *image, uint64_t address, uint64_t *ret_offset)
{
	const struct elf_segment *segment = elf_image_segment(image, address);

	if (!segment || !segment->executable)
		return false;
	*ret_offset = address - segment->address + segment->offset;
	return true;
}

/* Returns whether the label shows `function` instead of `other`; both contain the same address. */
static bool is_inside(const struct innermost *function, const struct innermost *other)
{
	if (!other->found || function->offset != other->offset)
		return !other->found || function->offset > other->offset;
	return function->signal && !other->signal;
}

/* Notes a function for the addresses that it contains. Returns false if the budget is spent. */
static bool note_function(struct frame_search *search, const struct eh_function *function)
{
	struct innermost this = { 0, function->start, true, function->signal };
	const struct addresses *addresses = search->addresses;

	if (!code_offset(search->image, function->start, &this.offset))
		return true;
	for (size_t i = addresses_below(addresses, this.offset);
	     i < addresses->list.count &&
	     addresses->list.items[i].address - this.offset < function->size;
	     i++) {
		if (!work_spend(search->budget, 1))
			return false;
		if (is_inside(&this, &search->innermost[i]))
			search->innermost[i] = this;
	}
	return true;
}

static void read_functions(struct frame_search *search)
{
	const struct elf_image *image = search->image;
	size_t section = elf_image_find_name(image, ".eh_frame");
	struct file_window source = elf_image_section(image, section);
	_cleanup_(eh_frame_done) struct eh_frame frame = { 0 };
	struct eh_function function;

	if (!section || image->foreign)
		return;
	eh_frame_init(&frame, &source, image->sections.items[section].address, image->word_size);
	while (eh_frame_next(&frame, &function) && note_function(search, &function))
		;
}

static int answer_starts(const struct frame_search *search, const char *name)
{
	char text[TEXT_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && i < search->addresses->list.count; i++) {
		const struct innermost *function = &search->innermost[i];

		if (!function->found || search->addresses->list.items[i].state != ADDRESSES_OPEN)
			continue;
		snprintf(text, sizeof(text), "[%.255s+0x%" PRIx64 "%s", name, function->start,
			 function->signal ? TRAMPOLINE_LABEL : "]");
		r = addresses_answer(search->addresses, i, function->offset, text);
	}
	return r;
}

int elf_function_starts(int fd, const char *name, struct addresses *addresses)
{
	struct work_limit budget = work_limit_for_names(addresses->open);
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	_cleanup_free_ struct innermost *innermost =
		calloc(addresses->list.count + 1, sizeof(*innermost));
	struct frame_search search = { &image, addresses, &budget, innermost };
	int r = innermost ? elf_image_open(&image, fd, &budget, NULL) : -ENOMEM;

	if (r < 0)
		return work_check(&budget, r);
	read_functions(&search);
	r = work_check(&budget, 0);
	return r < 0 ? r : answer_starts(&search, name);
}
