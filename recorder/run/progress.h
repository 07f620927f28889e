/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a recorder tells of itself, once a second: to who started it, and as JSON in the store
 * (store_writer_tell()) to everybody who may look into that. Nothing in it is older than the
 * second, but for what says otherwise.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/write/store-writer.h"

#define PROGRESS_SOURCES_MAX 24

/* What one source of the host's figures has cost so far (gauges/gauges.h). */
struct progress_source {
	char name[32];
	uint64_t reads;
	uint64_t failures;
	/* of the kernel too */
	uint64_t cpu_ns;
	/* of the wall clock */
	uint64_t longest_ns;
};

#define PROGRESS_DYING_MAX 8

/* Cgroups of one kind of path that were removed and are not gone (recorder/trace/dead-cgroups.h).
 */
struct progress_dying {
	char prefix[192];
	uint64_t count;
	/* when the oldest was removed, of the wall clock; 0: not known */
	uint64_t since_ns;
	/* for how long it had been then */
	uint64_t oldest_ns;
	/* who made and who removed most of them, and a process of that name that did; "": not seen
	 */
	char made_by[16];
	uint64_t made_by_pid;
	char removed_by[16];
	uint64_t removed_by_pid;
};

struct recorder_progress {
	/* what it does */
	char version[32];
	char event[32];
	uint64_t frequency;
	uint64_t cpus;
	uint64_t segment_ns;
	/* names of what this kernel, or our rights, do without: "ksymbol,lost" */
	char lacks[512];
	/* how far it has come */
	uint64_t elapsed_ns;
	/* wall clock */
	uint64_t begin_ns;
	/* what was taken out of the rings reaches until then */
	uint64_t end_ns;
	/* 1: it was told to stop, and seals */
	uint64_t stopping;
	/* what it took, and what not */
	uint64_t samples;
	/* samples that the kernel had no room for */
	uint64_t lost;
	uint64_t lost_sideband;
	/* trace events that were too many */
	uint64_t lost_events;
	/* samples of busy CPUs that were never taken */
	uint64_t skipped;
	/* times that the kernel throttled a CPU */
	uint64_t throttled;
	/* samples a second that it allows now; 0: as many as were asked for */
	uint64_t limit;
	/* times that a CPU went offline; and how many of them are now */
	uint64_t offline;
	uint64_t offline_now;
	/* records that could not be decoded */
	uint64_t damaged;
	/* samples whose callchains were cut */
	uint64_t truncated;
	/* samples that could not be stored */
	uint64_t unsaved;
	/* where it is */
	/* sealed by this recorder */
	uint64_t segments;
	/* of these, to keep the limits; and their bytes */
	uint64_t removed;
	uint64_t removed_bytes;
	/* and of these: in a store that was removed or replaced since; and their bytes */
	uint64_t away;
	uint64_t away_bytes;
	/* of them */
	uint64_t bytes;
	/* segments that are not sealed yet */
	uint64_t waiting;
	/* how far what is on the disk is behind what was taken */
	uint64_t spool_lag_ns;
	/* 1: the store cannot be written, `error` says why: all waits in memory */
	uint64_t store_blocked;
	struct error error;
	/* the last trouble that cost no samples */
	struct error warning;
	/* the last one with the kernel's log */
	struct error log_trouble;
	/* what it noticed */
	/* of cgroups that were removed and are not gone, or "" */
	char dying[480];
	/* as of when, of the wall clock; 0: it has not counted yet */
	uint64_t dying_ns;
	/* what was removed before is not known */
	uint64_t dying_since_ns;
	/* all of them */
	uint64_t dying_count;
	/* under so many kinds of paths */
	uint64_t dying_prefixes;
	/* so many more or fewer, as trace events were lost */
	uint64_t dying_unsure;
	/* trace events, for which it began anew then */
	uint64_t dying_lost;
	/* the most first */
	struct progress_dying cgroups[PROGRESS_DYING_MAX];
	size_t cgroup_count;
	/* what it costs */
	/* of this process, all threads */
	uint64_t cpu_ns;
	/* the last half to one minute */
	uint64_t recent_ns;
	/* of this process, within that */
	uint64_t recent_cpu_ns;
	/* within that */
	uint64_t recent_samples;
	/* the last three to six seconds, at the begin less */
	uint64_t now_ns;
	/* within that */
	uint64_t now_samples;
	/* of this process, without files */
	uint64_t memory_bytes;
	/* with files */
	uint64_t resident_bytes;
	/* of the recent samples, on the average, in the ring */
	uint64_t sample_bytes;
	/* estimated: of the kernel, for a sample as the recent ones; 0: not known */
	uint64_t sampling_ns;
	/* how it bears up */
	/* of each ring; two a CPU */
	uint64_t ring_bytes;
	/* of all rings, also those of trace events; memory of the kernel's */
	uint64_t rings_bytes;
	/* the most that was found in a ring of samples */
	uint64_t ring_peak_bytes;
	/* and in one of names and mappings */
	uint64_t sideband_peak_bytes;
	/* how long a busy CPU's ring takes all samples when nobody drains it, by the largest that
	 * came */
	uint64_t rides_out_ns;
	/* and if each stack is as deep as the kernel takes it */
	uint64_t rides_out_least_ns;
	/* how much later than it should the last drain began */
	uint64_t late_ns;
	uint64_t late_peak_ns;
	/* that a signal kept it from running, and that it got no CPU; since it runs */
	uint64_t stalled_signal_ns;
	uint64_t stalled_cpu_ns;
	/* what the last drain took */
	uint64_t drain_ns;
	uint64_t drain_peak_ns;
	/* the host's figures */
	struct progress_source sources[PROGRESS_SOURCES_MAX];
	size_t source_count;

	/* not told in the store */
	/* it cannot be waited for: see recorder_run() */
	bool hung;
	/* what a recorder before had left, once it is sealed */
	struct store_recovered recovered;
};

/* As one object of JSON, and back. Reading skips what it does not know, and what is not there is 0
 * or "". */
void progress_write(const struct recorder_progress *progress, struct buffer *json);
/* 0, or -EBADMSG when it is no object of JSON. */
int progress_read(const char *json, size_t size, struct recorder_progress *ret_progress);
