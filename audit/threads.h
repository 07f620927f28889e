/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which thread keeps a CPU busy, from two looks at /proc. */

#include "audit/host-figures.h"

struct thread_share {
	uint32_t cpu;
	/* 0: no thread that stood out */
	int pid, tid;
	char comm[32];
	/* of the CPU's time */
	double percent;
	/* of its own time, in per cent */
	double kernel;
};

/* The cpu of each is given. Looks twice, with a wait between; no more than so many threads are
 * looked at. 0 or -ENOMEM. */
int threads_find(const struct host *host, struct thread_share *shares, size_t count);
