// SPDX-License-Identifier: GPL-2.0-only
/* A store's folder: its owner, its modes, and the files that are opened in it. */
#include <fcntl.h>
#include <sys/stat.h>

#include "store/disk/beneath.h"
#include "store/disk/files.h"
#include "store/write/folder-rights.h"
#include "tests/tapes.h"

#define NOBODY 65534

static unsigned int mode_of(const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct stat about;

	CHECK_EQ(store_file(folder, name, path, NULL), 0);
	CHECK_EQ(lstat(path, &about), 0);
	return about.st_mode & 07777;
}

static void set_mode(const char *folder, const char *name, mode_t mode)
{
	char path[PATH_MAX];

	CHECK_EQ(store_file(folder, name, path, NULL), 0);
	CHECK_EQ(chmod(path, mode), 0);
}

static void test_open(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	tapes_store_init(&store);
	CHECK_EQ(beneath_open(store.path, "new", O_RDONLY, 0), -ENOENT);
	fd = beneath_open(store.path, "new", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(mode_of(store.path, "new"), 0600);
	CHECK_EQ(store_file(store.path, "link", path, NULL), 0);
	CHECK_EQ(symlink("new", path), 0);
	CHECK_EQ(beneath_open(store.path, "link", O_RDONLY, 0), -ELOOP);
	CHECK_EQ(beneath_open(store.path, "link", O_RDWR | O_CREAT, 0600), -ELOOP);
	CHECK_EQ(beneath_open(store.path, "../x", O_RDONLY, 0), -EXDEV);
	/* neither waits for the other end */
	CHECK_EQ(store_file(store.path, "pipe", path, NULL), 0);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(beneath_open(store.path, "pipe", O_RDONLY, 0), -EBADMSG);
	CHECK(beneath_open(store.path, "pipe", O_WRONLY | O_CREAT, 0600) < 0);
	CHECK_EQ(beneath_open(store.path, "pipe", O_RDWR | O_CREAT, 0600), -EBADMSG);
}

/* Rights of others go once, and the recorder says so only then. */
static void test_tighten(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_writer *writer;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	store_writer_close(writer);
	set_mode(store.path, ".", 0755);
	set_mode(store.path, STORE_LOCK, 0644);
	set_mode(store.path, STORE_INDEX, 0644);
	for (int again = 0; again < 2; again++) {
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK_EQ(store_writer_tightened(writer), !again);
		store_writer_close(writer);
	}
	CHECK_EQ(mode_of(store.path, "."), 0700);
	CHECK_EQ(mode_of(store.path, STORE_LOCK), 0600);
	CHECK_EQ(mode_of(store.path, STORE_INDEX), 0600);
}

/* A group keeps its rights over later recordings, but never those of the lock. */
static void test_group(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_writer *writer;

	tapes_store_init(&store);
	CHECK_EQ(folder_rights_set_group(store.path, getegid(), NULL), 0);
	CHECK_EQ(store_umask(store.path), 0027);
	umask(store_umask(store.path));
	for (int again = 0; again < 2; again++) {
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK(!store_writer_tightened(writer));
		store_writer_close(writer);
	}
	CHECK_EQ(mode_of(store.path, "."), 02750);
	CHECK_EQ(mode_of(store.path, STORE_INDEX), 0640);
	CHECK_EQ(mode_of(store.path, STORE_LOCK), 0600);
}

/* systemd makes the store of a unit a link of root's to a folder of the unit's user. */
static void test_owner(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_writer *writer;
	struct store_reader *reader;
	char link[PATH_MAX];
	struct stat about;
	int fd;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	store_writer_close(writer);
	snprintf(link, sizeof(link), "%s.link", store.path);
	CHECK_EQ(symlink(store.path, link), 0);
	CHECK_EQ(folder_rights_check(link, NULL), 0);
	if (geteuid() == 0) {
		CHECK_EQ(chown(store.path, NOBODY, NOBODY), 0);
		CHECK_EQ(folder_rights_check(link, NULL), -EPERM);
		/* root reads it, and what root makes there is of use to its owner */
		CHECK_EQ(store_reader_open(link, &reader, NULL), 0);
		store_reader_close(reader);
		fd = beneath_open(link, "new", O_RDWR | O_CREAT, 0600);
		CHECK(fd >= 0);
		CHECK_EQ(fstat(fd, &about), 0);
		CHECK_EQ(about.st_uid, NOBODY);
		close(fd);
		CHECK_EQ(seteuid(NOBODY), 0);
		CHECK_EQ(folder_rights_check(link, NULL), 0);
		CHECK_EQ(seteuid(0), 0);
		CHECK_EQ(chown(store.path, 0, 0), 0);
		CHECK_EQ(chmod(store.path, 0777), 0);
		CHECK_EQ(seteuid(NOBODY), 0);
		CHECK_EQ(folder_rights_check(link, NULL), -EPERM);
		CHECK_EQ(seteuid(0), 0);
	}
	unlink(link);
}

CHECK_MAIN({ "files open without links and without waiting", test_open },
	   { "rights of others go once", test_tighten }, { "a group keeps its rights", test_group },
	   { "a store of another user is read but not written", test_owner })
