/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* perf_event_open(2), asked through the test that includes this once and is linked with
 * -Wl,--wrap=syscall. */

#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* The test's: as the system call, but that it gives -1 and errno. */
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
