/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes tapes from the records of the recorder's rings or of a perf.data file. Sorts the records by
 * time, tracks threads and mappings, and ends a tape at each wall-clock multiple of the segment's
 * length. Each sample is in exactly one tape.
 *
 *   begin -> (add ... flush) ... -> end
 */

#include <stdbool.h>
#include <stdint.h>

#include "recorder/build/tape-builder.h"
#include "recorder/build/losses.h"
#include "recorder/sink/sealer.h"
#include "recorder/pipeline/reorder.h"
#include "recorder/trace/trace.h"
#include "recorder/procs/tracker.h"
#include "tape/spool/spool.h"

/* The source of a record: it determines the decoding, and the meaning of a LOST record. */
struct pipeline_source {
	const struct perf_layout *layout;
	/*
	 * The ring's number, less than PIPELINE_RINGS. Records of one ring and CPU come in order.
	 */
	uint32_t ring;
	/* The ring delivers samples; otherwise only the side-band. */
	bool samples;
	/* The samples of the ring are trace events. */
	bool traced;
	/*
	 * The ring has trace events that the user requested. Its losses do not affect the counts of
	 * cgroups.
	 */
	bool requested;
};
#define PIPELINE_RINGS 4

struct pipeline_fact {
	const char *key;
	const char *value;
};

/* Borrowed until pipeline_end(). */
struct pipeline_options {
	uint64_t segment_ns;
	const struct pipeline_source *sources;
	/* Facts for each tape; ends with a NULL key. */
	const struct pipeline_fact *facts;
	struct sealer *sealer;
	/* Period of the timer that samples; 0: no timer does, or its period varies. */
	uint64_t period_ns;
	/*
	 * The records come from a file of another recorder. All of its samples count, with the
	 * threads that they state. In our own recording, samples from before the begin do not
	 * count. A sample of a thread that has lost its tid belongs to the last thread that ended
	 * on that CPU.
	 */
	bool imported;
	/* Receives the trace events; NULL: ignore them. */
	struct trace *trace;
};

/* The state of one CPU. */
struct pipeline_cpu {
	/* Time of the last added record, by ring. */
	uint64_t added_ns[PIPELINE_RINGS];
	/* Time at which the last thread ended on this CPU. */
	uint64_t ended_ns;
	int32_t ended_pid;
	int32_t ended_tid;
};

/* A record that was prefetched and not applied yet. */
struct pipeline_prefetched {
	/* The result of perf_record_decode(). */
	int decoded;
	struct perf_record record;
	/* The callchain of a sample. */
	struct chain chain;
};

struct pipeline {
	const struct pipeline_options *options;
	uint64_t samples;
	struct losses losses;
	struct tracker tracker;
	/* Callchains that were cut because a cgroup added too many. */
	struct cgroup_counts cut;
	/* The members below belong to pipeline.c. */
	struct reorder reorder;
	struct tape_builder builder;
	struct tape *tape;
	/* The place of a record is its number in the flush, modulo REORDER_AHEAD. */
	struct pipeline_prefetched prefetched[REORDER_AHEAD];
	/* The numbers of records that were prefetched and applied in the present flush. */
	size_t prefetched_count, applied_count;
	array_of(struct tape_anchor) anchors;
	array_of(struct pipeline_cpu) cpus;
	/* The part of the present tape that is spooled. */
	struct spool_mark spooled;
	uint64_t started_ns;
	/* Time of the last record that was applied. */
	uint64_t last_ns;
	/* Latest time of all added records. */
	uint64_t added_ns;
	/* Time of a record that was rejected because it was too far ahead. */
	uint64_t jumped_ns;
	uint64_t sequence;
	/* Time at which ended threads and processes were last forgotten. */
	uint64_t swept_ns;
	/* Time at which the budgets were last renewed, and the refused records until then. */
	uint64_t budgeted_ns;
	uint64_t refused;
};

/* Prepares a pipeline. Returns 0 or -ENOMEM. Call pipeline_done() also on failure. */
int pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options);
void pipeline_done(struct pipeline *pipeline);

/*
 * Adds an anchor. The first one must come before pipeline_begin(). Ignores an anchor that does not
 * lie after the last one. Returns 0 or -ENOMEM.
 */
int pipeline_anchor(struct pipeline *pipeline, const struct tape_anchor *anchor);
/* Returns the last anchor, or NULL. Valid until the next anchor. */
const struct tape_anchor *pipeline_last_anchor(const struct pipeline *pipeline);
/* Returns the wall-clock time of a perf time, by the last anchor. */
uint64_t pipeline_wall(const struct pipeline *pipeline, uint64_t perf_ns);

/*
 * Notes that a CPU went offline, at time_ns at the earliest, or that it is online again since
 * time_ns. Returns 0 or -ENOMEM.
 */
int pipeline_cpu(struct pipeline *pipeline, uint32_t cpu, bool online, uint64_t time_ns);
/*
 * Notes the kernel's count of lost samples of a CPU. Call it when the LOST records up to time_ns
 * are added. Returns 0 or -ENOMEM.
 */
int pipeline_counted(struct pipeline *pipeline, uint32_t cpu, uint64_t count, uint64_t time_ns);

/* Begins the first tape. Returns 0 or a negative errno. */
int pipeline_begin(struct pipeline *pipeline, uint64_t begin_ns);
/*
 * Copies a record, to apply it later. `place` is the result of perf_record_place(). Returns 0 or
 * -ENOMEM.
 */
int pipeline_add(struct pipeline *pipeline, uint32_t source, const struct perf_record_place *place,
		 const uint8_t *record, size_t size);
/*
 * Applies all records before before_ns; no earlier record may be added later. Seals tapes that end
 * before it. Returns 0 or a negative errno.
 */
int pipeline_flush(struct pipeline *pipeline, uint64_t before_ns);
/*
 * Ends the present tape at at_ns; all records before it must be applied. Returns 0 or a negative
 * errno.
 */
int pipeline_rotate(struct pipeline *pipeline, uint64_t at_ns);
/*
 * Spools the rows that came into the present tape since the last block; all of them lie before
 * until_ns. Does nothing while earlier blocks wait; the next block is then larger. Returns 0 or a
 * negative errno.
 */
int pipeline_spool(struct pipeline *pipeline, uint64_t until_ns);
/*
 * Applies all records and seals the last tape. The tape ends at end_ns, or after its last record if
 * that is later. `why` is the reason (TAPE_ENDED); NULL: none. Returns 0 or a negative errno.
 */
int pipeline_end(struct pipeline *pipeline, uint64_t end_ns, const char *why);
