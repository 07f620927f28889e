// SPDX-License-Identifier: GPL-2.0-only
/*
 * file_owner_vouches() trusts a file only if strangers cannot have put it at its place. A copied
 * build-id is not a proof.
 */
#include "tests/check.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "naming/file-owner.h"
#include "naming/finder.h"
#include "symbolizer/elf.h"
#include "tests/helpers.h"

#define ALICE 12345
#define MALLORY 12346

static int make(const char *path, uid_t owner, mode_t mode)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	CHECK(fd >= 0);
	CHECK_EQ(fchmod(fd, mode), 0);
	CHECK_EQ(fchown(fd, owner, owner), 0);
	return fd;
}

static bool vouches(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return file_owner_vouches(fd, path);
}

/* Uses /run, because other users cannot write to the folders above it. */
static void test_places(void)
{
	char root[] = "/run/perftape-owner-XXXXXX", home[64], file[96], link[96];

	if (geteuid() != 0)
		return;
	CHECK(mkdtemp(root));
	CHECK_EQ(chmod(root, 0755), 0);
	snprintf(home, sizeof(home), "%s/alice", root);
	snprintf(file, sizeof(file), "%s/program", home);
	snprintf(link, sizeof(link), "%s/link", root);
	CHECK_EQ(mkdir(home, 0755), 0);
	CHECK_EQ(chown(home, ALICE, ALICE), 0);
	close(make(file, ALICE, 0755));
	CHECK(vouches(file));
	/* a link that root owns counts like its target, a link of another user does not */
	CHECK_EQ(symlink(home, link), 0);
	snprintf(link, sizeof(link), "%s/link/program", root);
	CHECK(vouches(link));
	snprintf(link, sizeof(link), "%s/link", root);
	CHECK_EQ(lchown(link, ALICE, ALICE), 0);
	snprintf(link, sizeof(link), "%s/link/program", root);
	CHECK(!vouches(link));
	/* every user may write into the folder, or a stranger owns it */
	CHECK_EQ(chmod(home, 01777), 0);
	CHECK(!vouches(file));
	CHECK_EQ(chmod(home, 0755), 0);
	CHECK_EQ(chown(home, MALLORY, MALLORY), 0);
	CHECK(!vouches(file));
	/* root's own file is good anywhere, unless anybody may write into it */
	CHECK_EQ(chown(file, 0, 0), 0);
	CHECK(vouches(file));
	CHECK_EQ(chmod(file, 0777), 0);
	CHECK(!vouches(file));
	unlink(file);
	rmdir(home);
	snprintf(link, sizeof(link), "%s/link", root);
	unlink(link);
	rmdir(root);
}

static int find(const char *path, const struct tape_module *module)
{
	static const struct name_helper_patience patience = NAME_HELPER_PATIENCE;
	_cleanup_(cleanup_name_helper) struct name_helper *helper = NULL;
	struct finder_request request = { .path = path, .module = *module };
	struct finder finder = { 0 };
	struct finder_files files;
	int r;

	CHECK_EQ(name_helper_new(&patience, &helper), 0);
	finder.helper = helper;
	r = finder_find(&finder, &request, &files);

	finder_files_close(&files);
	return r;
}

/* A copy of this program, with its build-id, at the place of a file that is gone. */
static void test_copied_build_id(void)
{
	char path[] = "/tmp/perftape-copy-XXXXXX";
	struct tape_module module = { .kind = TAPE_MODULE_ELF };
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int fd = mkstemp(path);
	struct stat about;
	size_t size;

	CHECK_EQ(file_read("/proc/self/exe", 256 << 20, &data, &size), 0);
	CHECK_EQ(file_write_all(fd, data, size), 0);
	CHECK_EQ(elf_build_id(fd, module.build_id, &size), 1);
	module.build_id_size = size;
	CHECK_EQ(find(path, &module), 0);
	if (geteuid() == 0) {
		CHECK_EQ(fchown(fd, MALLORY, MALLORY), 0);
		CHECK_EQ(find(path, &module), -ESTALE);
		/* the file that was sampled keeps its names */
		CHECK_EQ(fstat(fd, &about), 0);
		module.device = about.st_dev;
		module.inode = about.st_ino;
		CHECK_EQ(find(path, &module), 0);
	}
	unlink(path);
}

CHECK_MAIN({ "a file at a place of strangers is not vouched for", test_places },
	   { "a copied build-id names no other file", test_copied_build_id })
