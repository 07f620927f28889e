// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads .gnu_debugdata: a small ELF file, packed with xz, with the symbols that .dynsym lacks.
 * Fedora and related distributions keep it in stripped files.
 */
#include "symbolizer/elf-finders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "pack/xz.h"

/* The largest known sections have 5 MB. */
#define UNPACKED_MAX (64u << 20)
#define STEP (64u << 10)

static int elf_debugdata_take(void *context, const uint8_t *data, size_t size)
{
	struct buffer *unpacked = context;

	if (size > UNPACKED_MAX - unpacked->size)
		return -EFBIG;
	buffer_bytes(unpacked, data, size);
	return buffer_failed(unpacked) ? -ENOMEM : 0;
}

static int elf_debugdata_unpack(const struct file_window *source, struct buffer *unpacked)
{
	_cleanup_(cleanup_xz_reader) struct xz_reader *reader = NULL;
	_cleanup_free_ uint8_t *piece = malloc(STEP);
	int r = piece ? xz_reader_new(&reader) : -ENOMEM;
	size_t size = STEP;

	for (uint64_t at = 0; r == 0 && size; at += size) {
		size = file_window_read(source, at, piece, STEP);
		r = xz_reader_feed(reader, piece, size, elf_debugdata_take, unpacked);
	}
	return r < 0 ? r : xz_reader_finish(reader, elf_debugdata_take, unpacked);
}

int elf_find_debugdata(const struct elf_image *image, struct addresses *addresses)
{
	_cleanup_(elf_image_done) struct elf_image debug = { 0 };
	_cleanup_(buffer_done) struct buffer unpacked = { 0 };
	size_t section = elf_image_find_name(image, ".gnu_debugdata");
	struct file_window source = elf_image_section(image, section);
	int r = section ? elf_debugdata_unpack(&source, &unpacked) : -ENOENT;

	if (r == 0)
		r = elf_image_open_memory(&debug, unpacked.data, unpacked.size, NULL);
	if (r == 0)
		r = elf_find_symbols(image, &debug, addresses, NULL);
	return r == -ENOMEM || r == -E2BIG ? r : 0;
}
