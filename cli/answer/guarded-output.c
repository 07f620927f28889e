// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/guarded-output.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The hidden name. It changes only while the signals are blocked. */
static char guarded[PATH_MAX];

/*
 * Removes the hidden file. When this handler returns, the raised signal ends the process, because
 * its default action is restored.
 */
static void remove_and_end(int number)
{
	unlink(guarded);
	raise(number);
}

static void guard_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = remove_and_end, .sa_flags = SA_RESETHAND };
	struct sigaction present;

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (sigaction(numbers[i], NULL, &present) == 0 && present.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
}

int guarded_output_open(struct output *output, const char *path, bool force, struct error *error)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	r = output_open(output, path, force, error);
	if (r == 0 && output_temporary(output)) {
		snprintf(guarded, sizeof(guarded), "%s", output_temporary(output));
		guard_signals();
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}
