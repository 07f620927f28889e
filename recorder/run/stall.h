/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Times in which the recorder itself did not run: a signal stopped it (SIGSTOP, a debugger,
 * Ctrl-Z), it got no CPU, or it was frozen. Meanwhile the rings hold the samples until they are
 * full, so often nothing is lost. The coverage of an answer states such a time all the same.
 */

#include "recorder/build/losses.h"

struct stall {
	/* number of SIGCONT signals at the last call */
	int continued;
	/* total time in which the recorder was stopped by a signal, and in which it got no CPU */
	uint64_t signal_ns;
	uint64_t cpu_ns;
};

/*
 * Call it at each turn. `late_ns` is how late the turn is, `now_ns` its moment on the perf clock,
 * and `continued` the number of SIGCONT signals so far. Adds a delay that is long enough to the
 * losses. Returns 0 or -ENOMEM.
 */
int stall_update(struct stall *stall, int continued, uint64_t late_ns, uint64_t now_ns,
		 struct losses *losses);
