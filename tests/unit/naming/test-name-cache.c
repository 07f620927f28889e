// SPDX-License-Identifier: GPL-2.0-only
/* Names that are kept: found again, never another file's, never out of damage, and never too many.
 */
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "base/file.h"
#include "naming/name-cache.h"

static char dir[] = "/tmp/perftape-cache-XXXXXX";

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	return remove(path);
}

static struct name_cache *open_cache(uint64_t max_bytes)
{
	struct name_cache *cache = NULL;

	CHECK_EQ(name_cache_open(dir, max_bytes, &cache), 0);
	return cache;
}

static struct name_key key_of(uint64_t inode)
{
	const struct stat about = { .st_dev = 1, .st_ino = inode, .st_size = 100 };
	const struct tape_module module = { 0 };
	struct name_key key;

	name_key_make(&module, &about, false, &key);
	return key;
}

/* Keeps a name for each of `count` addresses. */
static void save(struct name_cache *cache, uint64_t inode, unsigned int count)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	struct name_key key = key_of(inode);
	char name[32];

	for (unsigned int i = 0; i < count; i++)
		CHECK_EQ(addresses_add(&addresses, 0x1000 + i), 0);
	addresses_sort(&addresses);
	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "function%u", i);
		CHECK_EQ(addresses_answer(&addresses, i, 0x1000, name), 0);
	}
	name_cache_save(cache, &key, &addresses);
	/* what is kept is not kept again */
	name_cache_save(cache, &key, &addresses);
}

/* How many of the addresses have a name then; whatever they have is right. */
static unsigned int load(struct name_cache *cache, uint64_t inode, unsigned int count)
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };
	struct name_key key = key_of(inode);
	unsigned int named = 0;
	char name[32];

	for (unsigned int i = 0; i < count; i++)
		CHECK_EQ(addresses_add(&addresses, 0x1000 + i), 0);
	addresses_sort(&addresses);
	CHECK_EQ(name_cache_load(cache, &key, &addresses), 0);
	for (unsigned int i = 0; i < count; i++) {
		const struct address *address = &addresses.list.items[i];

		if (address->state != ADDRESSES_NAMED)
			continue;
		named++;
		snprintf(name, sizeof(name), "function%u", i);
		CHECK_STR(addresses_name(&addresses, address), name);
		CHECK_EQ(address->start, 0x1000);
	}
	return named;
}

static void test_kept(void)
{
	_cleanup_(cleanup_name_cache) struct name_cache *cache = NULL, *again = NULL;
	struct tape_module module = { .build_id_size = 20, .build_id = { 1, 2, 3 } };
	struct stat about = { .st_ino = 5 };
	struct name_key one, other;

	CHECK(mkdtemp(dir));
	cache = open_cache(1 << 20);
	CHECK_EQ(load(cache, 1, 4), 0);
	save(cache, 1, 2);
	save(cache, 1, 4);
	CHECK_EQ(load(cache, 1, 6), 4);
	CHECK_EQ(load(cache, 2, 4), 0);
	again = open_cache(1 << 20);
	CHECK_EQ(load(again, 1, 6), 4);
	/* by its build-id a file is known wherever it is; with a debug file there are more names */
	name_key_make(&module, &about, false, &one);
	about.st_ino = 6;
	name_key_make(&module, &about, false, &other);
	CHECK_EQ(memcmp(&one, &other, sizeof(one)), 0);
	name_key_make(&module, &about, true, &other);
	CHECK(memcmp(&one, &other, sizeof(one)) != 0);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char *only_file(void)
{
	static char name[512];
	DIR *folder = opendir(dir);
	struct dirent *entry;

	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			snprintf(name, sizeof(name), "%s/%s", dir, entry->d_name);
	closedir(folder);
	return name;
}

/* Each byte of two blocks, changed, and the file cut off there. After the damage more can be kept.
 */
static void test_damaged(void)
{
	_cleanup_(cleanup_name_cache) struct name_cache *cache = NULL;
	_cleanup_free_ char *sound = NULL;
	size_t size;

	CHECK_EQ(mkdir(dir, 0700), 0);
	cache = open_cache(1 << 20);
	save(cache, 1, 3);
	CHECK_EQ(load(cache, 1, 3), 3);
	save(cache, 1, 5);
	CHECK_EQ(file_read(only_file(), 1 << 20, &sound, &size), 0);
	for (size_t i = 0; i < 2 * size; i++) {
		_cleanup_close_ int fd = open(only_file(), O_WRONLY | O_TRUNC | O_CLOEXEC);
		bool cut = i >= size;
		unsigned int named;

		sound[i % size] ^= 0x10;
		CHECK_EQ(file_write_all(fd, sound, cut ? i - size : size), 0);
		sound[i % size] ^= 0x10;
		named = load(cache, 1, 5);
		CHECK(named < 5);
		save(cache, 1, 5);
		CHECK_EQ(load(cache, 1, 5), 5);
	}
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_bounded(void)
{
	_cleanup_(cleanup_name_cache) struct name_cache *cache = NULL;

	CHECK_EQ(mkdir(dir, 0700), 0);
	cache = open_cache(20000);
	for (uint64_t i = 1; i <= 50; i++) {
		save(cache, i, 20);
		/* the first one is always in use; its file says when, to the tick of a clock */
		usleep(5000);
		CHECK_EQ(load(cache, 1, 20), 20);
	}
	CHECK_EQ(load(cache, 50, 20), 20);
	CHECK_EQ(load(cache, 2, 20), 0);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A FIFO that nobody reads, in place of the file: as good as none. */
static void test_other(void)
{
	_cleanup_(cleanup_name_cache) struct name_cache *cache = NULL;
	const char *path;

	CHECK_EQ(mkdir(dir, 0700), 0);
	cache = open_cache(1 << 20);
	save(cache, 1, 3);
	path = only_file();
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(load(cache, 1, 3), 0);
	save(cache, 1, 3);
	CHECK_EQ(load(cache, 1, 3), 0);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

CHECK_MAIN({ "kept", test_kept }, { "damaged", test_damaged }, { "bounded", test_bounded },
	   { "other", test_other })
