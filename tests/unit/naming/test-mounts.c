// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some file systems may hang at each access. perftape opens files on other file systems with care.
 */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "naming/process-root.h"
#include "naming/mounts.h"

#define ROOT_DEVICE makedev(8, 1)

static const char mounts[] =
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"23 22 0:21 / /proc rw - proc proc rw\n"
	"40 22 0:50 / /home rw,relatime shared:20 - nfs4 server:/home rw,vers=4.2\n"
	"41 22 0:51 / /mnt/a\\040b\\134c rw - fuse.sshfs me@there: rw\n"
	"42 22 0:52 / /var/lib/x/merged rw - overlay overlay rw,lowerdir=/a - b:/c\n"
	"43 22 0:53 / /mnt/local rw - tmpfs tmpfs rw\n"
	"a line that is none\n"
	"44 22 8:1 /sub /bound rw - fuseblk /dev/sda1 rw\n"
	"45 22 0:54 / /dead rw - fuse dead rw";

static bool remote(const char *path, uint64_t device)
{
	return mounts_is_remote(mounts, mounts, path, device, ROOT_DEVICE);
}

static void test_told_apart(void)
{
	CHECK(!remote("/usr/bin/bash", 0));
	CHECK(!remote("/usr/bin/bash", makedev(8, 1)));
	CHECK(remote("/home/me/tool", 0));
	CHECK(remote("/home", 0));
	CHECK(!remote("/homely/tool", 0));
	CHECK(remote("/mnt/a b\\c/tool", 0));
	CHECK(!remote("/mnt/local/tool", makedev(0, 53)));
	CHECK(!remote("/var/lib/x/merged/bin/sh", makedev(0, 52)));
	CHECK(remote("/dead/lib.so", 0));
	/* the device decides, wherever the file appears */
	CHECK(remote("/somewhere/else", makedev(0, 50)));
	/* the file system of perftape's own program */
	CHECK(!remote("/bound/tool", makedev(8, 1)));
	CHECK(mounts_is_remote("1 1 0:9 / / rw - nfs s:/ rw\n", "", "/bin/sh", 0, ROOT_DEVICE));
	CHECK(!mounts_is_remote("1 1 0:9 / / rw - nfs s:/ rw\n", "", "/bin/sh", 0, makedev(0, 9)));
	CHECK(!mounts_is_remote("", "", "/bin/sh", 0, ROOT_DEVICE));
}

/* A lazy image: the layers of a container are files of a FUSE server of the host. */
static void test_layers(void)
{
	static const char host[] =
		"50 1 0:60 / /var/lib/stargz/1/fs rw - fuse.rawBridge stargz rw\n"
		"51 1 8:2 / /var/lib/local rw - ext4 /dev/sda2 rw\n"
		"52 1 0:70 / /run/containers/1/rootfs rw - overlay overlay rw\n";
	static const char *const remote_layers[] = {
		"lowerdir=/var/lib/local/2:/var/lib/stargz/1/fs,upperdir=/u,workdir=/w",
		"lowerdir+=/var/lib/local/2,lowerdir+=/var/lib/stargz/1/fs/x",
		"lowerdir=/a\\:/b:/var/lib/stargz/1/fs",
		"datadir+=/var/lib/stargz/1/fs",
	};
	static const char *const local_layers[] = {
		"lowerdir=/var/lib/local/2:/var/lib/local/3,upperdir=/u,workdir=/w",
		"lowerdir=/var/lib/stargz/10/fs",
		"lowerdir=",
		"lowerdir",
	};
	char line[512];

	for (size_t i = 0; i < ARRAY_SIZE(remote_layers); i++) {
		snprintf(line, sizeof(line), "9 1 0:70 / / rw - overlay overlay rw,%s\n",
			 remote_layers[i]);
		CHECK(mounts_is_remote(line, host, "/bin/sh", 0, ROOT_DEVICE));
		CHECK(mounts_is_remote(line, host, "/bin/sh", makedev(0, 70), ROOT_DEVICE));
		CHECK(!mounts_is_remote(line, host, "/bin/sh", 0, makedev(0, 70)));
	}
	for (size_t i = 0; i < ARRAY_SIZE(local_layers); i++) {
		snprintf(line, sizeof(line), "9 1 0:70 / / rw - overlay overlay rw,%s\n",
			 local_layers[i]);
		CHECK(!mounts_is_remote(line, host, "/bin/sh", 0, ROOT_DEVICE));
		/* root in a container mounted this overlay, over the container's own FUSE */
		CHECK(mounts_is_remote(line, "", "/bin/sh", 0, ROOT_DEVICE));
		CHECK(!mounts_is_remote(line, "", "/bin/sh", 0, makedev(0, 70)));
	}
}

