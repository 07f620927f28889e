/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The recorder's status. Once per second, the recorder passes it to the caller of recorder_run().
 * The status thread writes it into the store as JSON (store_writer_set_status()), for every user
 * who may read the store. Each value is at most a second old, unless its comment says otherwise.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/write/store-writer.h"

#define PROGRESS_SOURCES_MAX 24

/* The cost so far of one source of the host's gauges (gauges/gauges.h). */
struct progress_source {
	char name[32];
	uint64_t reads;
	uint64_t failures;
	/* CPU time in user mode and in the kernel */
	uint64_t cpu_ns;
	/* wall-clock time of the longest read */
	uint64_t longest_ns;
};

#define PROGRESS_DYING_MAX 8

/* The dying cgroups of one kind of path (recorder/trace/dead-cgroups.h). */
struct progress_dying {
	char prefix[192];
	uint64_t count;
	/* when the oldest cgroup was removed, by the wall clock; 0: not known */
	uint64_t since_ns;
	/* age of that removal, when the status was made */
	uint64_t oldest_ns;
	/*
	 * the programs that made and removed most of them, with the pid of one process each; "":
	 * not seen
	 */
	char made_by[16];
	uint64_t made_by_pid;
	char removed_by[16];
	uint64_t removed_by_pid;
};

