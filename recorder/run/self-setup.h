/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The priority and memory of the recorder on a busy host. With hundreds of busy threads, the rings
 * would overflow if the recorder waited for each thread. The recorder uses little CPU time, so
 * others lose little when it goes first.
 */

/* A nice value above -20, which the kernel's urgent threads have. */
#define SELF_SETUP_NICE (-15)

/*
 * Lets this thread, and the threads and processes that it starts later, go first; also its session,
 * if this process leads one. Changes nothing if the process already has a nice value other than 0.
 * Returns 0; -EACCES if neither CAP_SYS_NICE nor RLIMIT_NICE permits this.
 */
int self_setup_go_first(void);

/*
 * Makes the C library give freed memory back to the kernel. By default, it raises its thresholds
 * when a large block is freed, and then keeps up to twice the size of that block for weeks.
 */
void self_setup_return_memory(void);
