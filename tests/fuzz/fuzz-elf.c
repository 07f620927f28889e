// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes as an ELF file: as an image and as a file, whose readers in libelf are not the same. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "symbolizer/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever was made must hold together. */
static void walk(struct symbols *symbols)
{
	struct symbol symbol, found;

	for (size_t i = 0; symbols && i < symbols_count(symbols); i++) {
		symbols_at(symbols, i, &symbol);
		if (symbols_find(symbols, symbol.start, &found) != 1 ||
			found.start != symbol.start || !*found.name)
			abort();
	}
	symbols_free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct symbols *symbols = NULL, *of_image = NULL, *of_both = NULL;
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_size;

	elf_symbols_image(data, size, &of_image, NULL);
	walk(of_image);
	elf_notes_build_id(data, size, id, &id_size);
	if (fd < 0 || file_write_all(fd, data, size) < 0)
		return 0;
	elf_symbols(fd, &symbols, NULL);
	walk(symbols);
	elf_symbols_debug(fd, fd, &of_both, NULL);
	walk(of_both);
	elf_build_id(fd, id, &id_size);
	return 0;
}
