// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks the sources of an ELF file for names: first the separate debug file, then the symbol tables,
 * then .gnu_debugdata, then Go's function table.
 */
#include "symbolizer/elf.h"

#include <errno.h>

#include "base/cleanup.h"
#include "symbolizer/elf-finders.h"

/*
 * Uses a separate debug file. Returns 0 for a damaged debug file, because the other sources may
 * have the names.
 */
static int name_from_debug_file(const struct elf_image *image, int fd, struct addresses *addresses)
{
	_cleanup_(elf_image_done) struct elf_image debug = { 0 };
	int r = elf_image_open(&debug, fd, image->file.budget, NULL);

	if (r == 0)
		r = elf_find_symbols(image, &debug, addresses, NULL);
	return r == -EBADMSG ? 0 : r;
}

static int name_from_file(const struct elf_image *image, struct addresses *addresses,
			  struct error *error)
{
	int r = elf_find_symbols(image, image, addresses, error);

	if (r < 0)
		return r;
	if (addresses->open)
		r = elf_find_debugdata(image, addresses);
	if (r < 0)
		return r;
	return addresses->open ? elf_find_go(image, addresses) : 0;
}

static int name_from_files(int fd, int debug_fd, struct work_limit *budget,
			   struct addresses *addresses, struct error *error)
{
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	int r = elf_image_open(&image, fd, budget, error);

	if (r < 0)
		return r;
	if (debug_fd >= 0)
		r = name_from_debug_file(&image, debug_fd, addresses);
	return r < 0 ? r : name_from_file(&image, addresses, error);
}

int elf_names(int fd, int debug_fd, struct addresses *addresses, struct error *error)
{
	struct work_limit budget = work_limit_for_names(addresses->open);
	int r = name_from_files(fd, debug_fd, &budget, addresses, error);

	return work_check(&budget, r);
}

int elf_names_image(const void *bytes, size_t size, struct addresses *addresses,
		    struct error *error)
{
	struct work_limit budget = work_limit_for_names(addresses->open);
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	int r = elf_image_open_memory(&image, bytes, size, &budget, error);

	if (r == 0)
		r = name_from_file(&image, addresses, error);
	return work_check(&budget, r);
}
