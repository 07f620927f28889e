/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The events of all CPUs and their rings: on each CPU one for samples, and one of its own for comm,
 * fork, exit and mmap records (the sideband), so that neither can push the other out. Nor can trace
 * events, of which a storm is worse than any other: those that are always recorded have a ring, and
 * those that somebody asked for another. CPUs come and go.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "recorder/perf/perf-record.h"

struct perf_events;

enum perf_ring {
	PERF_RING_SAMPLES = 0,
	PERF_RING_SIDEBAND = 1,
	PERF_RING_TRACE = 2,
	PERF_RING_ASKED = 3,
};
#define PERF_RINGS 4

/* Trace events, by the numbers that the kernel has for them. Borrowed. */
struct perf_traced {
	const uint16_t *ids;
	size_t count;
};

struct perf_events_options {
	/* one of perf_events_known(); NULL: the best that this machine has */
	const char *event;
	/* samples a second */
	unsigned int frequency;
	/* a sample after so many; 0: by the frequency */
	uint64_t period;
	/* whose samples are taken, "0-3,8"; NULL: all */
	const char *cpus;
	bool no_user_stacks;
	/* of each ring, a power of two of pages; 0: as much as is reasonable */
	size_t ring_bytes;
	/* on all CPUs; their ring is drained when it is half full, too */
	struct perf_traced traced;
	/* on the CPUs that are sampled; there may be many: their ring waits for the next drain, and
	 * what it has no room for is lost */
	struct perf_traced asked;
};

/* The names of the events that can be asked for; ends with NULL. */
const char *const *perf_events_known(void);

/*
 * Opens and starts the events on all online CPUs: `cycles` where 50 ms of work really give samples,
 * else `cpu-clock`. What an old kernel does not know is left out, and trace events that cannot be
 * had, see perf_events_lacks(). -EACCES or -EPERM name the right that is missing, -EINVAL the
 * sysctl that forbids the frequency, -EMFILE and -ENOBUFS (locked memory for the rings) the limit.
 */
int perf_events_open(const struct perf_events_options *options, struct perf_events **ret_events,
		     struct error *error);
struct perf_events *perf_events_close(struct perf_events *events);
DEFINE_CLEANUP(perf_events, struct perf_events *, perf_events_close)

/* No more samples after this; what is in the rings can still be drained. */
void perf_events_stop(struct perf_events *events);

const char *perf_events_name(const struct perf_events *events);
/* From one sample of a CPU to the next, where a timer makes them; 0: something else does. */
uint64_t perf_events_timer_ns(const struct perf_events *events);
/* Once a second: of what no timer makes, the kernel's guess at how many make a sample is put right.
 */
void perf_events_nudge(const struct perf_events *events);
/* How many CPUs are sampled at this moment. */
unsigned int perf_events_cpus(const struct perf_events *events);
/* Of each ring of samples or of who runs, and of all rings. */
size_t perf_events_ring_bytes(const struct perf_events *events, uint64_t *ret_all);
/* How many more descriptors this process may have when all CPUs that are present are recorded, and
 * it does what it has to. */
size_t perf_events_files_left(const struct perf_events *events);
/* -EMFILE: the error says how many are needed for so many CPUs. */
int perf_events_few_files(size_t cpus, struct error *error);
/* What this kernel is too old for, or our rights do not reach, by name: "ksymbol,lost", or "". */
const char *perf_events_lacks(const struct perf_events *events);
const struct perf_layout *perf_events_layout(const struct perf_events *events, enum perf_ring ring);

/*
 * Looks which CPUs are there, after a drain; now_ns is of a clock of the caller's. Those that came
 * get events, also those that went and came between two looks, or while the machine slept; from
 * those that went the rest is handed over by perf_events_drain() of all rings once more. Each
 * change is told, with a moment at which a CPU that went was still there, or now_ns; the first time
 * also those that could be there and never were, with 0. Gives 0, -ENOMEM, or why the events of a
 * CPU that came cannot be opened: the others are had all the same, and it is tried again the next
 * time.
 */
int perf_events_refresh(struct perf_events *events, uint64_t now_ns,
			void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns),
			void *context, struct error *error);

#define PERF_ALL_RINGS ((1u << PERF_RINGS) - 1)

/*
 * Hands over what is in the rings of some kinds, 1 << enum perf_ring each, ring by ring; a record
 * is valid during the call. At most one ring's size of each, so that this ends also when the kernel
 * adds faster than we take. A negative answer of `give` ends it and is handed on.
 */
int perf_events_drain(struct perf_events *events, unsigned int rings,
		      int (*give)(void *context, enum perf_ring ring, const uint8_t *record,
				  size_t size),
		      void *context);

/* How many samples of a CPU the kernel had no room for, since its events were opened, where it
 * counts them; else 0. */
uint64_t perf_events_lost(const struct perf_events *events, uint32_t cpu);
/* How far a CPU's event has counted since it was opened: at period 1, its samples and those that
 * were lost. */
uint64_t perf_events_counted(const struct perf_events *events, uint32_t cpu);

/*
 * Sleeps until something starts, or a ring of samples or of trace events is half full. Which kinds
 * of rings want to be drained, 1 << enum perf_ring each; 0 when the time is over, or a signal came.
 */
unsigned int perf_events_wait(struct perf_events *events, uint64_t timeout_ns);
