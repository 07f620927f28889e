/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Runs work in which a read may hang. The work runs in a child process, which announces each step.
 * If a step takes too long, the parent kills the child. The parent does not wait for the child's
 * end, because a process that hangs in the kernel does not end. Then the work starts again without
 * that step. The child closes its copies of our descriptors (base/output-relay.h), so a kernel lock
 * that it keeps delays only the child itself.
 */

#include <stdbool.h>
#include <stdint.h>

struct watchdog_child;

struct watchdog_child_work {
	uint64_t limit_ns;
	/*
	 * Runs in the child and returns its exit code. It calls watchdog_child_enter() before and
	 * after each read.
	 */
	int (*work)(void *context, struct watchdog_child *child);
	/* Runs in the parent when a step hangs. The work does not repeat that step. */
	void (*on_hang)(void *context, const char *what);
	void *context;
};

/* Returns the work's exit code, or a negative errno: -ETIMEDOUT if too many steps hang. */
int watchdog_child_run(const struct watchdog_child_work *work);

/*
 * Begins a step. Returns false if the step hung in an earlier run; the work then skips this step.
 * NULL ends the last step.
 */
bool watchdog_child_enter(struct watchdog_child *child, const char *what);
