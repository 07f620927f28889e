// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that claim to be huge, or that shrink while perftape reads them, cost little time and
 * memory.
 */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/file.h"
#include "symbolizer/elf.h"
#include "tests/elves.h"
#include "tests/tier.h"

#define TERABYTE (1ull << 40)
#define ENOUGH_BYTES (4ull << 30)
#define ENOUGH_KB (256 << 10)
#define SYMBOLS (ELVES_CODE_SIZE / 16)
/* The addresses to name are offsets in the file. */
#define CODE (ELVES_CODE - ELVES_BASE)
#define ROUNDS 50

ssize_t __real_pread64(int fd, void *buffer, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *buffer, size_t size, off_t offset);

static _Atomic uint64_t bytes_read;

ssize_t __wrap_pread64(int fd, void *buffer, size_t size, off_t offset)
{
	ssize_t got = __real_pread64(fd, buffer, size, offset);

	atomic_fetch_add(&bytes_read, MAX(got, 0));
	return got;
}

static int open_file(const struct buffer *file)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(file_write_all(fd, file->data, file->size), 0);
	return fd;
}

/* Makes a program whose functions are 16 bytes long. */
static void make_file(struct buffer *file)
{
	_cleanup_(buffer_done) struct buffer symbols = { 0 }, names = { 0 };
	const struct elves_section sections[] = {
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
		{ ".symtab", SHT_SYMTAB, 0, ELVES_DATA, 3, &symbols },
		{ ".strtab", SHT_STRTAB, 0, ELVES_DATA + 0x2000, 0, &names },
	};

	buffer_u8(&names, 0);
	while (symbols.size < sizeof(Elf64_Sym))
		buffer_u8(&symbols, 0);
	for (uint64_t i = 0; i < SYMBOLS; i++) {
		const Elf64_Sym symbol = {
			names.size, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, ELVES_CODE + 16 * i,
			16
		};

		buffer_bytes(&symbols, &symbol, sizeof(symbol));
		buffer_printf(&names, "function%d", (int)i);
		buffer_u8(&names, 0);
	}
	CHECK(!buffer_failed(&symbols) && !buffer_failed(&names));
	elves_make(file, sections, ARRAY_SIZE(sections));
}

static void want(struct addresses *addresses)
{
	for (uint64_t i = 0; i < SYMBOLS; i += 7)
		CHECK_EQ(addresses_add(addresses, CODE + 16 * i + 3), 0);
	addresses_sort(addresses);
}

/* Calls every function that reads a file. Returns how many names were right. */
static size_t ask(int fd)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	uint8_t id[ELF_BUILD_ID_MAX];
	char link[ELF_DEBUGLINK_MAX], name[32];
	size_t named = 0, size;
	uint32_t crc;

	want(&addresses);
	elf_build_id(fd, id, &size);
	elf_debuglink(fd, link, &crc);
	elf_names(fd, -1, &addresses, NULL);
	elf_function_starts(fd, "file", &addresses);
	elf_has_crc(fd, 1);
	for (size_t i = 0; i < addresses.list.count; i++) {
		const struct address *address = &addresses.list.items[i];

		if (address->state != ADDRESSES_NAMED)
			continue;
		snprintf(name, sizeof(name), "function%d", (int)((address->address - CODE) / 16));
		named += strcmp(addresses_name(&addresses, address), name) == 0;
	}
	return named;
}

static long peak_kb(void)
{
	struct rusage usage;

	CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss;
}

static void check_cheap(int fd)
{
	uint64_t begin = bytes_read;
	long before = peak_kb();

	ask(fd);
	CHECK(bytes_read > begin && bytes_read - begin < ENOUGH_BYTES);
	CHECK(peak_kb() - before < ENOUGH_KB);
}

/* A sparse file of a terabyte. One section after the other claims to reach to its end. */
static void test_terabyte(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 };
	Elf64_Ehdr header;

	make_file(&file);
	CHECK(!buffer_failed(&file));
	memcpy(&header, file.data, sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		_cleanup_close_ int fd = -1;
		uint8_t *at = file.data + header.e_shoff + i * sizeof(Elf64_Shdr);
		Elf64_Shdr was, vast;

		memcpy(&was, at, sizeof(was));
		/* up to a gigabyte of a symbol table is read, which takes seconds */
		if (tier_is_quick() && was.sh_type == SHT_SYMTAB)
			continue;
		vast = was;
		vast.sh_size = TERABYTE - vast.sh_offset;
		memcpy(at, &vast, sizeof(vast));
		fd = open_file(&file);
		CHECK_EQ(ftruncate(fd, TERABYTE), 0);
		check_cheap(fd);
		memcpy(at, &was, sizeof(was));
	}
}

struct truncation {
	int fd;
	const struct buffer *file;
	atomic_bool ends;
};

static void *truncate_main(void *context)
{
	struct truncation *truncation = context;
	const struct buffer *file = truncation->file;

	for (uint64_t at = 0; !atomic_load(&truncation->ends);
	     at = at * 2862933555777941757u + 3037000493u)
		if (ftruncate(truncation->fd, at % file->size) < 0 ||
		    file_write_at(truncation->fd, file->data, file->size, 0) < 0)
			break;
	return NULL;
}

