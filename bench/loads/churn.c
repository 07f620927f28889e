// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts short processes at a fixed rate per second: each is forked, becomes `true`, and ends. Runs
 * until killed.
 *
 *   churn RATE
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long step_ns = 1000000000 / (argc > 1 ? atol(argv[1]) : 500);
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		if (fork() == 0) {
			execlp("true", "true", NULL);
			_exit(1);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		next.tv_nsec += step_ns;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
