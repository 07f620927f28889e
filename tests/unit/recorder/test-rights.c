// SPDX-License-Identifier: GPL-2.0-only
/* The folder that a recorder makes for another user, and the users that it knows. */
#include "tests/check.h"

#include <errno.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/run/capabilities.h"
#include "recorder/run/rights.h"
#include "recorder/run/self-setup.h"
#include "tests/tree.h"

struct user {
	char name[64];
	uid_t uid;
	gid_t gid;
};

/*
 * Returns the user of the folder: root makes it for a user without rights, other users for
 * themselves.
 */
static struct user any_user(void)
{
	const struct passwd *found = geteuid() ? getpwuid(geteuid()) : getpwnam("nobody");
	struct user user;

	CHECK(found);
	user = (struct user){ .uid = found->pw_uid, .gid = found->pw_gid };
	snprintf(user.name, sizeof(user.name), "%s", found->pw_name);
	return user;
}

static void test_make_folder(void)
{
	struct user user = any_user();
	_cleanup_(tree_done) struct tree tree;
	struct stat above, folder;
	char path[256], uid[16];
	mode_t mask = umask(077);
	struct error error;

	tree_init(&tree);
	snprintf(path, sizeof(path), "%s/var/lib/store", tree.root);
	CHECK_EQ(rights_make_folder(user.name, path, &error), 0);
	CHECK_EQ(umask(mask), 077);
	CHECK_EQ(stat(path, &folder), 0);
	CHECK_EQ(folder.st_mode & 07777, 0700);
	CHECK_EQ(folder.st_uid, user.uid);
	CHECK_EQ(folder.st_gid, user.gid);
	snprintf(path, sizeof(path), "%s/var/lib", tree.root);
	CHECK_EQ(stat(path, &above), 0);
	CHECK_EQ(above.st_mode & 07777, 0755);
	CHECK_EQ(above.st_uid, geteuid());
	/* a folder that exists gets the same owner and mode; a number is a user, too */
	snprintf(uid, sizeof(uid), "%u", user.uid);
	CHECK_EQ(rights_make_folder(uid, path, &error), 0);
	CHECK_EQ(stat(path, &above), 0);
	CHECK_EQ(above.st_mode & 07777, 0700);
	CHECK_EQ(above.st_uid, user.uid);
}

static void test_no_folder(void)
{
	_cleanup_(tree_done) struct tree tree;
	char path[256], expected[512];
	struct error error;

	tree_init(&tree);
	tree_put(&tree, "/file", "");
	snprintf(path, sizeof(path), "%s/file/store", tree.root);
	CHECK_EQ(rights_make_folder(any_user().name, path, &error), -ENOTDIR);
	snprintf(expected, sizeof(expected), "%s: cannot create it for user %s: Not a directory",
		 path, any_user().name);
	CHECK_STR(error.text, expected);
}

static void test_no_user(void)
{
	static const char *const names[] = { "no such user", "4294967295", "12x", "" };
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_EQ(rights_make_folder(names[i], "/nowhere", &error), -ENOENT);
		CHECK(strstr(error.text, "does not exist"));
		CHECK_EQ(rights_may_reach(names[i], "/", &error), -ENOENT);
		CHECK_EQ(rights_become(names[i], &error), -ENOENT);
	}
}

/* Only root can try a folder as another user. */
static void test_may_reach(void)
{
	struct user user = any_user();
	_cleanup_(tree_done) struct tree tree;
	char path[256], above[256];
	struct error error;

	tree_init(&tree);
	tree_folder(&tree, "/closed/open");
	CHECK_EQ(chmod(tree.root, 0755), 0);
	snprintf(path, sizeof(path), "%s/closed/open/store", tree.root);
	CHECK_EQ(rights_may_reach(user.name, path, &error), 0);
	CHECK_EQ(rights_may_reach(user.name, "store", &error), 0);
	snprintf(above, sizeof(above), "%s/closed", tree.root);
	CHECK_EQ(chmod(above, 0600), 0);
	CHECK_EQ(rights_may_reach(user.name, path, &error), user.uid ? -EACCES : 0); /* root may */
	CHECK(!user.uid || strstr(error.text, above));
	/* the folder itself may be closed, because only what lies above it counts */
	CHECK_EQ(rights_may_reach(user.name, above, &error), 0);
	CHECK_EQ(chmod(above, 0700), 0);
}

