/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Events on one CPU, and the ring that the records of all of them come in. libperf is included by
 * perf-channel.c alone, and its three ways of failing end there.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_channel;

/* Once, before all else. */
void perf_channel_setup(void);

/* Opens the events, which do not count yet, without a ring: all, or none. The kernel's negative
 * errno. */
int perf_channel_open(const struct perf_event_attr *attrs, size_t count, uint32_t cpu,
		      struct perf_channel **ret_channel);
struct perf_channel *perf_channel_close(struct perf_channel *channel);

/* Gives it a ring of so many bytes, a power of two of pages. */
int perf_channel_map(struct perf_channel *channel, size_t bytes);
void perf_channel_enable(struct perf_channel *channel);
void perf_channel_disable(struct perf_channel *channel);

/*
 * Hands over what is in the ring; a record is valid during the call. At most one ring's size, so
 * that this ends also when the kernel adds faster than we take. A negative answer of `give` ends it
 * and is handed on.
 */
int perf_channel_drain(struct perf_channel *channel,
		       int (*give)(void *context, const uint8_t *record, size_t size),
		       void *context);
/* Takes one record out, if there is one: is it a sample? */
bool perf_channel_sampled(struct perf_channel *channel);

/* What the kernel counts of the first of them. */
struct perf_channel_counts {
	uint64_t events;
	/* how long the event could have counted: of one that is dead it stands still */
	uint64_t enabled_ns;
	/* records that it had no room for, where it counts them (PERF_FORMAT_LOST) */
	uint64_t lost;
};
/* 0 or a negative errno. */
int perf_channel_counts(const struct perf_channel *channel, struct perf_channel_counts *ret_counts);
