/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Flamescope hides each sample of `swapper` with the idle loop in its stack. An interrupt or a
 * softirq on an idle CPU has the idle loop below it, but is work that often explains an incident.
 * idle_marks() returns what a function shows, and idle_hides_work() decides by the marks of a whole
 * stack.
 */

#include <stdbool.h>

enum idle_mark {
	/* Flamescope's words for the idle loop. */
	IDLE_MARK_LOOP = 1,
	IDLE_MARK_SOFTIRQ = 2,
	/* The entry of an interrupt other than the sampling timer's. */
	IDLE_MARK_INTERRUPT = 4,
	/* The sampling timer, its interrupt, and perf's own work in that interrupt. */
	IDLE_MARK_TIMER = 8,
};

/* Returns whether Flamescope recognises an idle task by this name. */
bool idle_comm(const char *comm);
unsigned int idle_marks(const char *symbol);
/*
 * Returns whether Flamescope would hide work. `marks` combines the marks of all functions in the
 * stack of an idle thread.
 */
bool idle_hides_work(unsigned int marks);
