// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that a file's own tables lack: they are in a packed section, in a compressed one, or in
 * another file.
 */
#include "tests/helpers.h"
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/file.h"
#include "naming/finder.h"
#include "pack/gzip.h"
#include "symbolizer/elf.h"
#include "tests/elves.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* Makes tables with one function, "inside", in the middle of the code. */
static void make_tables(struct buffer *symbols, struct buffer *strings)
{
	Elf64_Sym symbol[2] = { [1] = { .st_name = 1,
					.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
					.st_shndx = 1,
					.st_value = ELVES_CODE + 0x100,
					.st_size = 0x40 } };

	buffer_bytes(symbols, symbol, sizeof(symbol));
	buffer_bytes(strings, "\0inside", 8);
}

#define CODE                                                                          \
	{                                                                             \
		".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL \
	}

/* Makes a file with both tables; `flags` are the flags of their sections. */
static void make_file(struct buffer *file, const struct buffer *symbols,
		      const struct buffer *strings, uint64_t flags)
{
	elves_make(file,
		   (struct elves_section[]){
			   CODE,
			   { ".symtab", SHT_SYMTAB, flags, ELVES_DATA, 3, symbols },
			   { ".strtab", SHT_STRTAB, flags, ELVES_DATA + 0x1000, 0, strings } },
		   3);
}

static void make_plain(struct buffer *file)
{
	_cleanup_(buffer_done) struct buffer symbols = { 0 }, strings = { 0 };

	make_tables(&symbols, &strings);
	make_file(file, &symbols, &strings, 0);
}

static void make_with(struct buffer *file, const char *section, const struct buffer *bytes)
{
	elves_make(file,
		   (struct elves_section[]){ CODE,
					     { section, SHT_PROGBITS, 0, ELVES_DATA, 0, bytes } },
		   2);
}

static void check_names(const struct buffer *file, int debug_fd, const char *name)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	_cleanup_(addresses_done) struct addresses addresses = { 0 };

	CHECK_EQ(file_write_all(fd, file->data, file->size), 0);
	CHECK_EQ(addresses_add(&addresses, 0x10ff), 0);
	CHECK_EQ(addresses_add(&addresses, 0x1110), 0);
	CHECK_EQ(elf_names(fd, debug_fd, &addresses, NULL), 0);
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x10ff)), "");
	CHECK_STR(addresses_name(&addresses, addresses_find(&addresses, 0x1110)), name);
	CHECK_EQ(addresses_find(&addresses, 0x1110)->start, *name ? 0x1100 : 0);
}

static void pack_xz(const struct buffer *plain, struct buffer *packed)
{
	size_t bound = lzma_stream_buffer_bound(plain->size), used = 0;
	uint8_t *room = buffer_room(packed, bound);

	CHECK(room);
	CHECK_EQ(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, plain->data, plain->size, room,
					 &used, bound),
		 LZMA_OK);
	packed->size += used;
}

static void test_debugdata(void)
{
	_cleanup_(buffer_done) struct buffer plain = { 0 }, packed = { 0 };

	make_plain(&plain);
	check_names(&plain, -1, "inside");
	pack_xz(&plain, &packed);
	for (size_t size = packed.size; size > 8; size = size * 3 / 4) {
		_cleanup_(buffer_done) struct buffer file = { 0 };
		bool whole = size == packed.size;

		packed.size = size;
		make_with(&file, ".gnu_debugdata", &packed);
		check_names(&file, -1, whole ? "inside" : "");
	}
}

/* 65 MB of zeros in 10 KB. */
static void test_debugdata_that_expands(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 }, plain = { 0 }, packed = { 0 };

	CHECK(buffer_room(&plain, 65 << 20));
	memset(plain.data, 0, 65 << 20);
	plain.size = 65 << 20;
	pack_xz(&plain, &packed);
	make_with(&file, ".gnu_debugdata", &packed);
	check_names(&file, -1, "");
}

static void pack_section(const struct buffer *plain, uint32_t type, uint64_t claimed,
			 struct buffer *packed)
{
	Elf64_Chdr header = { .ch_type = type, .ch_size = claimed, .ch_addralign = 8 };
	uint8_t *room;

	buffer_bytes(packed, &header, sizeof(header));
	room = buffer_room(packed, 4096);
	CHECK(room);
	if (type == ELFCOMPRESS_ZLIB) {
		uLongf size = 4096;

		CHECK_EQ(compress2(room, &size, plain->data, plain->size, 6), Z_OK);
		packed->size += size;
	} else {
		packed->size += ZSTD_compress(room, 4096, plain->data, plain->size, 1);
	}
}

static void check_compressed(uint32_t type, uint64_t added, const char *name)
{
	_cleanup_(buffer_done) struct buffer symbols = { 0 }, strings = { 0 }, file = { 0 };
	_cleanup_(buffer_done) struct buffer packed_symbols = { 0 }, packed_strings = { 0 };

	make_tables(&symbols, &strings);
	pack_section(&symbols, type, symbols.size + added, &packed_symbols);
	pack_section(&strings, type, strings.size, &packed_strings);
	if (type > ELFCOMPRESS_ZSTD)
		memcpy(packed_symbols.data, &type, sizeof(type));
	make_file(&file, &packed_symbols, &packed_strings, SHF_COMPRESSED);
	check_names(&file, -1, name);
}

