/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The idle time of each CPU since boot, with iowait, from the cpuN lines of /proc/stat. */

#include <stdint.h>

#include "base/array.h"

#define CPU_IDLE_UNKNOWN UINT64_MAX

struct cpu_idle {
	/* Time of the reading, set by the caller; 0: never. */
	uint64_t time_ns;
	/* By the CPU's number; CPU_IDLE_UNKNOWN for a CPU without a line. */
	array_of(uint64_t) idle_ns;
};

void cpu_idle_done(struct cpu_idle *idle);

/*
 * Reads the idle times from the text of /proc/stat, and overwrites the text. Leaves time_ns as it
 * is. Returns 0 or -ENOMEM.
 */
int cpu_idle_parse(char *text, struct cpu_idle *idle);
/* Copies a reading with its time. Returns 0 or -ENOMEM. */
int cpu_idle_copy(struct cpu_idle *to, const struct cpu_idle *from);

/* Returns the idle time of a CPU between two readings, or CPU_IDLE_UNKNOWN. */
uint64_t cpu_idle_between(const struct cpu_idle *before, const struct cpu_idle *after,
			  uint32_t cpu);
