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

/* The largest known sections unpack to some 20 MB. */
#define UNPACKED_MAX (32u << 20)
/* Unpacked bytes for one unit of a budget: xz unpacks some 100 MB per second. */
#define UNPACK_BYTES 1
#define STEP (64u << 10)

struct unpacking {
	struct buffer bytes;
	struct work_limit *budget;
};

static void unpacking_done(struct unpacking *unpacking)
{
	buffer_done(&unpacking->bytes);
}

static int elf_debugdata_take(void *context, const uint8_t *data, size_t size)
{
	struct unpacking *unpacking = context;

	if (size > UNPACKED_MAX - unpacking->bytes.size)
		return -EFBIG;
	if (!work_spend(unpacking->budget, size / UNPACK_BYTES))
		return -ETIME;
	buffer_bytes(&unpacking->bytes, data, size);
	return buffer_failed(&unpacking->bytes) ? -ENOMEM : 0;
}

static int elf_debugdata_unpack(const struct file_window *source, struct unpacking *unpacking)
{
	_cleanup_(cleanup_xz_reader) struct xz_reader *reader = NULL;
	_cleanup_free_ uint8_t *piece = malloc(STEP);
	int r = piece ? xz_reader_new(XZ_MEMORY_SMALL, &reader) : -ENOMEM;
	size_t size = STEP;

	for (uint64_t at = 0; r == 0 && size; at += size) {
		size = file_window_read(source, at, piece, STEP);
		/* packed bytes that unpack to nothing take time, too */
		if (!work_spend(unpacking->budget, size / UNPACK_BYTES))
			return -ETIME;
		r = xz_reader_feed(reader, piece, size, elf_debugdata_take, unpacking);
	}
	return r < 0 ? r : xz_reader_finish(reader, elf_debugdata_take, unpacking);
}

static int elf_use_debugdata(const struct elf_image *image, const struct file_window *source,
			     struct addresses *addresses)
{
	_cleanup_(elf_image_done) struct elf_image debug = { 0 };
	_cleanup_(unpacking_done) struct unpacking unpacked = { .budget = image->file.budget };
	int r = elf_debugdata_unpack(source, &unpacked);

	if (r < 0)
		return r;
	r = elf_image_open_memory(&debug, unpacked.bytes.data, unpacked.bytes.size,
				  image->file.budget, NULL);
	return r < 0 ? r : elf_find_symbols(image, &debug, addresses, NULL);
}

int elf_find_debugdata(const struct elf_image *image, struct addresses *addresses)
{
	size_t section = elf_image_find_name(image, ".gnu_debugdata");
	struct file_window source = elf_image_section(image, section);
	int r = section ? elf_use_debugdata(image, &source, addresses) : -ENOENT;

	return r == -ENOMEM || r == -E2BIG ? r : 0;
}
