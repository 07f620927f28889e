// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads .gnu_debuglink: the name of a separate debug file, NUL-terminated, padded to 4 bytes, and
 * its CRC-32. The section is older than build-ids, but still in use.
 */
#include "symbolizer/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "pack/gzip.h"
#include "symbolizer/elf-image.h"

/*
 * elf_has_crc() reads the whole file. Larger debug files have a build-id, so that callers find them
 * without the CRC.
 */
#define DEBUG_FILE_MAX (256ull << 20)
#define DEBUGLINK_SIZE_MAX (ELF_DEBUGLINK_MAX + 8)
#define STEP (256u << 10)

static int read_debuglink(const struct elf_image *image, char ret_name[ELF_DEBUGLINK_MAX],
			  uint32_t *ret_crc)
{
	_cleanup_(window_done) struct window window = { 0 };
	size_t section = elf_image_find_name(image, ".gnu_debuglink"), size;
	struct reader reader;
	const char *name;

	if (!section)
		return 0;
	window.source = elf_image_section(image, section);
	window.source.size = MIN(window.source.size, DEBUGLINK_SIZE_MAX);
	name = window_text(&window, 0);
	/* accept only a plain name, because a path could lead anywhere */
	if (!name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	size = strlen(name) + 1;
	if (size == 1 || size > ELF_DEBUGLINK_MAX)
		return 0;
	memcpy(ret_name, name, size);
	reader = window_reader(&window, (size + 3) & ~3ull, 4);
	*ret_crc = reader_u32_host(&reader);
	return !reader_failed(&reader);
}

int elf_debuglink(int fd, char ret_name[ELF_DEBUGLINK_MAX], uint32_t *ret_crc)
{
	struct work_limit budget = work_limit_of(WORK_SMALL);
	_cleanup_(elf_image_done) struct elf_image image = { 0 };
	int r = elf_image_open(&image, fd, &budget, NULL);

	if (r == 0)
		r = read_debuglink(&image, ret_name, ret_crc);
	return r == 1 && !budget.starved ? 1 : work_check(&budget, r);
}

bool elf_has_crc(int fd, uint32_t crc)
{
	struct file_window source = file_window_of_file(fd);
	_cleanup_free_ uint8_t *piece = malloc(STEP);
	uint32_t sum = 0;
	size_t size;

	if (!piece || source.size > DEBUG_FILE_MAX)
		return false;
	for (uint64_t at = 0; at < source.size; at += size) {
		size = file_window_read(&source, at, piece, STEP);
		if (!size)
			return false;
		sum = gzip_crc(sum, piece, size);
	}
	return sum == crc;
}
