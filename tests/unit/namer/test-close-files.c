// SPDX-License-Identifier: GPL-2.0-only
/* Closes descriptors without close_range(), as before Linux 5.9. */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/close-files.h"

#define FIRST 10

long __wrap_syscall(long number, ...);
int __real_close(int fd);
int __wrap_close(int fd);

static unsigned int closes;

long __wrap_syscall(long number, ...)
{
	errno = ENOSYS;
	return -1;
}

int __wrap_close(int fd)
{
	closes++;
	return __real_close(fd);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void close_in_child(int high)
{
	for (int fd = FIRST - 1; fd <= FIRST + 1; fd++)
		CHECK_EQ(dup2(0, fd), fd);
	CHECK_EQ(dup2(0, high), high);
	close_files_from(FIRST);
	CHECK(is_open(FIRST - 1));
	CHECK(!is_open(FIRST) && !is_open(FIRST + 1) && !is_open(high));
	/* not one for each number up to the limit */
	CHECK(closes < 100);
}

static void test_without_close_range(void)
{
	struct rlimit limit;
	int status;
	pid_t pid;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	pid = fork();
	if (pid == 0) {
		close_in_child(MIN(limit.rlim_max, (rlim_t)60000) - 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

CHECK_MAIN({ "all descriptors are closed, however high", test_without_close_range })
