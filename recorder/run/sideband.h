/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Empties the side-band rings. One process can fill such a ring within 16 ms, with mappings under
 * names of 4 KB. The draining thread may work for longer than that, for example when a tape ends.
 * So another thread empties these rings while the draining thread works, or while a ring fills up,
 * and keeps the records in memory. It refuses further records of a process that makes too many,
 * which bounds that memory.
 *
 * The draining thread calls all functions.
 */

#include <pthread.h>

#include "recorder/perf/perf-events.h"
#include "recorder/procs/accounts.h"
#include "recorder/procs/tracker.h"

/* With this number of bytes in memory, the thread leaves further records in their rings. */
#define SIDEBAND_BYTES_MAX (4u << 20)

struct sideband {
	/* The members below belong to the draining thread. */
	struct perf_events *events;
	/* Records that sideband_drain() passes to handle(). */
	struct buffer handed;
	bool started;
	pthread_t thread;

	/* Guards the side-band rings and the members below. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Records that were taken out of the rings, one behind the other. */
	struct buffer taken;
	/* The records that each process may make in a turn. */
	struct accounts accounts;
	/* The ring that is being emptied, and the bytes taken from it so far. */
	uint32_t ring_cpu;
	uint64_t ring_bytes;
	/* Bytes of the fullest ring when the rings were last emptied, and at any time. */
	uint64_t fullest_bytes, peak_bytes;
	/* The limit of bytes above which a ring counts as filling up. Set before the thread starts.
	 */
	uint64_t full_bytes;
	/* The draining thread works. */
	bool working;
	/* The thread sleeps until the draining thread works, because no ring fills up. */
	bool asleep;
	bool ending;
};

void sideband_init(struct sideband *sideband);
void sideband_done(struct sideband *sideband);

/* Sets the events, which are open, and starts the thread. Returns 0 or a negative errno. */
int sideband_start(struct sideband *sideband, struct perf_events *events);
/* Ends the thread; the draining thread then empties the rings alone. */
void sideband_stop(struct sideband *sideband);

/* Tells the thread that the draining thread works. */
void sideband_work(struct sideband *sideband);
/*
 * Tells the thread that the draining thread waits. Returns whether records wait for
 * sideband_drain().
 */
bool sideband_rest(struct sideband *sideband);

/*
 * Passes all records in memory and in the rings to handle(), except refused ones, in the order of
 * each ring. Set `all` if all other rings are empty: then also closes the events of CPUs that went
 * offline. Returns 0 or a negative value, as perf_events_drain() does.
 */
int sideband_drain(struct sideband *sideband, bool all,
		   int (*handle)(void *context, const uint8_t *record, size_t size), void *context);
/*
 * Ends a turn: renews the share of each process, and adds the refused records to the tracker's
 * counts. Sets *ret_peak_bytes to the most bytes that one ring ever had. Returns 0 or -ENOMEM.
 */
int sideband_renew(struct sideband *sideband, struct tracker *tracker, uint64_t *ret_peak_bytes);
/* See perf_events_refresh(). */
int sideband_refresh(struct sideband *sideband, uint64_t now_ns,
		     void (*changed)(void *context, uint32_t cpu, bool online, uint64_t time_ns),
		     void *context, struct error *error);
