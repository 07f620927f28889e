/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* How long each CPU has idled since the boot, waiting for the disk included: the cpuN lines of
 * /proc/stat. */

#include <stdint.h>

#include "base/array.h"

#define CPU_IDLE_UNKNOWN UINT64_MAX

struct cpu_idle {
	/* the caller's: when it was read; 0: never */
	uint64_t time_ns;
	array_of(uint64_t)
		/* by the CPU's number; CPU_IDLE_UNKNOWN for one that is not there */
		idle_ns;
};

void cpu_idle_done(struct cpu_idle *idle);

/* Out of the text, whose lines are cut up; time_ns stays as it is. 0 or -ENOMEM. */
int cpu_idle_parse(char *text, struct cpu_idle *idle);
int cpu_idle_copy(struct cpu_idle *to, const struct cpu_idle *from);

/* How long a CPU idled between two readings, or CPU_IDLE_UNKNOWN. */
uint64_t cpu_idle_between(const struct cpu_idle *before, const struct cpu_idle *after,
			  uint32_t cpu);
