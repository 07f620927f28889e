// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures what the host's gauges cost. Reads the gauges below ROOT ("" for this host) as often as
 * the recorder does in SECONDS seconds: without pauses, or with `paced` once a second. Prints the
 * time of each source and of all sources, in percent of one CPU, including kernel time.
 *
 *   bench-host ROOT SECONDS [paced]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gauges/gauges.h"

static int take_name(void *context, const char *name, uint32_t *ret_id)
{
	(void)name;
	*ret_id = (*(uint32_t *)context)++;
	return 0;
}

static int take_value(void *context, uint32_t id, int64_t value)
{
	(void)context;
	(void)id;
	(void)value;
	return 0;
}

static double percent(uint64_t cpu_ns, uint64_t seconds)
{
	return 100.0 * cpu_ns / (seconds * NSEC_PER_SEC);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, begin_ns;
	bool paced = argc > 3 && strcmp(argv[3], "paced") == 0;
	uint32_t names = 0;
	const struct gauges_sink sink = { take_name, take_value, &names };
	struct gauges *gauges;

	if (!seconds || gauges_new(argv[1], &sink, &gauges) < 0)
		return 1;
	begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t second = 0; second < seconds; second++) {
		const struct timespec pause = { .tv_sec = 1 };

		if (gauges_read(gauges, second) < 0)
			return 1;
		if (paced)
			nanosleep(&pause, NULL);
	}
	printf("all %.4f %u\n", percent(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns, seconds),
	       names);
	for (size_t i = 0; i < gauges_count(gauges); i++) {
		struct gauges_cost cost;

		gauges_cost(gauges, i, &cost);
		printf("%s: %.4f %llu %llu %.3f\n", cost.source, percent(cost.cpu_ns, seconds),
		       (unsigned long long)cost.reads, (unsigned long long)cost.failures,
		       cost.longest_ns / 1e6);
	}
	gauges_free(gauges);
	return 0;
}
