// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that live for a moment. Each runs a separate file in a separate mount namespace. The
 * file is deleted as soon as the process runs.
 *
 *   brief COUNT MS      one after the other: brief00, brief01, ...
 *   brief MS            the program that they run: keeps a CPU busy for MS, in brief_burn()
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv);

#define DIR "/mnt"

__attribute__((noinline, noclone)) void brief_burn(long ms);
__attribute__((noinline, noclone)) void brief_burn(long ms)
{
	struct timespec used = { 0 };

	while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms) {
		for (volatile unsigned int i = 0; i < 1000000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	}
}

static void copy_self(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT, 0755);
	struct stat about;

	if (from < 0 || to < 0 || fstat(from, &about) < 0)
		exit(1);
	for (off_t at = 0; at < about.st_size;)
		if (sendfile(to, from, &at, about.st_size - at) <= 0)
			exit(1);
	close(from);
	close(to);
}

/*
 * Runs a program and deletes its file. exec() closes the pipe, so the end of the pipe shows that
 * the program runs.
 */
static void run_deleted(const char *path, const char *ms)
{
	int line[2];
	char byte;
	pid_t pid;

	if (pipe2(line, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		exit(1);
	if (pid == 0) {
		execl(path, path, ms, NULL);
		_exit(1);
	}
	close(line[1]);
	if (read(line[0], &byte, 1) != 0 || unlink(path) < 0)
		exit(1);
	waitpid(pid, NULL, 0);
}

static void run_one(int i, const char *ms)
{
	char path[64];

	snprintf(path, sizeof(path), DIR "/brief%02d", i);
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("brief", DIR, "tmpfs", 0, NULL) < 0)
		exit(1);
	copy_self(path);
	run_deleted(path, ms);
	exit(0);
}

int main(int argc, char **argv)
{
	int status, failed = 0;

	if (argc == 2)
		brief_burn(atol(argv[1]));
	for (int i = 0; argc == 3 && i < atoi(argv[1]); i++) {
		pid_t pid = fork();

		if (pid == 0)
			run_one(i, argv[2]);
		failed += waitpid(pid, &status, 0) != pid || status != 0;
	}
	return failed > 0;
}
