/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The events of all CPUs and their rings. Each CPU has one ring for samples and one for the
 * side-band (comm, fork, exit, mmap), so that neither can displace the other. Trace events can come
 * in storms, so they have two separate rings. One is for the events that the recorder always
 * records, and one for those that the user requests. CPUs may come and go.
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
	PERF_RING_REQUESTED = 3,
	/* Copies of user stacks. A full ring loses copies and nothing else. */
	PERF_RING_DUMPS = 4,
};
#define PERF_RINGS 5

/* The kernel's ids of trace events. Borrowed. */
struct perf_traced {
	const uint16_t *ids;
	size_t count;
};

struct perf_events_options {
	/* One of perf_events_known(); NULL: the best event of this machine. */
	const char *event;
	/* Samples per second. */
	unsigned int frequency;
	/* Take a sample after this number of events; 0: use the frequency. */
	uint64_t period;
	/* The CPUs to sample, such as "0-3,8"; NULL: all. */
	const char *cpus;
	bool no_user_stacks;
	/* Bytes of each sample's user stack to copy, a multiple of 8; 0: none. */
	size_t stack_bytes;
	/* Size of each ring, a power of two of pages; 0: choose a size. */
	size_t ring_bytes;
	/*
	 * Trace events on all CPUs. perf_events_wait() also returns when their ring is half full.
	 */
	struct perf_traced traced;
	/*
	 * Trace events on the sampled CPUs. They may be many, so their ring does not wake the
	 * recorder before the next drain. The kernel drops events that do not fit.
	 */
	struct perf_traced requested;
};

/* Returns the names of the events that can be requested, with NULL at the end. */
const char *const *perf_events_known(void);

/*
 * Opens and starts the events on all online CPUs. The default is `cycles` if 50 ms of work really
 * deliver samples, otherwise `cpu-clock`. Leaves out features that the kernel does not know and
 * trace events that cannot be opened; perf_events_lacks() names them.
 *
 * Returns 0 or a negative errno. -EACCES or -EPERM: the error names the missing right. -EINVAL: the
 * error names the sysctl that forbids the frequency. -EMFILE (files) and -ENOBUFS (locked memory):
 * the error names the limit.
 */
int perf_events_open(const struct perf_events_options *options, struct perf_events **ret_events,
		     struct error *error);
struct perf_events *perf_events_close(struct perf_events *events);
DEFINE_CLEANUP(perf_events, struct perf_events *, perf_events_close)

/* Stops sampling. The records in the rings can still be drained. */
void perf_events_stop(struct perf_events *events);

/* Returns the name of the event that takes the samples. */
const char *perf_events_name(const struct perf_events *events);
/*
 * Returns the time from one sample of a CPU to the next if a timer takes the samples, otherwise 0.
 */
uint64_t perf_events_timer_ns(const struct perf_events *events);
/*
 * Corrects the kernel's guess of the period for an event that is not a timer. Call it once per
 * second.
 */
void perf_events_nudge(const struct perf_events *events);
/* Returns the number of CPUs that are sampled now. */
unsigned int perf_events_cpus(const struct perf_events *events);
/*
 * Returns the size of one ring of samples or side-band. Sets *ret_all to the size of all rings
 * together.
 */
size_t perf_events_ring_bytes(const struct perf_events *events, uint64_t *ret_all);
/*
 * Returns how many more files this process may keep open, after the files for all present CPUs and
 * for its own work.
 */
size_t perf_events_files_left(const struct perf_events *events);
/* Sets an error that states how many files `cpus` CPUs need. Returns -EMFILE. */
int perf_events_file_limit_error(size_t cpus, struct error *error);
/*
 * Returns the names of the features and rights that are absent, such as "ksymbol,lost", or "".
 * Valid until the events are closed.
 */
const char *perf_events_lacks(const struct perf_events *events);
/* Returns the layout of a ring's records. Valid until the events are closed. */
const struct perf_layout *perf_events_layout(const struct perf_events *events, enum perf_ring ring);

/*
 * Follows CPUs that come and go. Call it after a drain. now_ns is the time of any clock that the
 * caller chooses.
 *
 * Opens events on CPUs that came online. Includes CPUs that went offline and came back between two
 * calls, or while the machine was suspended. The events of a CPU that went offline stay open until
 * the next perf_events_drain() of all rings.
 *
 * Calls changed() for each change. For a CPU that went offline, time_ns is a moment at which it was
 * still online; for a CPU that came online, now_ns. The first call also reports CPUs that are
 * present but were never online, with time_ns 0.
 *
 * Returns 0, -ENOMEM, or the error of a CPU whose events cannot be opened. The events of the other
 * CPUs are open all the same, and the next call tries again.
 */
int perf_events_refresh(struct perf_events *events, uint64_t now_ns,
			void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns),
			void *context, struct error *error);

#define PERF_ALL_RINGS ((1u << PERF_RINGS) - 1)

/*
 * Passes the records of the rings to handle() and removes them, ring by ring. `rings` is a set of 1
 * << enum perf_ring; copies of stacks stay where they are (recorder/perf/perf-dumps.h). A record is
 * valid during the call. Handles at most the size of each ring, so that the function ends even if
 * the kernel adds records faster. Stops when handle() returns a negative value, and returns that
 * value; otherwise returns 0 or a negative errno.
 */
int perf_events_drain(struct perf_events *events, unsigned int rings,
		      int (*handle)(void *context, enum perf_ring ring, const uint8_t *record,
				    size_t size),
		      void *context);

/*
 * Closes the events of CPUs that went offline. The caller must have handled their last records.
 * perf_events_drain() of all rings also closes these events. Returns 0 or a negative errno.
 */
int perf_events_close_offline(struct perf_events *events);

/*
 * Returns how many samples of a CPU the kernel dropped since its events were opened; 0 if the
 * kernel does not count them.
 */
uint64_t perf_events_lost(const struct perf_events *events, uint32_t cpu);
/*
 * Returns the count of a CPU's event since it was opened. At period 1, that is the number of its
 * samples and of its lost samples.
 */
uint64_t perf_events_counted(const struct perf_events *events, uint32_t cpu);

/*
 * Sleeps until a process starts, or until a ring of samples, of stacks or of trace events is half
 * full.
 * Returns the kinds of rings to drain as a set of 1 << enum perf_ring; 0 after the timeout or a
 * signal.
 */
unsigned int perf_events_wait(struct perf_events *events, uint64_t timeout_ns);
