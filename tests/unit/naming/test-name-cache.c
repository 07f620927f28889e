// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cache finds the names that it saved. It gives neither names of another file nor names from
 * damaged files.
 */
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "naming/name-cache.h"
#include "tests/wait.h"

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

/* Saves a name for each of `count` addresses. */
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
	/* saving the same names twice changes nothing */
	name_cache_save(cache, &key, &addresses);
}

/* Returns how many of the addresses get a name, and checks that each name is right. */
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
	const struct tape_module module = { .build_id_size = 20, .build_id = { 1, 2, 3 } };
	const struct stat about = { .st_ino = 5 };
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
	/* a debug file adds names, so it has another key */
	name_key_make(&module, &about, false, &one);
	name_key_make(&module, &about, true, &other);
	CHECK(memcmp(&one, &other, sizeof(one)) != 0);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool same_key(const struct tape_module *module, const struct stat *a, const struct stat *b)
{
	struct name_key one, other;

	name_key_make(module, a, false, &one);
	name_key_make(module, b, false, &other);
	return memcmp(&one, &other, sizeof(one)) == 0;
}

/* Anybody can copy a build-id, so two files with the same build-id stay two files. */
static void test_copied_build_id(void)
{
	const struct tape_module module = { .build_id_size = 20, .build_id = { 1, 2, 3 } };
	const struct stat about = { .st_dev = 1,
				    .st_ino = 5,
				    .st_size = 7,
				    .st_uid = 1000,
				    .st_mtim = { 1, 2 },
				    .st_ctim = { 3, 4 } };
	struct stat other[7];

	CHECK(same_key(&module, &about, &about));
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		other[i] = about;
	other[0].st_dev++;
	other[1].st_ino++;
	other[2].st_size++;
	other[3].st_uid++;
	other[4].st_mtim.tv_nsec++;
	other[5].st_ctim.tv_nsec++;
	other[6].st_ctim.tv_sec++;
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		CHECK(!same_key(&module, &about, &other[i]));
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

/*
 * Changes each byte of two blocks, and truncates the file at each byte. A damaged cache accepts new
 * names.
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
		bool truncate = i >= size;
		unsigned int named;

		sound[i % size] ^= 0x10;
		CHECK_EQ(file_write_all(fd, sound, truncate ? i - size : size), 0);
		sound[i % size] ^= 0x10;
		named = load(cache, 1, 5);
		CHECK(named < 5);
		save(cache, 1, 5);
		CHECK_EQ(load(cache, 1, 5), 5);
	}
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/*
 * Sets times of files. Files have the time of the last tick, so files of the same tick would lack
 * an order.
 */
static void wait_for_tick(void)
{
	uint64_t begin_ns = clock_ns(CLOCK_REALTIME_COARSE);

	WAIT_UNTIL(clock_ns(CLOCK_REALTIME_COARSE) != begin_ns);
}

static void test_bounded(void)
{
	_cleanup_(cleanup_name_cache) struct name_cache *cache = NULL;

	CHECK_EQ(mkdir(dir, 0700), 0);
	cache = open_cache(20000);
	for (uint64_t i = 1; i <= 50; i++) {
		save(cache, i, 20);
		/* the cache keeps the first file, because its time of use is the latest */
		wait_for_tick();
		CHECK_EQ(load(cache, 1, 20), 20);
	}
	CHECK_EQ(load(cache, 50, 20), 20);
	CHECK_EQ(load(cache, 2, 20), 0);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A FIFO in place of the file counts as a missing file, and the cache does not wait for it. */
static void test_fifo(void)
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

CHECK_MAIN({ "saved names are found again", test_kept },
	   { "a copied build-id is another file", test_copied_build_id },
	   { "a damaged file gives no wrong name", test_damaged },
	   { "the oldest files go when the cache is full", test_bounded },
	   { "a FIFO in place of a file is ignored", test_fifo })
