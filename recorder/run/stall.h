/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The recorder itself did not run: a signal stopped it (SIGSTOP, a debugger, Ctrl-Z), or it got no
 * CPU, or was frozen. The rings take the samples meanwhile, as many as they have room for, so
 * nothing need be lost; but who looks at that time later wants to know.
 */

#include "recorder/build/losses.h"

struct stall {
	/* signals, by the last look */
	int continued;
	/* so far: that a signal stopped it, and that it got no CPU */
	uint64_t signal_ns;
	uint64_t cpu_ns;
};

/*
 * At a turn that came so late, at that moment of the perf clock; `continued` counts the signals
 * that let it go on. Tells the losses of what is long enough. 0 or -ENOMEM.
 */
int stall_look(struct stall *stall, int continued, uint64_t late_ns, uint64_t now_ns,
	       struct losses *losses);
