/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What each segment keeps of the host and of how it was recorded. */

#include <sys/utsname.h>

#include "recorder/pipeline/pipeline.h"
#include "recorder/perf/perf-events.h"

/* The texts belong to it, or to the events; it must stay where it is. */
struct host_facts {
	struct utsname names;
	char boot_id[40];
	char frequency[16];
	char cpus[16];
	char kernel_text[24];
	/* "" where they are too scattered for it */
	char cpus_online[1024];
	/* "" before host_facts_begin() */
	char begun[24];
	struct pipeline_fact rows[13];
};

/* cpu_list: whose samples alone are taken, "0-3,8"; NULL: of all. */
void host_facts_collect(struct host_facts *facts, const struct perf_events *events,
			const char *cpu_list, unsigned int frequency, const char *version);
/* The recording begins at that moment of the perf clock: tapes say so from then on. */
void host_facts_begin(struct host_facts *facts, uint64_t begin_ns);