/* The file was opened, and its mount is known by number, whatever was mounted before or since. */
static void test_mount_of_file(void)
{
	static const char host[] = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				   "60 1 0:70 / /run/containers/1/rootfs rw - overlay overlay rw\n";
	static const char overlays[] = "90 1 0:70 / / rw - overlay overlay rw,lowerdir=/a\n"
				       "91 1 0:71 / /own rw - overlay overlay rw,lowerdir=/a\n";

	CHECK(!mounts_is_mount_remote(mounts, mounts, 22, 0, ROOT_DEVICE));
	CHECK(!mounts_is_mount_remote(mounts, mounts, 43, 0, ROOT_DEVICE));
	CHECK(mounts_is_mount_remote(mounts, mounts, 40, 0, ROOT_DEVICE));
	CHECK(mounts_is_mount_remote(mounts, mounts, 45, 0, ROOT_DEVICE));
	CHECK(!mounts_is_mount_remote(mounts, mounts, 45, 0, makedev(0, 54)));
	/* "umount -l" took it out of the list, while a process still maps its file */
	CHECK(mounts_is_mount_remote(mounts, mounts, 46, 0, ROOT_DEVICE));
	CHECK(mounts_is_mount_remote("", "", 22, 0, ROOT_DEVICE));
	/* a program changed its root in a container: its mount has no number in either list */
	CHECK(!mounts_is_mount_remote("", host, 99, makedev(0, 70), ROOT_DEVICE));
	CHECK(mounts_is_mount_remote("", host, 99, makedev(0, 71), ROOT_DEVICE));
	CHECK(mounts_is_mount_remote("", mounts, 99, makedev(0, 54), ROOT_DEVICE));
	/* a process with another root does not see the mount of its root */
	CHECK(!mounts_is_mount_remote("", host, 22, 0, ROOT_DEVICE));
	CHECK(!mounts_is_mount_remote(overlays, host, 90, 0, ROOT_DEVICE));
	CHECK(mounts_is_mount_remote(overlays, host, 91, 0, ROOT_DEVICE));
}

/* Each of 4,000 characters of a path may take four in the list. */
static void test_long_lines(void)
{
	static char line[40000], path[4000];
	size_t size = snprintf(line, sizeof(line), "9 1 0:70 ");

	for (int field = 0; field < 2; field++) {
		line[size++] = '/';
		for (int i = 1; i < 3000; i++, size += 4)
			memcpy(line + size, "\\040", 4);
		line[size++] = ' ';
	}
	snprintf(line + size, sizeof(line) - size, "rw - fuse.sshfs me@there: rw\n");
	path[0] = '/';
	memset(path + 1, ' ', 2999);
	CHECK(mounts_is_remote(line, "", path, 0, ROOT_DEVICE));
	CHECK(!mounts_is_remote(line, "", "/bin/sh", 0, ROOT_DEVICE));
}

static char dir[] = "/tmp/perftape-mounts-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int open_and_close(const char *name, unsigned int flags)
{
	int fd = process_root_open(0, in_dir(name), 0, flags);

	if (fd >= 0)
		close(fd);
	return MIN(fd, 0);
}

/* Makes openat2() fail in this process. */
static void refuse_openat2(int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(2);
}

/* An old kernel lacks openat2(), and an old systemd forbids system calls that it does not know. */
static void check_refused(int code)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		refuse_openat2(code);
		_exit(open_and_close("file", 0) != 0 || open_and_close("link", 0) != -ELOOP);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void test_opened(void)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;

	CHECK(mkdtemp(dir));
	CHECK_EQ(file_replace(dir, "file", "text", 4), 0);
	fd = process_root_open(0, in_dir("file"), 0, 0);
	CHECK(fd >= 0);
	CHECK_EQ(file_read_fd(fd, 16, &text, NULL), 0);
	CHECK_STR(text, "text");
	CHECK_EQ(open_and_close("none", 0), -ENOENT);
	CHECK_EQ(open_and_close("file/none", 0), -ENOTDIR);
	CHECK_EQ(process_root_open(INT32_MAX, in_dir("file"), 0, 0), -ENOENT);
	/*
	 * other objects that can have the name of a library: opening them neither waits nor has an
	 * effect
	 */
	CHECK_EQ(mkfifo(in_dir("fifo"), 0600), 0);
	CHECK_EQ(open_and_close("fifo", 0), -ESTALE);
	CHECK_EQ(mkdir(in_dir("folder"), 0700), 0);
	CHECK_EQ(open_and_close("folder", 0), -ESTALE);
	CHECK_EQ(process_root_open(0, "/dev/null", 0, 0), -ESTALE);
	CHECK_EQ(symlink("file", in_dir("link")), 0);
	CHECK_EQ(open_and_close("link", 0), -ELOOP);
	CHECK_EQ(open_and_close("link", PROCESS_ROOT_LINKS), 0);
	check_refused(ENOSYS);
	check_refused(EPERM);
	for (size_t i = 0; i < 4; i++)
		remove(in_dir((const char *[]){ "link", "folder", "fifo", "file" }[i]));
	rmdir(dir);
}

CHECK_MAIN({ "layers of an overlay are looked at", test_layers },
	   { "long lines are read whole", test_long_lines },
	   { "an open file is judged by its own mount", test_mount_of_file },
	   { "file systems that may hang are known", test_told_apart },
	   { "only regular files are opened", test_opened })
