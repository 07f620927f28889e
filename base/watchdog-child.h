/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Work that may hang in a read: it is done in a process of its own, which says what it is at. When
 * that takes too long, the process is killed and left alone, as one that waits in the kernel does
 * not end, and the work begins anew without what it was at. A kernel's lock that is not given back
 * holds up nobody else so: such a process has none of our files (base/output-relay.h).
 */

#include <stdbool.h>
#include <stdint.h>

struct watchdog_child;

struct watchdog_child_work {
	uint64_t limit_ns;
	/* In that process; its answer is the exit code. It asks watchdog_child_enter() before, and
	 * tells it behind, each read. */
	int (*work)(void *context, struct watchdog_child *child);
	/* In this one, when something is given up; it is not tried again. */
	void (*on_hang)(void *context, const char *what);
	void *context;
};

/* The work's answer, or a negative errno: -ETIMEDOUT when too much of it hangs. */
int watchdog_child_run(const struct watchdog_child_work *work);

/* False: it hung before, and is to be passed over. NULL: what was entered last is done. */
bool watchdog_child_enter(struct watchdog_child *child, const char *what);
