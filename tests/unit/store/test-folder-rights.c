// SPDX-License-Identifier: GPL-2.0-only
/* A store's folder: its owner, its modes, and the files that perftape opens in it. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
	/* neither a reader nor a writer waits for the other end of a pipe */
	CHECK_EQ(store_file(store.path, "pipe", path, NULL), 0);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(beneath_open(store.path, "pipe", O_RDONLY, 0), -EBADMSG);
	CHECK(beneath_open(store.path, "pipe", O_WRONLY | O_CREAT, 0600) < 0);
	CHECK_EQ(beneath_open(store.path, "pipe", O_RDWR | O_CREAT, 0600), -EBADMSG);
}

/* From now on, this process lives on a kernel without openat2(). */
static void forbid_openat2(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { ARRAY_SIZE(steps), steps };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

/* perftape recognises a link on every kernel, also in the place of a folder. */
static void test_linked_folders(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	char path[PATH_MAX];
	struct error error;
	int status;
	pid_t child;

	tapes_store_init(&store);
	CHECK_EQ(store_file(store.path, "there", path, NULL), 0);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(store_file(store.path, "segments", path, NULL), 0);
	CHECK_EQ(symlink("there", path), 0);
	child = fork();
	for (int i = 0; i < 2; i++) {
		if (child == 0)
			forbid_openat2();
		CHECK_EQ(beneath_open(store.path, "segments", O_RDONLY | O_DIRECTORY, 0), -ELOOP);
		CHECK_EQ(beneath_open(store.path, "segments/x", O_RDONLY, 0), -ELOOP);
		CHECK_EQ(beneath_open(store.path, "there/x", O_RDONLY, 0), -ENOENT);
	}
	if (child == 0)
		_exit(0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(store_reader_open(store.path, &(struct store_reader *){ NULL }, &error), -ELOOP);
	CHECK(strstr(error.text, "segments: it is a symbolic link"));
	CHECK_EQ(store_writer_open(store.path, &(struct store_writer *){ NULL }, &error), -ELOOP);
	CHECK(strstr(error.text, "it is a symbolic link"));
}

/* The recorder removes the rights of others once, and says so only then. */
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

/* A group also gets rights to earlier recordings, but not to files of another owner. */
static void test_later_group(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	char path[PATH_MAX];
	struct stat about;

	umask(077);
	tapes_store_init(&store);
	tapes_store_put(&store, tapes_new(0, 1));
	CHECK_EQ(store_file(store.path, "foreign", path, NULL), 0);
	CHECK_EQ(mknod(path, S_IFREG | 0600, 0), 0);
	CHECK_EQ(geteuid() == 0 ? chown(path, NOBODY, NOBODY) : 0, 0);
	CHECK_EQ(folder_rights_set_group(store.path, geteuid() == 0 ? NOBODY : getegid(), NULL), 0);
	CHECK_EQ(mode_of(store.path, STORE_SEGMENTS), 02750);
	CHECK_EQ(mode_of(store.path, STORE_INDEX), 0640);
	CHECK_EQ(mode_of(store.path, STORE_LOCK), 0600);
	CHECK_EQ(lstat(path, &about), 0);
	CHECK_EQ(about.st_mode & 0777, geteuid() == 0 ? 0600 : 0640);
}

/* systemd makes the store of a unit as root's link to a folder of the unit's user. */
static void test_owner(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_writer *writer;
	struct store_reader *reader;
	char link[PATH_MAX];

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	store_writer_close(writer);
	snprintf(link, sizeof(link), "%s.link", store.path);
	CHECK_EQ(symlink(store.path, link), 0);
	CHECK_EQ(folder_rights_check(link, NULL), 0);
	if (geteuid() == 0) {
		CHECK_EQ(chown(store.path, NOBODY, NOBODY), 0);
		CHECK_EQ(folder_rights_check(link, NULL), -EPERM);
		/* root may read the store */
		CHECK_EQ(store_reader_open(link, &reader, NULL), 0);
		store_reader_close(reader);
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

/*
 * Somebody's folder stands in the place of the store's. The recorder says so when it begins, not
 * when it has the first samples to write.
 */
static void test_foreign_folders(void)
{
	static const char *const folders[] = { STORE_SEGMENTS, STORE_SPOOLS };

	for (size_t i = 0; geteuid() == 0 && i < ARRAY_SIZE(folders); i++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		struct store_writer *writer = NULL;
		struct error error = { 0 };
		char path[PATH_MAX], expected[PATH_MAX + 64];

		tapes_store_init(&store);
		CHECK_EQ(store_file(store.path, folders[i], path, NULL), 0);
		CHECK_EQ(mkdir(path, 0755), 0);
		CHECK_EQ(chown(store.path, NOBODY, NOBODY), 0);
		CHECK_EQ(seteuid(NOBODY), 0);
		CHECK_EQ(store_writer_open(store.path, &writer, &error), -EACCES);
		CHECK_EQ(seteuid(0), 0);
		snprintf(expected, sizeof(expected), "cannot write into its %s", folders[i]);
		CHECK(strstr(error.text, expected));
	}
}

static int check_in(const struct tapes_store *top, const char *way)
{
	char path[PATH_MAX];

	CHECK_EQ(store_file(top->path, way, path, NULL), 0);
	return folder_rights_check(path, NULL);
}

/* A stranger who can move a folder above the store chooses where root writes. */
static void test_strangers(void)
{
	_cleanup_(tapes_store_done) struct tapes_store top;
	char home[PATH_MAX], store[PATH_MAX], link[PATH_MAX];

	if (geteuid() != 0)
		return;
	tapes_store_init(&top);
	CHECK_EQ(chmod(top.path, 0755), 0);
	CHECK_EQ(store_file(top.path, "home", home, NULL), 0);
	CHECK_EQ(store_file(top.path, "home/store", store, NULL), 0);
	CHECK_EQ(store_file(top.path, "link", link, NULL), 0);
	CHECK_EQ(mkdir(home, 0755), 0);
	CHECK_EQ(mkdir(store, 0700), 0);
	CHECK_EQ(symlink("home", link), 0);
	CHECK_EQ(check_in(&top, "home/store"), 0);
	CHECK_EQ(check_in(&top, "link/store"), 0);
	CHECK_EQ(check_in(&top, "home/new/store"), 0);
	CHECK_EQ(lchown(link, NOBODY, NOBODY), 0);
	CHECK_EQ(check_in(&top, "link/store"), -EPERM);
	CHECK_EQ(check_in(&top, "home/store"), 0);
	CHECK_EQ(lchown(link, 0, 0), 0);
	CHECK_EQ(chown(home, NOBODY, NOBODY), 0);
	CHECK_EQ(check_in(&top, "home/store"), -EPERM);
	CHECK_EQ(check_in(&top, "link/store"), -EPERM);
	CHECK_EQ(check_in(&top, "home/new/store"), -EPERM);
	/* root by sudo counts as the user who called sudo */
	CHECK_EQ(setenv("SUDO_UID", "65534", 1), 0);
	CHECK_EQ(check_in(&top, "home/store"), 0);
	CHECK_EQ(unsetenv("SUDO_UID"), 0);
	CHECK_EQ(chown(home, 0, NOBODY), 0);
	CHECK_EQ(chmod(home, 0775), 0);
	CHECK_EQ(check_in(&top, "home/store"), -EPERM);
	CHECK_EQ(chmod(home, 01777), 0);
	CHECK_EQ(check_in(&top, "home/store"), 0);
}

CHECK_MAIN({ "files open without links and without waiting", test_open },
	   { "a linked folder is a link for each kernel", test_linked_folders },
	   { "rights of others go once", test_tighten }, { "a group keeps its rights", test_group },
	   { "a group of a store that was there", test_later_group },
	   { "a store of another user is read but not written", test_owner },
	   { "a folder of another user in the store is refused", test_foreign_folders },
	   { "no stranger can put something else there", test_strangers })
