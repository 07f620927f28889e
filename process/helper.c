// SPDX-License-Identifier: GPL-2.0-only
#include "process/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "process/close-files.h"

/* The descriptor of the socket in the helper. */
#define SOCKET 3
/*
 * With file capabilities, a helper has the user of its caller. The kernel lets this user attach to
 * a process without capabilities, and take the files that the helper gets. So a helper begins with
 * this capability, which its caller lacks, until the helper hides itself in helper_enter().
 */
#define GUARD (1ull << CAP_SYS_PTRACE)
/* More capabilities than any kernel has. */
#define RIGHTS_MAX 64

/* ---- in the helper ---- */

/*
 * A terminal sends its signals to the helper, too; only the parent reacts to them, and ends its
 * helpers itself.
 */
static void ignore_signals(void)
{
	for (int number = 1; number < NSIG; number++)
		if (number != SIGCHLD && number != SIGSEGV && number != SIGBUS &&
		    number != SIGABRT && number != SIGILL && number != SIGFPE && number != SIGSYS)
			signal(number, SIG_IGN);
}

void helper_enter(int argc, char **argv, const struct helper_job *jobs)
{
	if (argc != 3 || strcmp(argv[1], HELPER_WORD) != 0)
		return;
	/*
	 * Any user may execute a program with file capabilities, and a helper obeys its parent.
	 * With no_new_privs, the kernel does not give a program rights that the parent lacks.
	 */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		_exit(2);
	for (; jobs->name; jobs++) {
		if (strcmp(jobs->name, argv[2]) != 0)
			continue;
		/* hide the helper's memory and files from other processes of its user */
		prctl(PR_SET_DUMPABLE, 0);
		/* if the parent has already ended, the job reads the end of the socket */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ignore_signals();
		close_files_from(SOCKET + 1);
		/* not exit(): the helper must not clean up what main() set up */
		_exit(jobs->run(SOCKET));
	}
	_exit(2);
}

static int set_rights(uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ permitted, permitted, inheritable },
		{ permitted >> 32, permitted >> 32, inheritable >> 32 },
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static int get_rights(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	memset(data, 0, 2 * sizeof(*data));
	return syscall(SYS_capget, &header, data) < 0 ? -errno : 0;
}

int helper_keep_rights(uint64_t rights)
{
	struct __user_cap_data_struct data[2];
	int r = get_rights(data);

	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	rights &= data[0].permitted | (uint64_t)data[1].permitted << 32;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return set_rights(rights, 0);
}

/* ---- in the parent ---- */

/*
 * Without root, exec() keeps only ambient capabilities, so this raises them in this thread until
 * drop_ambient(). After a failure the helper lacks rights, and its job reports what it cannot do.
 */
static void raise_ambient(uint64_t rights)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (get_rights(data) < 0)
		return;
	data[0].inheritable |= data[0].permitted & (uint32_t)rights;
	data[1].inheritable |= data[1].permitted & (uint32_t)(rights >> 32);
	if (syscall(SYS_capset, &header, data) < 0)
		return;
	for (unsigned int i = 0; i < RIGHTS_MAX; i++)
		if (rights >> i & 1)
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
}

static void drop_ambient(const struct __user_cap_data_struct before[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	syscall(SYS_capset, &header, before);
}

/* A build for tests keeps the environment, for the variables of sanitizers and tests. */
static int spawn_program(const char *job, const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *attributes, pid_t *ret_pid)
{
	char *const arguments[] = { (char *)"perftape", (char *)HELPER_WORD, (char *)job, NULL };
#ifdef PERFTAPE_MUTATIONS
	char **environment = environ;
#else
	char *environment[] = { NULL };
#endif

	return -posix_spawn(ret_pid, "/proc/self/exe", actions, attributes, arguments, environment);
}

static int spawn_with(const char *job, int socket, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	/* do this first, because the socket may be descriptor 0, 1 or 2 */
	r = -posix_spawn_file_actions_adddup2(&actions, socket, SOCKET);
	for (int fd = 0; r == 0 && fd <= 2; fd++) {
#ifdef PERFTAPE_MUTATIONS
		if (fd == 2)
			continue;
#endif
		r = -posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	}
	if (r == 0)
		r = spawn_program(job, &actions, &attributes, ret_pid);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int helper_start(const char *job, int type, uint64_t rights, int32_t *ret_pid, int *ret_socket)
{
	_cleanup_close_ int ours = -1, its = -1;
	struct __user_cap_data_struct before[2];
	int pair[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	its = pair[1];
	r = get_rights(before);
	if (r < 0)
		return r;
	/* see helper_enter(); the flag stays set in this thread, which starts only helpers */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	raise_ambient(rights | GUARD);
	r = spawn_with(job, its, &pid);
	drop_ambient(before);
	if (r < 0)
		return r;
	*ret_pid = pid;
	*ret_socket = take_fd(ours);
	return 0;
}

#define NO_NULL_TEXT \
	"/dev/null: %s; helper processes need it; create it with: mknod -m 666 /dev/null c 1 3"

int helper_explain(int code, struct error *error)
{
	if (access("/dev/null", R_OK | W_OK) < 0)
		return error_set(error, code, NO_NULL_TEXT, strerror(errno));
	if (access("/proc/self/exe", X_OK) < 0)
		return error_set(error, code,
				 "/proc/self/exe: %s; helper processes need it; mount /proc",
				 strerror(errno));
	return error_set(error, code,
			 "cannot start a helper process: %s; check the limits of processes",
			 strerror(-code));
}

static bool helper_is_runnable(int32_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[40], *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, 4096, &text, NULL) < 0)
		return false;
	end = strrchr(text, ')');
	return end && strncmp(end, ") R", 3) == 0;
}

bool helper_waits_for_cpu(int32_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[60], *rest, *child;

	if (helper_is_runnable(pid))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if (file_read(path, 4096, &text, NULL) < 0)
		return false;
	rest = text;
	while ((child = strsep(&rest, " ")))
		if (*child && helper_is_runnable(atoi(child)))
			return true;
	return false;
}
