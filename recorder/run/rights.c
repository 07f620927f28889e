// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/rights.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/mutation.h"

/* Newer than some headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* Files that may be open: two a CPU, and what is mapped. Only root may raise the most that there
 * may be. */
#define FILES_MAX 65536

/* The kernel's number of the first one; which it has on every kernel. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

static const struct right {
	unsigned int capability;
	/* what stands for it on a kernel that does not know it; 0: nothing */
	unsigned int before;
} rights[] = {
	{ CAP_PERFMON, CAP_SYS_ADMIN }, { CAP_SYS_PTRACE, 0 }, { CAP_DAC_READ_SEARCH, 0 },
	{ CAP_CHECKPOINT_RESTORE, 0 },	{ CAP_SYSLOG, 0 },     { CAP_IPC_LOCK, 0 },
};

static unsigned int last_capability(void)
{
	_cleanup_free_ char *text = NULL;

	return file_read("/proc/sys/kernel/cap_last_cap", 32, &text, NULL) == 0
		       ? strtoul(text, NULL, 10)
		       : CAP_CHECKPOINT_RESTORE;
}

/* The one that this kernel has for it; 0: none. */
static unsigned int capability_of(const struct right *right, unsigned int last)
{
	return right->capability <= last ? right->capability : right->before;
}

static uint64_t rights_wanted(void)
{
	unsigned int last = last_capability();
	uint64_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (capability_of(&rights[i], last))
			bits |= 1ull << capability_of(&rights[i], last);
	return bits;
}

static int get_permitted(uint64_t *ret_permitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	*ret_permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	return 0;
}

static int set_capabilities(uint64_t bits)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .permitted = bits, .effective = bits },
		{ .permitted = bits >> 32, .effective = bits >> 32 },
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static void raise_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= FILES_MAX)
		return;
	files.rlim_max = FILES_MAX;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* From the last step on there is no way back. */
static int rights_become_here(const struct passwd *user)
{
	uint64_t permitted = 0, kept = rights_wanted();
	unsigned int last = last_capability();
	int r = get_permitted(&permitted);

	if (r < 0)
		return r;
	kept &= permitted;
	for (unsigned int i = 0; i <= last; i++)
		if (!(kept & 1ull << i))
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || initgroups(user->pw_name, user->pw_gid) < 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return -errno;
	r = set_capabilities(kept);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r;
}

/* Where no user has that name, a number is a uid. */
static int rights_find_user(const char *name, const struct passwd **ret_user, struct error *error)
{
	const struct passwd *user;
	unsigned long uid;
	char *end;

	errno = 0;
	user = getpwnam(name);
	if (!user && *name >= '0' && *name <= '9') {
		uid = strtoul(name, &end, 10);
		errno = 0;
		if (!*end && uid < UINT32_MAX)
			user = getpwuid(uid);
	}
	if (!user)
		return error_set(error, errno ? -errno : -ENOENT, "there is no user '%s'", name);
	*ret_user = user;
	return 0;
}

/* In a process of its own, as who has become that user does not come back: an owner and a mode
 * alone do not tell. What cannot be found out is let pass. */
static bool may_enter(const struct passwd *user, const char *folder)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (initgroups(user->pw_name, user->pw_gid) < 0 ||
		    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
		    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
			_exit(0);
		_exit(access(folder, X_OK) < 0 && errno == EACCES);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status == 0;
}

int rights_may_reach(const char *name, const char *path, struct error *error)
{
	const struct passwd *user;
	char folder[PATH_MAX];
	int r = rights_find_user(name, &user, error);

	if (r < 0)
		return r;
	for (const char *end = path; end; end = strchr(end + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
		if (end == path)
			snprintf(folder, sizeof(folder), "%s", *path == '/' ? "/" : ".");
		if (!may_enter(user, folder))
			return error_set(
				error, -EACCES,
				"%s may not enter %s, and so not write to %s; let that user in (chmod o+x %s), or choose another --store",
				name, folder, path, folder);
	}
	return 0;
}

int rights_make_folder(const char *name, const char *path, struct error *error)
{
	const struct passwd *user;
	int r = rights_find_user(name, &user, error);
	mode_t mask;

	if (r < 0)
		return r;
	/* those above it the user has to enter, too */
	mask = umask(022);
	r = file_make_dirs(path, 0755);
	umask(mask);
	if (r == 0 && (chmod(path, 0750) < 0 || chown(path, user->pw_uid, user->pw_gid) < 0))
		r = -errno;
	return r < 0 ? error_set(error, r, "%s: cannot make it for %s: %s", path, name,
				 strerror(-r))
		     : 0;
}

int rights_become(const char *name, struct error *error)
{
	const struct passwd *user;
	int r = rights_find_user(name, &user, error);

	if (r < 0)
		return r;
	if (user->pw_uid == geteuid() || mutated("keep-root"))
		return 0;
	if (geteuid() != 0)
		return error_set(error, -EPERM, "only root can record as another user, such as %s",
				 name);
	raise_limits();
	r = rights_become_here(user);
	if (r < 0)
		return error_set(error, r, "becoming user %s: %s", name, strerror(-r));
	rights_settle();
	return 0;
}

/* Who has such capabilities may not be looked into by others of the user: they would have to have
 * them too. */
void rights_settle(void)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

int rights_see_host(struct error *error)
{
	char namespace[64];
	ssize_t size = readlink("/proc/self/ns/pid", namespace, sizeof(namespace) - 1);

	if (size < 0)
		return 0;
	namespace[size] = 0;
	if (strcmp(namespace, INITIAL_PID_NAMESPACE) == 0)
		return 0;
	return error_set(
		error, -EPERM,
		"inside a PID namespace every sample looks like pid 0; record on the host, or give the container the host's: docker run --pid=host, or hostPID: true of a pod");
}
