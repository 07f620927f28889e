// SPDX-License-Identifier: GPL-2.0-only
/* Files that claim to be huge, or that shrink while we read them, cost little time and memory. */
#include "tests/check.h"

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

CHECK_MAIN({ "a section of a terabyte costs little", test_terabyte },
	   { "a file that is truncated while it is read gives no wrong name", test_truncated })
