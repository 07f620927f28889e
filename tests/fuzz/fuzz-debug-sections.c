// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the sections .gnu_debuglink and .gnu_debugdata of a sound ELF file. The name
 * of a debug file must be a plain name.
 */
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "symbolizer/addresses.h"
#include "symbolizer/elf.h"
#include "tests/elves.h"

#define SECTION_MAX 0x2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_link(int fd)
{
	char name[ELF_DEBUGLINK_MAX];
	uint32_t crc;

	if (elf_debuglink(fd, name, &crc) != 1)
		return;
	if (!memchr(name, 0, sizeof(name)) || !*name || strchr(name, '/'))
		abort();
	elf_has_crc(fd, crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer bytes = { .data = (uint8_t *)data, .size = size };
	const struct elves_section sections[] = {
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
		{ ".gnu_debuglink", SHT_PROGBITS, 0, ELVES_DATA, 0, &bytes },
		{ ".gnu_debugdata", SHT_PROGBITS, 0, ELVES_DATA + SECTION_MAX, 0, &bytes },
	};
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_(buffer_done) struct buffer file = { 0 };

	if (size > SECTION_MAX)
		return 0;
	elves_make(&file, sections, ARRAY_SIZE(sections));
	if (fd < 0 || file_write_all(fd, file.data, file.size) < 0)
		abort();
	check_link(fd);
	for (uint64_t at = 0; at < 0x100; at += 0x10)
		if (addresses_add(&addresses, ELVES_CODE - ELVES_BASE + at) < 0)
			abort();
	elf_names(fd, -1, &addresses, NULL);
	return 0;
}