static void test_compressed(void)
{
	check_compressed(ELFCOMPRESS_ZLIB, 0, "inside");
	check_compressed(ELFCOMPRESS_ZSTD, 0, "inside");
	/* a section that claims a larger size, or another compression */
	check_compressed(ELFCOMPRESS_ZLIB, 1, "");
	check_compressed(ELFCOMPRESS_ZSTD, 1, "");
	check_compressed(ELFCOMPRESS_ZLIB, 1ull << 40, "");
	check_compressed(3, 0, "");
}

static void put_link(struct buffer *link, const char *name, uint32_t crc)
{
	buffer_bytes(link, name, strlen(name) + 1);
	while (link->size % 4)
		buffer_u8(link, 0);
	buffer_u32(link, crc);
}

static int read_link(const char *name, size_t cut, char ret_name[ELF_DEBUGLINK_MAX],
		     uint32_t *ret_crc)
{
	_cleanup_(buffer_done) struct buffer file = { 0 }, link = { 0 };
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);

	put_link(&link, name, 0x12345678);
	link.size -= cut;
	make_with(&file, ".gnu_debuglink", &link);
	CHECK_EQ(file_write_all(fd, file.data, file.size), 0);
	return elf_debuglink(fd, ret_name, ret_crc);
}

static void test_debuglink(void)
{
	char name[ELF_DEBUGLINK_MAX], longest[ELF_DEBUGLINK_MAX + 1] = "";
	uint32_t crc = 0;

	CHECK_EQ(read_link("program.debug", 0, name, &crc), 1);
	CHECK_STR(name, "program.debug");
	CHECK_EQ(crc, 0x12345678);
	CHECK_EQ(read_link("program.debug", 1, name, &crc), 0);
	CHECK_EQ(read_link("", 0, name, &crc), 0);
	CHECK_EQ(read_link("..", 0, name, &crc), 0);
	CHECK_EQ(read_link("../../etc/passwd", 0, name, &crc), 0);
	memset(longest, 'x', ELF_DEBUGLINK_MAX);
	CHECK_EQ(read_link(longest, 0, name, &crc), 0);
	longest[ELF_DEBUGLINK_MAX - 1] = 0;
	CHECK_EQ(read_link(longest, 0, name, &crc), 1);
}

/*
 * The file DIR/program contains a link to program.debug, which is in DIR/.debug. The debug file
 * counts only if its CRC is right.
 */
static void test_found_by_link(void)
{
	char dir[] = "/tmp/perftape-names-XXXXXX", path[96], debug_dir[64];
	_cleanup_(buffer_done) struct buffer file = { 0 }, debug = { 0 }, link = { 0 };
	struct finder_request request = { .path = path };
	static const struct name_helper_patience patience = NAME_HELPER_PATIENCE;
	_cleanup_(cleanup_name_helper) struct name_helper *helper = NULL;
	struct finder finder = { 0 };
	struct finder_files files;
	struct stat about;

	CHECK_EQ(name_helper_new(&patience, &helper), 0);
	finder.helper = helper;
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	snprintf(debug_dir, sizeof(debug_dir), "%s/.debug", dir);
	make_plain(&debug);
	put_link(&link, "program.debug", gzip_crc(0, debug.data, debug.size));
	make_with(&file, ".gnu_debuglink", &link);
	CHECK_EQ(file_replace(dir, "program", file.data, file.size), 0);
	CHECK_EQ(file_make_dirs(debug_dir, 0700), 0);
	CHECK_EQ(stat(path, &about), 0);
	request.module.device = about.st_dev;
	request.module.inode = about.st_ino;
	CHECK_EQ(file_replace(debug_dir, "program.debug", debug.data, debug.size - 1), 0);
	CHECK_EQ(finder_find(&finder, &request, &files), 0);
	CHECK_EQ(files.other_fd, -1);
	finder_files_close(&files);
	CHECK_EQ(file_replace(debug_dir, "program.debug", debug.data, debug.size), 0);
	CHECK_EQ(finder_find(&finder, &request, &files), 0);
	CHECK(files.other_fd >= 0);
	check_names(&file, files.other_fd, "inside");
	finder_files_close(&files);
	unlink(path);
	snprintf(path, sizeof(path), "%s/program.debug", debug_dir);
	unlink(path);
	rmdir(debug_dir);
	rmdir(dir);
}

CHECK_MAIN({ "packed names of .gnu_debugdata are found", test_debugdata },
	   { ".gnu_debugdata that expands absurdly is refused", test_debugdata_that_expands },
	   { "names in compressed sections are found", test_compressed },
	   { "a debug link and its CRC are read", test_debuglink },
	   { "a debug file is found by its link", test_found_by_link })
