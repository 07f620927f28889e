// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/service/snapshot-shelf.h"
#include "tests/tapes.h"

/* Snapshots in the order of their times, which differs from the order of their names. */
static const char *const snapshots[] = {
	"zebra-20261118T031240Z-ena.tx_stall-3.tape",
	"host-a-1-20261118T031241Z-oom.kill-12.tape",
	"alpha-20261119T000000Z-oom.kill-4.tape",
};
/* These files are not snapshots of the recorder. */
static const char *const others[] = {
	"notes.txt",
	"incident.tape",
	"host-20261118T031240Z-oom.kill-3.tape.gz",
	"host-20261118-oom.kill-3.tape",
	"host-2026111T031240Z-oom.kill-3.tape",
};

static size_t count_in(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t count = 0;

	CHECK(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void fill(const char *folder)
{
	for (size_t i = 0; i < ARRAY_SIZE(snapshots); i++)
		CHECK_EQ(file_replace(folder, snapshots[i], "0123456789", 10), 0);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		CHECK_EQ(file_replace(folder, others[i], "0123456789", 10), 0);
}

static void see_removed(void *context, const char *name)
{
	buffer_printf(context, "%s\n", name);
}

/* Checks that the trim removes the `removed` oldest snapshots. */
static void check_trim(uint64_t max_bytes, size_t max_files, size_t removed)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	_cleanup_(buffer_done) struct buffer text = { 0 };
	char expected[512] = "";

	tapes_store_init(&folder);
	fill(folder.path);
	for (size_t i = 0; i < removed; i++) {
		strcat(expected, snapshots[i]);
		strcat(expected, "\n");
	}
	CHECK_EQ(snapshot_shelf_trim(folder.path, max_bytes, max_files, see_removed, &text), 0);
	buffer_u8(&text, 0);
	CHECK_STR((const char *)text.data, expected);
	CHECK_EQ(count_in(folder.path), ARRAY_SIZE(snapshots) + ARRAY_SIZE(others) - removed);
}

static void test_oldest_go(void)
{
	check_trim(30, 3, 0);
	check_trim(29, 3, 1);
	check_trim(30, 2, 1);
	check_trim(19, 9, 2);
	/* the newest snapshot stays, even if it alone is too large */
	check_trim(1, 9, 2);
}

/* The trim removes neither a file of another user nor the target of a link. */
static void test_others_stay(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	_cleanup_(buffer_done) struct buffer text = { 0 };
	char path[256];

	tapes_store_init(&folder);
	fill(folder.path);
	snprintf(path, sizeof(path), "%s/%s", folder.path, snapshots[0]);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(symlink("notes.txt", path), 0);
	snprintf(path, sizeof(path), "%s/%s", folder.path, snapshots[1]);
	if (chown(path, 65534, 65534) < 0)
		return;
	CHECK_EQ(snapshot_shelf_trim(folder.path, 1, 1, see_removed, &text), 0);
	CHECK_EQ(text.size, 0);
}

static void test_modes(void)
{
	_cleanup_(tapes_store_done) struct tapes_store folder;
	char path[256];
	struct stat about;

	tapes_store_init(&folder);
	snprintf(path, sizeof(path), "%s/snapshots", folder.path);
	CHECK_EQ(snapshot_shelf_make(path), 0);
	CHECK_EQ(stat(path, &about), 0);
	CHECK_EQ(about.st_mode & 0777, 0700);
	snprintf(path, sizeof(path), "%s/file", folder.path);
	CHECK_EQ(file_replace(folder.path, "file", "", 0), 0);
	CHECK_EQ(snapshot_shelf_make(path), -ENOTDIR);
}

CHECK_MAIN({ "the oldest snapshots go", test_oldest_go },
	   { "files of others stay", test_others_stay },
	   { "the folder is for its owner", test_modes })
