// SPDX-License-Identifier: GPL-2.0-only
/* The cache of open files keeps to its bound, whether files have debug files or not. */
#include "tests/check.h"

#include <fcntl.h>

#include "recorder/files/fd-cache.h"

#define BOUND 16

static int open_null(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Opens `count` files, each with one or two descriptors. */
static void open_files(struct fd_cache *cache, size_t count, bool with_debug)
{
	static uint64_t inode;

	for (size_t i = 0; i < count; i++) {
		struct finder_files files = { open_null(), with_debug ? open_null() : -1 };
		struct finder_request request = { .kind = FINDER_FILE, .path = "/a/program" };
		struct stat about = { 0 };
		struct fd_cache_file *file;

		request.module.inode = ++inode;
		request.pid = inode;
		file = fd_cache_add(cache, &request);
		CHECK(file);
		fd_cache_touch(cache, file, i);
		fd_cache_open(cache, file, &request.module, &about, &files);
		CHECK(cache->files <= BOUND);
	}
}

static void test_bound(void)
{
	struct fd_cache cache = { .files_max = BOUND };

	open_files(&cache, 2 * BOUND, false);
	open_files(&cache, 2 * BOUND, true);
	CHECK_EQ(cache.files, BOUND);
	open_files(&cache, 2 * BOUND, false);
	fd_cache_done(&cache);
}

/* Adds `count` files of one process. Returns how many of them the cache takes. */
static size_t add_files(struct fd_cache *cache, int32_t pid, size_t count, const char *path)
{
	struct finder_request request = { .kind = FINDER_FILE, .pid = pid, .path = path };
	size_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		struct fd_cache_file *file;

		request.module.inode = i + 1;
		file = fd_cache_add(cache, &request);
		if (!file)
			continue;
		/* as after an answer, so that the cache may replace the file */
		file->state = FD_CACHE_FAILED;
		taken++;
	}
	return taken;
}

/* The files of other processes stay, although one process maps ever new files. */
static void test_share(void)
{
	struct fd_cache cache = { .files_max = 1024 };
	struct finder_request request = { .kind = FINDER_FILE, .pid = 1, .path = "/bin/other" };

	request.module.inode = 7;
	CHECK(fd_cache_add(&cache, &request));
	CHECK_EQ(add_files(&cache, 2, 20000, "/bin/hostile"), 1024 / FD_CACHE_PARTS);
	CHECK(fd_cache_find(&cache, &request));
	CHECK_EQ(add_files(&cache, 3, 2, "/bin/third"), 2);
	/* the share of a process is free again when the process's files are gone */
	for (size_t i = 0; i < cache.list.count; i++)
		if (cache.list.items[i].asker.pid == 2)
			fd_cache_remove(&cache, &cache.list.items[i]);
	CHECK_EQ(add_files(&cache, 2, 20000, "/bin/hostile"), 1024 / FD_CACHE_PARTS);
	fd_cache_done(&cache);
}

/* Paths of 4 KB, by many processes. */
static void test_text(void)
{
	struct fd_cache cache = { .files_max = 1024 };
	char path[4000];

	memset(path, 'n', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = 0;
	for (int32_t pid = 1; pid < 100; pid++) {
		/* two processes may share a counter */
		add_files(&cache, pid, 100, path);
		CHECK(cache.text <= FD_CACHE_TEXT_MAX);
	}
	CHECK(cache.text > FD_CACHE_TEXT_MAX - sizeof(path));
	CHECK_EQ(add_files(&cache, 100, 1, "/bin/other"), 1);
	fd_cache_done(&cache);
}

CHECK_MAIN({ "files with debug files do not exceed the bound", test_bound },
	   { "a process has a share of the cache", test_share },
	   { "the text of long paths is bounded", test_text })
