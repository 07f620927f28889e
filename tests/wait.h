/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Waits for a condition, however long a busy machine takes. If the condition never holds, the
 * timeout of the test runner ends the test, and the log names the condition.
 */

#include <stdio.h>
#include <unistd.h>

#define WAIT_LOOKS_PER_SECOND 1000

static inline void wait_before_look(unsigned int look, const char *condition, const char *file,
				    int line)
{
	usleep(1000000 / WAIT_LOOKS_PER_SECOND);
	if (look == 5 * WAIT_LOOKS_PER_SECOND) {
		printf("# still waits for: %s (%s:%d)\n", condition, file, line);
		fflush(stdout);
	}
}

#define WAIT_UNTIL(condition)                               \
	for (unsigned int _look = 1; !(condition); _look++) \
	wait_before_look(_look, #condition, __FILE__, __LINE__)
