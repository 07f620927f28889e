/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Events on one CPU, and the ring that receives their records. Only perf-channel.c includes
 * libperf; it converts libperf's three ways to report errors into one.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_channel;

/* Prepares libperf. Call it once, before all other functions. */
void perf_channel_setup(void);

/*
 * Opens all events, disabled and without a ring. If one fails, opens none. Returns 0 or the
 * kernel's negative errno.
 */
int perf_channel_open(const struct perf_event_attr *attrs, size_t count, uint32_t cpu,
		      struct perf_channel **ret_channel);
struct perf_channel *perf_channel_close(struct perf_channel *channel);

/* Maps a ring for the events. `bytes` is a power of two of pages. Returns 0 or a negative errno. */
int perf_channel_map(struct perf_channel *channel, size_t bytes);
/* Starts and stops the counting of all events of the channel. */
void perf_channel_enable(struct perf_channel *channel);
void perf_channel_disable(struct perf_channel *channel);

/*
 * Passes the records of the ring to handle() and removes them. A record is valid during the call.
 * Handles at most the size of one ring, so that the function ends even if the kernel adds records
 * faster. Stops when handle() returns a negative value, and returns that value; otherwise returns
 * 0.
 */
int perf_channel_drain(struct perf_channel *channel,
		       int (*handle)(void *context, const uint8_t *record, size_t size),
		       void *context);
/*
 * Removes one record. Returns true if that record was a sample; false for another record or an
 * empty ring.
 */
bool perf_channel_take_sample(struct perf_channel *channel);

/* The kernel's counts of the channel's first event. */
struct perf_channel_counts {
	uint64_t events;
	/*
	 * Time for which the event was enabled. This time does not advance when the event is dead.
	 */
	uint64_t enabled_ns;
	/*
	 * Records that did not fit into the ring (PERF_FORMAT_LOST); 0 if the kernel does not count
	 * them.
	 */
	uint64_t lost;
	/* The kernel's number of the event (PERF_FORMAT_ID); 0 if the event does not have it. */
	uint64_t id;
};
/* Reads the counts of the channel's first event. Returns 0 or a negative errno. */
int perf_channel_counts(const struct perf_channel *channel, struct perf_channel_counts *ret_counts);
