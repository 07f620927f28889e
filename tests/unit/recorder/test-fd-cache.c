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

/* Opens that many files, each with one or two descriptors. */
static void open_files(struct fd_cache *cache, size_t count, bool with_debug)
{
	static uint64_t inode;

	for (size_t i = 0; i < count; i++) {
		struct finder_files files = { open_null(), with_debug ? open_null() : -1 };
		struct finder_request request = { .kind = FINDER_FILE, .path = "/a/program" };
		struct stat about = { 0 };
		struct fd_cache_file *file;

		request.module.inode = ++inode;
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

CHECK_MAIN({ "files with debug files do not exceed the bound", test_bound })
