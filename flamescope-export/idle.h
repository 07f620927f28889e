/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Flamescope hides each sample of `swapper` in whose stack the idle loop is. An interrupt or a
 * softirq that runs on an idle CPU has the idle loop below it and is work all the same, often the
 * very work one looks for. So what a stack's functions say is collected in marks, and
 * idle_hides_work() tells.
 */

#include <stdbool.h>

enum idle_mark {
	/* Flamescope's words for the idle loop */
	IDLE_MARK_LOOP = 1,
	IDLE_MARK_SOFTIRQ = 2,
	/* the entry of an interrupt that is not the sampler's */
	IDLE_MARK_INTERRUPT = 4,
	/* the sampling timer, its interrupt, what perf does in it */
	IDLE_MARK_TIMER = 8,
};

/* Does Flamescope take an idle task of this name for one? */
bool idle_comm(const char *comm);
unsigned int idle_marks(const char *symbol);
/* Given the marks of all functions of a stack of such a thread. */
bool idle_hides_work(unsigned int marks);
