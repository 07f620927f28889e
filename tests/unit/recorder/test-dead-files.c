// SPDX-License-Identifier: GPL-2.0-only
/* Files that block whoever opens them. */
#include "tests/check.h"

#include "base/clock.h"
#include "recorder/files/dead-files.h"

static void add(struct dead_files *dead, uint64_t device, uint64_t inode, uint64_t owner)
{
	const struct dead_file file = { device, inode, owner, 0 };

	dead_files_add(dead, &file, NSEC_PER_SEC);
}

static bool contain(const struct dead_files *dead, uint64_t device, uint64_t inode, uint64_t owner)
{
	const struct dead_file file = { device, inode, owner, 0 };

	return dead_files_contain(dead, &file, 2 * NSEC_PER_SEC);
}

/* Two files of one owner make their file system dead for this owner only. */
static void test_owner(void)
{
	struct dead_files dead = { 0 };

	add(&dead, 8, 1, 100);
	add(&dead, 8, 1, 100);
	CHECK(contain(&dead, 8, 1, 200));
	CHECK(!contain(&dead, 8, 2, 100));
	add(&dead, 8, 2, 100);
	CHECK(contain(&dead, 8, 3, 100));
	for (uint64_t inode = 3; inode < 2 * DEAD_FILES_MAX; inode++)
		add(&dead, 8, inode, 100);
	CHECK(!contain(&dead, 8, 1000, 200));
	CHECK(!contain(&dead, 9, 1000, 100));
}

/* A file system that hangs blocks the files of several owners. */
static void test_owners(void)
{
	struct dead_files dead = { 0 };

	add(&dead, 8, 1, 100);
	add(&dead, 9, 2, 200);
	CHECK(!contain(&dead, 8, 3, 300));
	add(&dead, 8, 4, 200);
	CHECK(contain(&dead, 8, 3, 300));
	CHECK(contain(&dead, 8, 3, 0));
	CHECK(!contain(&dead, 9, 3, 300));
}

static void test_ends(void)
{
	const struct dead_file file = { 8, 1, 100, 0 };
	struct dead_files dead = { 0 };

	dead_files_add(&dead, &file, NSEC_PER_SEC);
	CHECK(dead_files_contain(&dead, &file, 61 * NSEC_PER_SEC - 1));
	CHECK(!dead_files_contain(&dead, &file, 61 * NSEC_PER_SEC));
	/* a file without a device, such as one of an import, is never dead */
	add(&dead, 0, 1, 100);
	add(&dead, 0, 2, 100);
	CHECK(!contain(&dead, 0, 1, 100));
}

CHECK_MAIN({ "an owner whose files block loses its own file system", test_owner },
	   { "files of two owners show a dead file system", test_owners },
	   { "a file is dead for a minute", test_ends })
