/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Sorts the steps of gauges into the evidence: in the stall, or usual. */

#include "query/explain/evidence.h"
#include "query/read/series.h"

/* A mean over time. */
struct host_mean {
	double sum, weight_s;
};

struct host_pair {
	struct host_mean now, usual;
};

/* A cgroup with its throttling, or a unit with its starts. */
struct host_named {
	uint32_t name;
	bool started, container;
	struct host_pair share;
	double starts, made;
};

struct host_cpu {
	struct host_pair idle, steal, receive;
};

struct host_steps {
	struct evidence *evidence;
	struct host_pair stalls, cpu_pressure, memory_pressure, io_pressure, forks;
	double first_tracked;
	/* the first reading */
	uint64_t first_ns;
	array_of(struct host_named) named;
	/* indexed by CPU number */
	array_of(struct host_cpu) cpus;
	array_of(struct evidence_victim) victims;
};

/* Sets the figures of the host to unknown. */
void host_steps_init(struct host_steps *steps);
void host_steps_done(struct host_steps *steps);
/* For series_options: the figures of the host over an hour, and those of CPUs around the stall. */
bool host_steps_wants_host(void *context, const char *name);
int host_steps_see_host(void *context, const struct series_step *step);
bool host_steps_wants_cpu(void *context, const char *name);
int host_steps_see_cpu(void *context, const struct series_step *step);
/* Writes the sums into the evidence. */
void host_steps_finish(struct host_steps *steps);
