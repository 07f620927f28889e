// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts programs as fast as it can. Each program ends at once, makes a dozen side-band records,
 * has a new pid, and makes the recorder look for its cgroup and its files.
 *
 *   attack-exec-storm SECONDS
 */
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	char *words[] = { argv[0], (char *)"end", NULL };
	double end = now() + (argc > 1 ? atof(argv[1]) : 10);
	pid_t pid;

	if (argc > 1 && strcmp(argv[1], "end") == 0)
		return 0;
	while (now() < end) {
		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, words, environ) != 0)
			return 1;
		waitpid(pid, NULL, 0);
	}
	return 0;
}
