/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Saturated CPUs, from what segments say of their busy CPUs (tape/busy.h), without their samples.
 *
 * A second counts in which a CPU was busy, and in the kernel, for so much of it. Seconds one behind
 * the other are one spike, over segments too. What was not recorded ends one, unless it is less
 * than a second: no other second has room in that.
 *
 * It is single CPUs that one looks for. A second is crowded in which more than half of the CPUs
 * were busy for BUSY_LEAST per cent, or, for a CPU that was mostly in the kernel, in which more
 * than half of them were so too: the machine had much to do. A spike is left out, and counted,
 * where no part of the least length is without such seconds.
 *
 * A saturated CPU may be at work for hours, and a few seconds of that be the kernel's: they are a
 * stretch of the spike, if they last the least length, and are told with it.
 *
 * Threads and functions are those that are on top in most of the seconds; their shares are what
 * they have of these at least.
 */

#include "query/coverage/coverage.h"
#include "query/read/loader.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

struct spike_thread {
	int32_t pid;
	int32_t tid;
	uint32_t comm;
};

/* The longest part of a spike whose seconds were in the kernel nearly all the time (spikes-run.h),
 * where all of it was not. */
struct spike_stretch {
	/* of the wall clock */
	uint64_t from_ns;
	/* 0: none */
	uint64_t length_ns;
	double kernel;
	/* as below */
	uint32_t function;
};

/* Shares are of its length, from 0 to 1. */
struct spike {
	/* of the wall clock */
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t length_ns;
	uint32_t cpu;
	double busy;
	/* without interrupts */
	double kernel;
	double irq;
	/* of busy: by the host's figures, or the timer was held up */
	double unseen;
	/* how busy by the host's figures; < 0: not known */
	double gauges;
	/* of all CPUs, how busy they were in that time */
	double machine;
	double crowded;
	/* a number of `threads`; 0: not known */
	uint32_t thread;
	double thread_share;
	/* a number of `names`; 0: not known */
	uint32_t function;
	double function_share;
	struct spike_stretch stretch;
};

struct spikes_options {
	/* only CPUs are asked of the filter; an empty window is all of the store; what reaches into
	 * it is told as a whole, up to an hour around it */
	struct question question;
	uint64_t min_ns;
	unsigned int busy,
		/* per cent of a second; the kernel's with interrupts. busy is BUSY_LEAST or more */
		kernel;
	/* also what is crowded */
	bool all;
	/* tell all losses, however many segments have to be opened for that */
	bool losses;
	/* How many segments were looked at of those that have to be read whole. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

struct spikes {
	struct window window;
	struct coverage coverage;
	/* all of them are in it; else of the segments only how many samples they lost */
	bool losses;
	/* by their begin */
	array_of(struct spike) list;
	struct strings names;
	/* number 0 is nobody */
	array_of(struct spike_thread) threads;
	/* that are left out */
	uint64_t crowded;
	/* that spikes_limit() took out */
	uint64_t limited;
	/* that there are in the window */
	struct store_segments found;
	uint64_t segments;
	/* of these: sealed ones that had to be read whole */
	uint64_t read;
	/* that do not tell how much time a sample stands for, or have too few */
	uint64_t unknown;
};

/* What there is is the caller's, also on failure. 0 or a negative errno. */
int spikes_find(struct store_reader *reader, const struct spikes_options *options,
		struct spikes *ret_spikes, struct error *error);
void spikes_done(struct spikes *spikes);

/*
 * Leaves the `limit` that matter most, in the order of time: what was mostly in the kernel, or has
 * a stretch that was, before what was not, as that lets nobody else run; then by the length of
 * that.
 */
void spikes_limit(struct spikes *spikes, size_t limit);

/*
 * How far off the times of the list may be, for the coverage: what the clocks of the segments say
 * in which they begin, of some of them where these are many. They are opened for that, so after the
 * limit. 0 or a negative errno.
 */
int spikes_tell_clock(struct store_reader *reader, struct spikes *spikes, struct error *error);

/*
 * Which of the CPUs that were asked for were not recorded, for the coverage, by what segments say
 * of the host: some of them where these are many, and all where these do not know one of those
 * CPUs. They are opened for that. 0 or a negative errno.
 */
int spikes_tell_cpus(struct store_reader *reader, const struct cpu_set_filter *asked,
		     struct spikes *spikes, struct error *error);

/* A line each, then one of how many there are and are left out. */
void spikes_put_json(const struct spikes *spikes, struct buffer *json);
