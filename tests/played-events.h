/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Routes perf_event_open(2) through the test that includes this file once. Link the test with
 * -Wl,--wrap=syscall.
 */

#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/*
 * The test defines this function. It returns what the system call returns: -1 with errno on
 * failure.
 */
static long play_open_event(struct perf_event_attr *attr, long pid, long cpu, long group,
			    unsigned long flags);

long __wrap_syscall(long number, ...)
{
	long words[6];
	va_list args;

	va_start(args, number);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_perf_event_open)
		return play_open_event((struct perf_event_attr *)words[0], words[1], words[2],
				       words[3], words[4]);
	return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
