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
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "recorder/run/capabilities.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/mutation.h"

/* Older headers do not define these capabilities. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/*
 * Limit of open files: enough for two per CPU, and for mapped files. Only root may raise the hard
 * limit.
 */
#define FILES_MAX 65536

/* The number of the first PID namespace, the same on every kernel. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

#define NAMESPACE_TEXT \
	"in a PID namespace every pid is 0; use the host's: docker run --pid=host, hostPID: true"
#define NO_WAY_TEXT \
	"%s may not enter %s, and so not write to %s; chmod o+x %s, or choose another --store"

static const struct right {
	unsigned int capability;
	/* replaces the capability on a kernel that does not know it; 0: no replacement */
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

/* Returns the capability, or its replacement on this kernel; 0: none. */
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

static void raise_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= FILES_MAX)
		return;
	files.rlim_max = FILES_MAX;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* The process cannot undo the last step. */
static int rights_become_here(const struct passwd *user)
{
	uint64_t permitted = 0, kept = rights_wanted();
	unsigned int last = last_capability();
	int r = capabilities_permitted(&permitted);

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
	r = capabilities_set(kept, kept);
	if (r < 0)
		return r;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* A number that is not the name of a user is a uid. */
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
		return error_set(error, errno ? -errno : -ENOENT, "user '%s' does not exist", name);
	*ret_user = user;
	return 0;
}

/*
 * Returns whether a user may enter a folder; true if that cannot be found out. Owner and mode of
 * the folder do not decide that alone, so a child becomes the user and tries. This process could
 * not become itself again.
 */
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
			return error_set(error, -EACCES, NO_WAY_TEXT, name, folder, path, folder);
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
	/* the user must be able to enter the folders above, too */
	mask = umask(022);
	r = file_make_dirs(path, 0755);
	umask(mask);
	if (r == 0 && (chmod(path, 0700) < 0 || chown(path, user->pw_uid, user->pw_gid) < 0))
		r = -errno;
	return r < 0 ? error_set(error, r, "%s: cannot create it for user %s: %s", path, name,
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
		return error_set(error, r, "cannot become user %s: %s", name, strerror(-r));
	rights_settle();
	return 0;
}

static int rights_become_user(const struct stat *about)
{
	uint64_t kept = 0;
	int r = capabilities_permitted(&kept);

	if (r < 0)
		return r;
	kept &= rights_wanted();
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(about->st_gid, about->st_gid, about->st_gid) < 0 ||
	    setresuid(about->st_uid, about->st_uid, about->st_uid) < 0)
		return -errno;
	return capabilities_set(kept, kept);
}

int rights_become_owner(const char *path, struct error *error)
{
	struct stat about;
	int r;

	if (geteuid() != 0 || stat(path, &about) < 0 || about.st_uid == 0)
		return 0;
	r = rights_become_user(&about);
	return r < 0 ? error_set(error, r, "%s: cannot become its owner, uid %u: %s", path,
				 about.st_uid, strerror(-r))
		     : 0;
}

/*
 * The kernel hides the /proc files of a process with these capabilities from processes without
 * them, even of the same user. Keep them hidden if the rights come from the program's file.
 * Otherwise its caller could force a core dump with data that only these rights may read.
 */
void rights_settle(void)
{
	prctl(PR_SET_DUMPABLE, !capabilities_come_from_file(), 0, 0, 0);
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
	return error_set(error, -EPERM, NAMESPACE_TEXT);
}
