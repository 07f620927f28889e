/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The evidence about a stall: what the kernel said, what each saturated CPU did, what is usual on
 * this host, and what else changed. Readers fill it; the rules (query/explain/rules.h) judge it.
 *
 * Names of processes, functions and cgroups are numbers of `names`. Shares are from 0 to 1 of one
 * CPU's time, unless a comment says otherwise. NAN means unknown.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"
#include "query/coverage/coverage.h"
#include "query/explain/code-kinds.h"
#include "query/window/window.h"

#define EVIDENCE_STRIP 24
#define EVIDENCE_STRIP_UNKNOWN 255
#define EVIDENCE_THREADS 3
#define EVIDENCE_PATH 128
#define EVIDENCE_CORES 4

/* How the CPU that serves a queue is known. */
enum evidence_cpu_source {
	EVIDENCE_CPU_UNKNOWN,
	/* The line names the CPU that last ran the queue's poll. */
	EVIDENCE_CPU_LINE,
	/* The recorder read which CPU received the queue's interrupt. */
	EVIDENCE_CPU_INTERRUPTS,
};

/* What the kernel reported. Without an incident, `kind` is "". */
struct evidence_incident {
	/* 0: not in the store */
	uint64_t id;
	char kind[64], device[64], ifname[32], comm[32];
	char line[256];
	bool has_queue;
	uint64_t queue;
	enum evidence_cpu_source cpu_source;
	uint32_t cpu;
	/* 1: the interrupt came, but the poll did not run; 0: nothing was due; -1: not stated */
	int napi_scheduled;
	/* the time of the first and the last line, on the wall clock */
	uint64_t first_ns, last_ns;
	/* the line, or its kind, states the begin of the stall */
	bool has_start;
	uint64_t lines, resets;
};

/* The result of a comparison with quiet windows (query/explain/chance.h). */
struct evidence_chance {
	/* quiet windows that were compared; 0: no comparison */
	unsigned int windows;
	/* quiet windows in which anything stood out as much */
	unsigned int as_much;
	/* the rows or tests that were tried; `p` allows for them */
	unsigned int tried;
	/* how likely chance alone explains it, at least 1 / (windows + 1) */
	double p;
};

/* A row beside its usual value. Shares may exceed 1 if many CPUs work. */
struct evidence_row {
	double now, usual, most;
	struct evidence_chance chance;
	/* not one sample in the quiet windows */
	bool is_new;
};

struct evidence_thread {
	int32_t pid, tid;
	uint32_t comm, cgroup;
	double share;
	/* all threads of this name */
	struct evidence_row row;
};

/* A function of the call path, from the outermost one. */
struct evidence_step {
	uint32_t function;
	bool kernel;
	/* not one sample in the quiet windows */
	bool is_new;
	double share;
};

struct evidence_core {
	uint32_t cpu;
	/*
	 * the CPU had no idle time from `from_ns` to `to_ns`; the shares describe the part of this
	 * time in the stall, if that lasts a second
	 */
	bool full;
	uint64_t from_ns, to_ns;
	double user, kernel, irq, softirq;
	/* busy according to the samples */
	double busy;
	/* busy and stolen according to the host's gauges; NAN: unknown */
	double gauges, steal;
	/* samples of the stack kinds, and leaf functions of the kinds */
	double code[CODE_KINDS], leaf_code[CODE_KINDS];
	/* busy per cent of each cell of the strip, or EVIDENCE_STRIP_UNKNOWN: not recorded */
	uint8_t strip[EVIDENCE_STRIP];
	struct evidence_thread threads[EVIDENCE_THREADS];
	size_t thread_count;
	struct evidence_step path[EVIDENCE_PATH];
	size_t path_count;
	/* the function on top of most stacks of the path's end */
	uint32_t leaf;
	double leaf_share;
	/* the functions at the path's end in all samples of the host */
	struct evidence_row leaf_row;
	/* how unusual it is that any CPU is full for this time with the same kind of work */
	struct evidence_chance full_chance;
	/* how often the same thread name filled a CPU for about this time at other times */
	unsigned int recurs;
	/* the first of these times */
	uint64_t recurs_first_ns;
	/* the whole spike that the full time belongs to; 0: not known */
	uint64_t spike_from_ns, spike_to_ns;
	/* a reader compared the core with other times */
	bool compared;
};

/* A figure of the host in the stall, and in the hour before it; NAN: unknown. */
struct evidence_figure {
	double now, usual;
};

/* A figure with a name, such as the starts of a unit. */
struct evidence_named {
	uint32_t name;
	/* a cgroup: the share of time in which its quota stopped it; a unit: starts within an hour
	 */
	struct evidence_figure figure;
	bool container;
};

#define EVIDENCE_NAMED 3