struct recorder_progress {
	/* settings of the recording */
	char version[32];
	char event[32];
	uint64_t frequency;
	uint64_t cpus;
	uint64_t segment_ns;
	/* kernel features and rights that are absent: "ksymbol,lost" */
	char lacks[512];
	/* times of the recording */
	uint64_t elapsed_ns;
	/* wall clock */
	uint64_t begin_ns;
	/* the recorder took all records before this time out of the rings; wall clock */
	uint64_t end_ns;
	/* 1: the recorder received a request to stop, and seals the rest */
	uint64_t stopping;
	/* samples and losses */
	uint64_t samples;
	/* samples that did not fit into a ring */
	uint64_t lost;
	uint64_t lost_sideband;
	/* side-band records of processes that made too many, and the cgroup with most of them */
	uint64_t refused;
	char refused_most[256];
	/* callchains that were cut because a cgroup added too many, and that cgroup */
	uint64_t cut;
	char cut_most[256];
	/* trace events over the limit */
	uint64_t lost_events;
	/* samples of busy CPUs that the kernel never delivered */
	uint64_t skipped;
	/* how often the kernel throttled a CPU */
	uint64_t throttled;
	/* samples per second that the kernel allows now; 0: as many as requested */
	uint64_t limit;
	/* how often a CPU went offline, and how many CPUs are offline now */
	uint64_t offline;
	uint64_t offline_now;
	/* records that could not be decoded */
	uint64_t damaged;
	/* samples whose callchains were truncated */
	uint64_t truncated;
	/* samples that could not be stored */
	uint64_t unsaved;
	/* segments that this recorder sealed */
	uint64_t segments;
	/* the segments among `segments` that were removed to keep the limits */
	uint64_t removed;
	uint64_t removed_bytes;
	/*
	 * segments that the limits removed since the start, also those of earlier recorders; only
	 * in memory
	 */
	struct store_retained retained;
	/* the segments among `segments` whose store was later removed or replaced */
	uint64_t away;
	uint64_t away_bytes;
	/* bytes of the sealed segments */
	uint64_t bytes;
	/* segments that are not sealed yet */
	uint64_t waiting;
	/*
	 * the file that the namer searches, as "FILE (module 3 of 40)", and for how long; "": none
	 */
	char naming[320];
	uint64_t naming_ns;
	/* how far the spool on disk is behind the samples that the recorder took */
	uint64_t spool_lag_ns;
	/*
	 * 1: the sealer cannot write to the store, for the reason in `error`; everything waits in
	 * memory
	 */
	uint64_t store_blocked;
	struct error error;
	/* the last trouble that did not cost samples */
	struct error warning;
	/* the last trouble with the kernel's log */
	struct error log_trouble;
	/* a sentence about dying cgroups, or "" */
	char dying[480];
	/* when the dying cgroups were counted, by the wall clock; 0: not yet */
	uint64_t dying_ns;
	/* the counts cover only cgroups that were removed after this time; wall clock */
	uint64_t dying_since_ns;
	/* the number of all dying cgroups */
	uint64_t dying_count;
	/* the number of kinds of paths */
	uint64_t dying_prefixes;
	/* number of lost trace events by which `dying_count` may be wrong */
	uint64_t dying_unsure;
	/* lost trace events that made the counting start over at `dying_since_ns` */
	uint64_t dying_lost;
	/* the highest count first */
	struct progress_dying cgroups[PROGRESS_DYING_MAX];
	size_t cgroup_count;
	/* files of other programs that the opener keeps open until they are named */
	uint64_t files_held;
	/* CPU time of this process, all threads */
	uint64_t cpu_ns;
	/* length of the recent past: half a minute to one minute */
	uint64_t recent_ns;
	/* CPU time of this process in the recent past */
	uint64_t recent_cpu_ns;
	/* samples in the recent past */
	uint64_t recent_samples;
	/* length of "now": three to six seconds, less at the start */
	uint64_t now_ns;
	/* samples in `now_ns` */
	uint64_t now_samples;
	/* anonymous memory of this process */
	uint64_t memory_bytes;
	/* resident memory of this process, with mapped files */
	uint64_t resident_bytes;
	/* average size of the recent samples in the ring */
	uint64_t sample_bytes;
	/* estimated CPU time of the kernel for an average recent sample; 0: not known */
	uint64_t sampling_ns;
	/* size of each ring; a CPU has two */
	uint64_t ring_bytes;
	/* all rings, also those of trace events; memory of the kernel */
	uint64_t rings_bytes;
	/* the most bytes that a ring of samples held */
	uint64_t ring_peak_bytes;
	/* the most bytes that a ring of names and mappings held */
	uint64_t sideband_peak_bytes;
	/*
	 * how long a busy CPU's ring can hold all samples without a drain, with the largest samples
	 * seen
	 */
	uint64_t rides_out_ns;
	/* the same time, for stacks of the greatest depth that the kernel records */
	uint64_t rides_out_least_ns;
	/* how late the last drain began */
	uint64_t late_ns;
	uint64_t late_peak_ns;
	/* since the start: how long a signal stopped the recorder, and how long it got no CPU */
	uint64_t stalled_signal_ns;
	uint64_t stalled_cpu_ns;
	/* how long the last drain took */
	uint64_t drain_ns;
	uint64_t drain_peak_ns;
	/*
	 * bytes that the kernel copies of each user stack, and size of each ring for the copies; 0:
	 * none
	 */
	uint64_t stack_bytes;
	uint64_t stack_ring_bytes;
	/* samples with a whole user stack, with a cut one, and with one by frame pointers only */
	uint64_t stacks_whole;
	uint64_t stacks_cut;
	uint64_t stacks_frame_pointers;
	/*
	 * why walks ended early, as "copy 17, no rule 3"; the kernel's callers completed some of
	 * these
	 */
	char stacks_cut_by[192];
	/* walks that needed more than the copy */
	uint64_t stacks_small;
	/* copies that did not fit into a ring */
	uint64_t stacks_lost;
	/* how often the two timers of a CPU were brought together again */
	uint64_t stacks_aligned;
	/* stacks that the kernel's callers completed */
	uint64_t stacks_spliced;
	/* callers outside all known mappings, when some mappings may have been unknown */
	uint64_t callers_unmapped;
	/* unwind tables of files, and their size */
	uint64_t unwind_tables;
	uint64_t unwind_tables_bytes;
	/* the longest time from the first use of a file to its table; requests without a table */
	uint64_t unwind_tables_longest_ns;
	uint64_t unwind_tables_failed;
	/* the sources of the host's gauges */
	struct progress_source sources[PROGRESS_SOURCES_MAX];
	size_t source_count;

	/* not in the store: a thread hangs, see recorder_run() */
	bool hung;
	/* not in the store: the rest of an earlier recording, once it is sealed */
	struct store_recovered recovered;
};

/* A file whose names take longer than this is reported. */
#define PROGRESS_NAMING_NS (5 * NSEC_PER_SEC)
/* Returns whether the names of one file take longer than three segments, at least a minute. */
bool progress_naming_hangs(const struct recorder_progress *progress);

/*
 * Write the status as one JSON object, and read it back. Reading ignores unknown keys; absent ones
 * are 0 or "".
 */
void progress_write(const struct recorder_progress *progress, struct buffer *json);
/* Returns 0; -EBADMSG when the text is not a JSON object; -ENOMEM. */
int progress_read(const char *json, size_t size, struct recorder_progress *ret_progress);
