// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as an ELF file: as an image and as a file, because windows read both in different
 * ways.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "symbolizer/elf.h"
#include "symbolizer/addresses.h"
#include "symbolizer/trampolines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every answer must be consistent. */
static void check(const struct addresses *addresses)
{
	for (size_t i = 0; i < addresses->list.count; i++) {
		const struct address *address = &addresses->list.items[i];

		if ((address->state == ADDRESSES_NAMED) != !!*addresses_name(addresses, address) ||
		    (address->start > address->address &&
		     !trampoline_is_signal(addresses_name(addresses, address))))
			abort();
	}
}

static void want(struct addresses *addresses)
{
	for (uint64_t address = 0; address < 0x3000; address += 0x38)
		if (addresses_add(addresses, address) < 0)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	_cleanup_(addresses_done) struct addresses of_image = { 0 }, of_file = { 0 },
						   of_both = { 0 };
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_size;

	want(&of_image);
	elf_names_image(data, size, &of_image, NULL);
	check(&of_image);
	elf_notes_build_id(data, size, id, &id_size);
	if (fd < 0 || file_write_all(fd, data, size) < 0)
		return 0;
	want(&of_file);
	elf_names(fd, -1, &of_file, NULL);
	check(&of_file);
	want(&of_both);
	elf_names(fd, fd, &of_both, NULL);
	check(&of_both);
	elf_build_id(fd, id, &id_size);
	return 0;
}
