// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation of each reader of names fails once. The reader then returns -ENOMEM, or the same
 * names as ever. Reads the saved inputs of the fuzz targets.
 */
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>

#include "base/file.h"
#include "base/hash.h"
#include "symbolizer/addresses.h"
#include "symbolizer/elf-unwind.h"
#include "symbolizer/elf.h"
#include "symbolizer/jit.h"
#include "symbolizer/kallsyms.h"
#include "tests/faults.h"

/* Reads names from a file. Returns 0 or an error. */
typedef int reading(const char *path, struct addresses *addresses);

static int read_elf(const char *path, struct addresses *addresses)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return elf_names(fd, -1, addresses, NULL);
}

static int read_both(const char *path, struct addresses *addresses)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return elf_names(fd, fd, addresses, NULL);
}

static int read_starts(const char *path, struct addresses *addresses)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return elf_function_starts(fd, "file", addresses);
}

static int read_jit(const char *path, struct addresses *addresses)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct file_window source = file_window_of_file(fd);
	int r = perf_map_names(&source, addresses);

	return r < 0 ? r : jitdump_names(&source, addresses);
}

static int read_build_id(const char *path, struct addresses *addresses)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char link[ELF_DEBUGLINK_MAX];
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size;
	uint32_t crc;
	int has_id = elf_build_id(fd, id, &size);
	int has_link = has_id < 0 ? has_id : elf_debuglink(fd, link, &crc);

	/* the numbers stand for names */
	if (has_link < 0)
		return has_link;
	return addresses_answer(addresses, 0, 0, has_id ? "id" : has_link ? "link" : "none");
}

static int read_kallsyms(const char *path, struct addresses *addresses)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = file_read(path, 1 << 20, &text, &size);

	if (r == 0)
		r = kallsyms_parse(text, size, &symbols);
	return r < 0 ? r : symbols_answer(symbols, addresses);
}

/* A hash of the table stands for names. */
static int read_unwind(const char *path, struct addresses *addresses)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	char text[40];
	int r = elf_unwind_table(fd, &bytes);

	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "%zu bytes, %016" PRIx64, bytes.size,
		 hash_bytes(bytes.data, bytes.size));
	return addresses_answer(addresses, 0, 0, text);
}

static void want(struct addresses *addresses)
{
	for (uint64_t address = 0; address < 0x3000; address += 0x38)
		CHECK_EQ(addresses_add(addresses, address), 0);
	for (uint64_t address = 0xffffffff81000000; address < 0xffffffff81001000; address += 0x80)
		CHECK_EQ(addresses_add(addresses, address), 0);
	addresses_sort(addresses);
}

static void check_same(const struct addresses *one, const struct addresses *other)
{
	CHECK_EQ(one->list.count, other->list.count);
	for (size_t i = 0; i < one->list.count; i++)
		CHECK_STR(addresses_name(one, &one->list.items[i]),
			  addresses_name(other, &other->list.items[i]));
}

/* Returns the number of allocations that failed. */
static long starve(reading *read, const char *path)
{
	_cleanup_(addresses_done) struct addresses usual = { 0 };
	int expected, r = 0;
	long failed = 0;

	want(&usual);
	expected = read(path, &usual);
	for (bool reached = true; reached; failed += reached) {
		_cleanup_(addresses_done) struct addresses addresses = { 0 };

		want(&addresses);
		faults = (struct faults){ .kind = FAULT_ONCE, .memory = true, .left = failed + 1 };
		faults_arm();
		r = read(path, &addresses);
		faults_disarm();
		reached = faults.left <= 0;
		if (r == -ENOMEM && reached)
			continue;
		CHECK_EQ(r, expected);
		check_same(&addresses, &usual);
	}
	return failed;
}

static void starve_all(reading *read, const char *folder)
{
	char path[PATH_MAX], file[PATH_MAX + 256];
	struct dirent *entry;
	long failed = 0;
	DIR *dir;

	CHECK(getenv("PERFTAPE_TESTS"));
	snprintf(path, sizeof(path), "%s/fuzz/corpus/%s", getenv("PERFTAPE_TESTS"), folder);
	dir = opendir(path);
	CHECK(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		failed += starve(read, file);
	}
	closedir(dir);
	CHECK(failed > 0);
}

static void test_elf(void)
{
	starve_all(read_elf, "elf");
	starve_all(read_both, "elf");
}

static void test_starts(void)
{
	starve_all(read_starts, "elf");
}

static void test_build_id(void)
{
	starve_all(read_build_id, "elf");
}

static void test_unwind(void)
{
	starve_all(read_unwind, "elf");
	/* a program with thousands of functions */
	CHECK(starve(read_unwind, "/proc/self/exe") > 10);
}

static void test_jit(void)
{
	starve_all(read_jit, "jit");
}

static void test_kallsyms(void)
{
	starve_all(read_kallsyms, "kallsyms");
}

CHECK_MAIN({ "names of an ELF file and its debug file", test_elf },
	   { "starts of functions", test_starts }, { "build-id and debug link", test_build_id },
	   { "unwind tables", test_unwind }, { "perf maps and jitdumps", test_jit },
	   { "kallsyms", test_kallsyms })