/* If the file were mapped, this would cause SIGBUS. Afterwards every address has its name again. */
static void test_truncated(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 };
	_cleanup_close_ int fd = -1;
	struct truncation truncation = { .file = &file };
	pthread_t thread;

	make_file(&file);
	truncation.fd = fd = open_file(&file);
	CHECK_EQ(ask(fd), (SYMBOLS + 6) / 7);
	CHECK_EQ(pthread_create(&thread, NULL, truncate_main, &truncation), 0);
	for (int i = 0; i < ROUNDS; i++)
		ask(fd);
	atomic_store(&truncation.ends, true);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(ask(fd), (SYMBOLS + 6) / 7);
}

/* Puts other bytes behind the end of a file, as the i-th section. */
static void replace_section(struct buffer *file, size_t i, const struct buffer *bytes)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	memcpy(&header, file->data, sizeof(header));
	memcpy(&section, file->data + header.e_shoff + i * sizeof(section), sizeof(section));
	section.sh_offset = file->size;
	section.sh_size = bytes->size;
	memcpy(file->data + header.e_shoff + i * sizeof(section), &section, sizeof(section));
	buffer_bytes(file, bytes->data, bytes->size);
	CHECK(!buffer_failed(file));
}

/* An unwind table of functions of 16 bytes each; all contain all code. */
static void put_frames(struct buffer *table, uint64_t address, size_t count)
{
	static const uint8_t common[] = { 16,  0, 0, 0,	   0,  0, 0,	0, 1, 'z',
					  'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0 };

	buffer_bytes(table, common, sizeof(common));
	for (size_t i = 0; i < count; i++) {
		uint64_t at = table->size;

		buffer_u32(table, 12);
		buffer_u32(table, at + 4);
		buffer_u32(table, ELVES_CODE - (address + at + 8));
		buffer_u32(table, ELVES_CODE_SIZE);
	}
}

/* Memory depends on the addresses, not on the functions that contain them. */
static void test_poison(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 }, none = { 0 }, table = { 0 };
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = -1;
	const struct elves_section sections[] = {
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
		{ ".eh_frame", SHT_PROGBITS, SHF_ALLOC, ELVES_DATA, 0, &none },
	};
	char name[256];
	long before;

	elves_make(&file, sections, ARRAY_SIZE(sections));
	put_frames(&table, ELVES_DATA, 500000);
	replace_section(&file, 2, &table);
	fd = open_file(&file);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	CHECK_EQ(addresses_add(&addresses, CODE + 5), 0);
	addresses_sort(&addresses);
	before = peak_kb();
	CHECK_EQ(elf_function_starts(fd, name, &addresses), 0);
	CHECK(peak_kb() - before < 4096);
	CHECK_EQ(addresses.open, 0);
	CHECK(strstr(addresses_name(&addresses, addresses.list.items), "+0x401000]"));
}

/* The work of a file is bounded, and the caller learns that the bound was reached. */
static void test_work(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 }, none = { 0 }, table = { 0 };
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	_cleanup_close_ int fd = -1;
	const struct elves_section sections[] = {
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
		{ ".eh_frame", SHT_PROGBITS, SHF_ALLOC, ELVES_DATA, 0, &none },
	};

	elves_make(&file, sections, ARRAY_SIZE(sections));
	put_frames(&table, ELVES_DATA, 100000);
	replace_section(&file, 2, &table);
	fd = open_file(&file);
	/* each function contains each of the addresses */
	for (uint64_t i = 0; i < ELVES_CODE_SIZE; i += 2)
		CHECK_EQ(addresses_add(&addresses, CODE + i), 0);
	addresses_sort(&addresses);
	CHECK_EQ(elf_function_starts(fd, "file", &addresses), -ETIME);
}

/* A section of notes is as large as its file claims, but it is not read. It may also be empty. */
static void test_notes(void)
{
	_cleanup_(buffer_done) struct buffer file = { 0 }, none = { 0 };
	const struct elves_section sections[] = {
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ELVES_CODE, 0, NULL },
		{ ".note", SHT_NOTE, SHF_ALLOC, ELVES_DATA, 0, &none },
	};
	uint8_t id[ELF_BUILD_ID_MAX];
	_cleanup_close_ int fd = -1;
	uint64_t before;
	Elf64_Ehdr header;
	Elf64_Shdr note;
	size_t size;

	elves_make(&file, sections, ARRAY_SIZE(sections));
	memcpy(&header, file.data, sizeof(header));
	memcpy(&note, file.data + header.e_shoff + 2 * sizeof(note), sizeof(note));
	note.sh_size = 3ull << 30;
	memcpy(file.data + header.e_shoff + 2 * sizeof(note), &note, sizeof(note));
	fd = open_file(&file);
	CHECK_EQ(ftruncate(fd, 6ull << 30), 0);
	before = bytes_read;
	CHECK_EQ(elf_build_id(fd, id, &size), 0);
	CHECK(bytes_read - before < 1 << 20);
	note.sh_size = 0;
	CHECK_EQ(file_write_at(fd, &note, sizeof(note), header.e_shoff + 2 * sizeof(note)), 0);
	CHECK_EQ(elf_build_id(fd, id, &size), 0);
}

CHECK_MAIN({ "a section of a terabyte costs little", test_terabyte },
	   { "a file that is truncated while it is read gives no wrong name", test_truncated },
	   { "functions without number around one address take little memory", test_poison },
	   { "reading a file that costs too much ends", test_work },
	   { "a section of notes of gigabytes is not read", test_notes })
