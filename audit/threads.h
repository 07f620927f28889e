/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the thread that keeps a CPU busy, from two readings of /proc. */

#include "audit/host-figures.h"

struct thread_share {
	uint32_t cpu;
	/* 0: no thread stood out */
	int pid, tid;
	char comm[32];
	/* share of the CPU's time, in per cent */
	double percent;
	/* the kernel's share of the thread's time, in per cent */
	double kernel;
};

/*
 * Fills in the shares of the given CPUs. Reads /proc twice, with a pause between, and only a
 * limited number of threads. Returns 0 or -ENOMEM.
 */
int threads_find(const struct host *host, struct thread_share *shares, size_t count);