/* Another report of the kernel around the stall. */
struct evidence_message {
	uint32_t kind;
	unsigned int lines;
};

/* What the host's gauges and events say. */
struct evidence_host {
	/* some gauge was read */
	bool read;
	/* memory cgroups; NAN: unknown */
	double tracked, in_use, dying;
	/* the kernel did not count the dying ones, so they are those that the recorder saw removed
	 */
	bool dying_seen;
	/* growth of the tracked ones in the hour before */
	double grown;
	/* the program that made most of the dying cgroups, and the kind of their paths; 0: unknown
	 */
	uint32_t made_by, made_under;
	/* allocations per second that had to free memory */
	struct evidence_figure stalls;
	/* time in which some tasks waited for a CPU, all for memory, all for disks */
	struct evidence_figure cpu_pressure, memory_pressure, io_pressure;
	/* processes started per second */
	struct evidence_figure forks;
	/* stolen share of the most affected CPU, and of all CPUs */
	double steal_most, steal_usual, steal_all;
	uint32_t steal_cpu;
	/* the time before the end of the stall in which gauges were read, at most an hour */
	uint64_t gauges_ns;
	/* most throttled cgroups, and units and containers with most starts */
	struct evidence_named throttled[EVIDENCE_NAMED], started[EVIDENCE_NAMED];
	size_t throttled_count, started_count;
	struct evidence_message messages[EVIDENCE_NAMED];
	size_t message_count;
};

/* A thread that could run and did not get its CPU. */
struct evidence_victim {
	uint32_t name;
	uint64_t wait_ns, from_ns, to_ns;
	/* the CPU of a ksoftirqd thread */
	bool has_cpu;
	uint32_t cpu;
};

#define EVIDENCE_VICTIMS 3

/* A CPU that was busy according to the gauges, while its samples did not come. */
struct evidence_hidden {
	bool found;
	uint32_t cpu;
	uint64_t from_ns, to_ns;
	double share;
	struct evidence_chance chance;
};

/* Since when the function at the end of the worst core's path takes time, by the segments' sums. */
struct evidence_since {
	uint32_t function;
	/* the segments that were read, and the begin of the first one */
	size_t segments;
	uint64_t first_ns;
	/* its time changed for good, between from_ns and at_ns */
	bool changed;
	uint64_t from_ns, at_ns;
	/* in CPUs; equal without a change */
	double before, after;
};

/* Receiving packets on the CPU of a full core, per second. */
struct evidence_receive {
	bool known;
	uint32_t cpu;
	double now, usual;
};

/* The quiet windows. */
struct evidence_quiet {
	/*
	 * the windows of this length that fit into the stall: the reader chose one of them by what
	 * it saw, so a p-value of rows must be multiplied by this number
	 */
	unsigned int places;
	uint64_t from_ns, to_ns, length_ns;
	unsigned int count;
	/* the time that the search for full CPUs covers, without incidents and the window itself */
	uint64_t searched_ns;
	/* the length of a stretch of that search */
	uint64_t stretch_ns;
};

struct evidence {
	/*
	 * for a pasted line, the note says how the line's time became the window's; otherwise the
	 * note is empty
	 */
	struct window window;
	struct evidence_incident incident;
	/* what the answer is about */
	uint64_t stall_from_ns, stall_to_ns;
	/* the columns of the strips */
	uint64_t strip_from_ns, strip_to_ns;
	struct coverage coverage;
	/* parts of a window that cannot be read; without an incident, something may hide there */
	array_of(struct coverage_gap) unread;
	uint64_t samples;
	uint64_t cpus;
	/* the worst first */
	struct evidence_core cores[EVIDENCE_CORES];
	size_t core_count;
	/* CPUs that were full in the stall, of those recorded */
	uint64_t full_cpus;
	/* busy CPUs in the stall, in CPUs */
	struct evidence_row machine;
	struct evidence_quiet quiet;
	struct evidence_host host;
	/* the longest wait first */
	struct evidence_victim victims[EVIDENCE_VICTIMS];
	size_t victim_count;
	/* the gauges of waits exist, so the absence of a victim means something */
	bool waits_known;
	struct evidence_receive receive;
	struct evidence_hidden hidden;
	struct evidence_since since;
	/* files with another build-id than in quiet time, as "PATH HEX" */
	uint32_t binaries[EVIDENCE_NAMED];
	size_t binary_count;
	struct strings names;
};

static inline const char *evidence_name(const struct evidence *evidence, uint32_t name)
{
	return strings_at(&evidence->names, name);
}

/* Returns 0, -ENOMEM or -E2BIG. */
int evidence_add_name(struct evidence *evidence, const char *name, uint32_t *ret_name);
void evidence_done(struct evidence *evidence);
