// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/cpu-idle.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu-list.h"

void cpu_idle_done(struct cpu_idle *idle)
{
	array_done(&idle->idle_ns);
}

static int cpu_idle_set(struct cpu_idle *idle, uint32_t cpu, uint64_t idle_ns)
{
	while (idle->idle_ns.count <= cpu)
		if (array_push(&idle->idle_ns, CPU_IDLE_UNKNOWN) < 0)
			return -ENOMEM;
	idle->idle_ns.items[cpu] = idle_ns;
	return 0;
}

/*
 * "cpu3 956354 7859 188291 1213376 3218 0 1772 1406 0 0": user, nice, system, idle, iowait, and
 * more.
 */
int cpu_idle_parse(char *text, struct cpu_idle *idle)
{
	uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	uint64_t ticks, waited;
	char *line;
	uint32_t cpu;
	int r = 0;

	idle->idle_ns.count = 0;
	while (r == 0 && (line = strsep(&text, "\n"))) {
		/* The lines of the CPUs come first. */
		if (strncmp(line, "cpu", 3) != 0)
			break;
		if (sscanf(line, "cpu%" SCNu32 " %*s %*s %*s %" SCNu64 " %" SCNu64, &cpu, &ticks,
			   &waited) == 3 &&
		    cpu < CPU_LIST_MAX)
			r = cpu_idle_set(idle, cpu, (ticks + waited) * tick_ns);
	}
	return r;
}

int cpu_idle_copy(struct cpu_idle *to, const struct cpu_idle *from)
{
	if (array_reserve(&to->idle_ns, from->idle_ns.count) < 0)
		return -ENOMEM;
	to->time_ns = from->time_ns;
	to->idle_ns.count = from->idle_ns.count;
	if (from->idle_ns.count)
		memcpy(to->idle_ns.items, from->idle_ns.items,
		       from->idle_ns.count * sizeof(*to->idle_ns.items));
	return 0;
}

/* The manual page says that the iowait time may decrease. In that case the idle time is unknown. */
uint64_t cpu_idle_between(const struct cpu_idle *before, const struct cpu_idle *after, uint32_t cpu)
{
	uint64_t from_ns, to_ns;

	if (cpu >= before->idle_ns.count || cpu >= after->idle_ns.count)
		return CPU_IDLE_UNKNOWN;
	from_ns = before->idle_ns.items[cpu];
	to_ns = after->idle_ns.items[cpu];
	if (from_ns == CPU_IDLE_UNKNOWN || to_ns == CPU_IDLE_UNKNOWN || to_ns < from_ns)
		return CPU_IDLE_UNKNOWN;
	return to_ns - from_ns;
}