/* Becomes the owner, and returns whether the test can write into the folder as that user. */
static bool writes_as_owner(const char *path, uid_t owner)
{
	pid_t child = fork();
	char file[300];
	int status;

	if (child == 0) {
		snprintf(file, sizeof(file), "%s/file", path);
		_exit(rights_become_owner(path, NULL) < 0 || geteuid() != owner ||
		      mkdir(file, 0700) < 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return status == 0;
}

/* systemd closes the folder above the folder of a unit's user. */
static void test_become_owner(void)
{
	struct user user = any_user();
	_cleanup_(tree_done) struct tree tree;
	char path[256];

	tree_init(&tree);
	tree_folder(&tree, "/private/store");
	snprintf(path, sizeof(path), "%s/private/store", tree.root);
	CHECK_EQ(chmod(path, 0700), 0);
	CHECK_EQ(chown(path, user.uid, user.gid), 0);
	snprintf(path, sizeof(path), "%s/private", tree.root);
	CHECK_EQ(chmod(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/private/store", tree.root);
	CHECK(writes_as_owner(path, user.uid));
	CHECK_EQ(rights_become_owner("/nonexistent", NULL), 0);
	CHECK_EQ(rights_become_owner("/", NULL), 0);
}

/* Starts a process with a nice value. Returns its nice value after self_setup_go_first(). */
static int raised_from(int nice, int user)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (setpriority(PRIO_PROCESS, 0, nice) < 0 || (user && setresuid(user, user, user)))
			_exit(100);
		if (self_setup_go_first() != (user ? -EACCES : 0))
			_exit(101);
		_exit(getpriority(PRIO_PROCESS, 0) + 20);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status) - 20;
}

/*
 * Returns the nice value of the session of a process after self_setup_go_first(). The process leads
 * a session of its own, or is another process of that session.
 */
static int session_raised(bool leads)
{
	pid_t child = fork();
	int status, nice = 100;
	FILE *file;

	if (child == 0) {
		if (setsid() < 0 || (!leads && fork() != 0) || self_setup_go_first() != 0)
			_exit(wait(&status) > 0 ? WEXITSTATUS(status) : 101);
		file = fopen("/proc/self/autogroup", "re");
		if (!file || fscanf(file, "/autogroup-%*d nice %d", &nice) != 1)
			_exit(102);
		_exit(nice + 20);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status) - 20;
}

static void test_priority(void)
{
	struct user user = any_user();

	if (geteuid() == 0) {
		CHECK_EQ(raised_from(0, 0), SELF_SETUP_NICE);
		CHECK_EQ(raised_from(0, user.uid), 0);
		CHECK_EQ(raised_from(-5, 0), -5);
	}
	/* a kernel without autogroups does not have this file */
	if (geteuid() == 0 && access("/proc/self/autogroup", F_OK) == 0) {
		CHECK_EQ(session_raised(true), SELF_SETUP_NICE);
		CHECK_EQ(session_raised(false), 0);
	}
	/* somebody chose this nice value */
	CHECK_EQ(raised_from(7, 0), 7);
}

/*
 * Becomes a process that a user started from a program of root's that sets the user and the group.
 * Returns whether it has only the rights of the user after capabilities_drop().
 */
static bool drops_set_ids(const struct user *user)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (setresgid(user->gid, 0, 0) < 0 || setresuid(user->uid, 0, 0) < 0)
			_exit(100);
		if (capabilities_drop() != 0)
			_exit(101);
		_exit(getegid() != user->gid || geteuid() != user->uid || setegid(0) == 0 ||
		      seteuid(0) == 0 || chroot("/") == 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return status == 0;
}

static void test_drop(void)
{
	struct user user = any_user();

	if (geteuid() == 0)
		CHECK(drops_set_ids(&user));
}

CHECK_MAIN({ "a folder belongs to its user, and those above it to us", test_make_folder },
	   { "a folder that cannot be made", test_no_folder },
	   { "users that do not exist", test_no_user },
	   { "folders that a user may not enter", test_may_reach },
	   { "root works in the folder of another user as that user", test_become_owner },
	   { "a recorder goes before busy processes", test_priority },
	   { "a program that sets its user drops all rights of that user", test_drop })
