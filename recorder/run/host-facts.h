/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Facts about the host and the recording that each segment keeps. */

#include <sys/utsname.h>

#include "recorder/pipeline/pipeline.h"
#include "recorder/perf/perf-events.h"

/* The texts belong to the object or to the events. The object must not move. */
struct host_facts {
	struct utsname names;
	char boot_id[40];
	char frequency[16];
	char cpus[16];
	char kernel_text[24];
	/* "": the list is too long */
	char cpus_online[1024];
	/* perf clock, as text; "": before host_facts_begin() */
	char begun[24];
	struct pipeline_fact rows[14];
};

/*
 * Fills in the facts. Borrows `stack_bytes`; the caller may change the text later. `cpu_list` names
 * the sampled CPUs, such as "0-3,8"; NULL: all. Returns 0 or -ENOMEM.
 */
int host_facts_collect(struct host_facts *facts, const struct perf_events *events,
		       const char *cpu_list, unsigned int frequency, const char *version,
		       const char *stack_bytes);
/* Sets the begin of the recording, on the perf clock, as a fact of all later tapes. */
void host_facts_begin(struct host_facts *facts, uint64_t begin_ns);
