/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds saturated CPUs. It uses the busy seconds that segments store (tape/busy.h), not the
 * samples.
 *
 * A second counts if the CPU was busy, and in the kernel, for at least the given shares.
 * Consecutive seconds form one spike, also across segments. A recording gap of at least a second
 * ends a spike, because such a gap may hide a second that does not count.
 *
 * The search is for single CPUs. A second is crowded if over half of the CPUs were busy for
 * BUSY_LEAST percent. For a CPU that was mostly in the kernel, over half of the CPUs must have been
 * mostly in the kernel too. In a crowded second the machine as a whole had much work. A spike is
 * left out, and counted, if it has no part of the minimum length without crowded seconds.
 *
 * A CPU may be saturated for hours and be in the kernel for only a few seconds of them. If this
 * stretch has the minimum length, it is reported with the spike.
 *
 * The reported thread and function are those that were on top in most seconds. Their shares are
 * lower bounds. The function may be that of another thread: spikes_find_leaders() finds the
 * thread's own function.
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

/*
 * The longest part of a spike that was almost entirely in the kernel (spikes-run.h). Empty if the
 * whole spike was almost entirely in the kernel.
 */
struct spike_stretch {
	/* on the wall clock */
	uint64_t from_ns;
	/* 0: none */
	uint64_t length_ns;
	double kernel;
	/* a number of `names`; 0: not known */
	uint32_t function;
	/* a number of `threads`; 0: no thread had most of the stretch */
	uint32_t thread;
	/* the thread must have spent most of its time in the function */
	bool is_pair;
};

/*
 * The threads of one name that had most of the CPU's time, and the function that was most often on
 * top of the stacks of these threads (query/sums/spike-leaders.h).
 */
struct spike_leader {
	/* numbers of `names`; 0: not known */
	uint32_t comm, function;
	uint64_t threads;
	/* the busiest of these threads */
	int32_t pid, tid;
	double share, function_share;
	/* length of the part of the spike to which the members above apply; 0: the whole spike */
	uint64_t part_ns;
};

/* A spike. Its shares are relative to `counted_ns`, from 0 to 1. */
struct spike {
	/* on the wall clock */
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t length_ns;
	/*
	 * the time that the shares describe: the whole spike, or with `clip` its part in the window
	 */
	uint64_t counted_ns;
	uint32_t cpu;
	double busy;
	/* without interrupts */
	double kernel;
	double irq;
	/*
	 * the part of `busy` without samples: known only from the host's gauges, or from a timer
	 * that was late
	 */
	double unseen;
	/* how busy the CPU was according to the host's gauges; negative: not known */
	double gauges;
	/* the mean share of all CPUs that was busy during the spike */
	double machine;
	double crowded;
	/* a number of `threads`; 0: not known */
	uint32_t thread;
	double thread_share;
	/* a number of `names`; 0: not known */
	uint32_t function;
	double function_share;
	struct spike_stretch stretch;
	/* zeroed until spikes_find_leaders() sets it */
	struct spike_leader leader;
	/* a number of `names`: the likely reason; 0: not asked for (query/explain/spike-reason.h)
	 */
	uint32_t reason;
};

struct spikes_options {
	/*
	 * Only the CPUs of its filter apply. An empty window means the whole store. A spike that
	 * reaches into the window is reported as a whole, up to an hour before and after the
	 * window.
	 */
	struct question question;
	uint64_t min_ns;
	/* minimum shares in percent of a second; `kernel` includes interrupts; busy >= BUSY_LEAST
	 */
	unsigned int busy, kernel;
	/* report crowded spikes too */
	bool all;
	/* shares, names and stretches describe only the seconds in the window */
	bool clip;
	/* report all losses, although that may open many segments */
	bool losses;
	/* Reports how many of the segments that must be read as a whole are done. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

struct spikes {
	struct window window;
	struct coverage coverage;
	/* the coverage contains all losses; if false, only the lost samples */
	bool losses;
	/* sorted by their begin */
	array_of(struct spike) list;
	struct strings names;
	/* entry 0 is not used */
	array_of(struct spike_thread) threads;
	/* crowded spikes that were left out */
	uint64_t crowded;
	/* spikes that spikes_limit() removed */
	uint64_t limited;
	/* the segments that overlap the window */
	struct store_segments found;
	uint64_t segments;
	/* sealed segments that had to be read as a whole */
	uint64_t read;
	/* segments with too few samples, or without the time that a sample stands for */
	uint64_t unknown;
};

/* Returns the name of the thread that had most of a stretch, or NULL. Valid until spikes_done(). */
static inline const char *spike_stretch_comm(const struct spikes *spikes,
					     const struct spike_stretch *stretch)
{
	return stretch->thread
		       ? strings_at(&spikes->names, spikes->threads.items[stretch->thread].comm)
		       : NULL;
}

/*
 * Finds the spikes. The caller frees *ret_spikes with spikes_done(), also after a failure. Returns
 * 0 or a negative errno.
 */
int spikes_find(struct store_reader *reader, const struct spikes_options *options,
		struct spikes *ret_spikes, struct error *error);
void spikes_done(struct spikes *spikes);

/*
 * Keeps the `limit` most important spikes, in time order. Spikes with the longest time in the
 * kernel come first, because the kernel lets nothing else run. Among equals, longer spikes come
 * first.
 */
void spikes_limit(struct spikes *spikes, size_t limit);

/*
 * Adds the clock error of the listed spikes to the coverage. To do this, it opens the segments in
 * which the spikes begin, or some of these segments if there are many. Call it after
 * spikes_limit(). Returns 0 or a negative errno.
 */
int spikes_add_clock_error(struct store_reader *reader, struct spikes *spikes, struct error *error);

/*
 * Adds the selected CPUs that were not recorded to the coverage. To do this, it opens the segments,
 * or some of them if there are many. If none of these shows a selected CPU, it opens further
 * segments until one does. Returns 0 or a negative errno.
 */
int spikes_add_unrecorded_cpus(struct store_reader *reader, const struct cpu_set_filter *asked,
			       struct spikes *spikes, struct error *error);

/* Sorts the spikes by their rank in spikes_limit() instead of by time. */
void spikes_sort_by_weight(struct spikes *spikes);

/* Appends a spike as a JSON object. */
void spikes_put_spike(const struct spikes *spikes, const struct spike *spike, struct buffer *json);
/* Appends a line of JSON per spike, and a last line with the counts. */
void spikes_put_json(const struct spikes *spikes, struct buffer *json);
