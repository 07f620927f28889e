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
#include "recorder/dumps/dumps.h"
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
	 * The ring has trace events that the user requested. Losses of this ring do not affect the
	 * counts of dying cgroups.
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
	/*
	 * Period of the timer that takes the samples; 0: the event is not a timer, or its period
	 * varies.
	 */
	uint64_t period_ns;
	/*
	 * The records come from a file of another recorder. All samples of the file count, with the
	 * threads that they state. In our own recording, samples from before its begin do not
	 * count. There, a sample of a thread that has lost its tid belongs to the last thread that
	 * ended on that CPU.
	 */
	bool imported;
	/* Receives the trace events; NULL: ignore them. */
	struct trace *trace;
	/* Walks the user stacks; NULL: samples have the kernel's callers. */
	struct dumps *dumps;
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
	/* A sample that has callers, unlike a trace event. */
	bool has_callers;
	struct perf_record record;
	/* The callchain of a sample. */
	struct chain chain;
};

struct pipeline {
	const struct pipeline_options *options;
	uint64_t samples;
	struct losses losses;
	struct tracker tracker;
	/* The members below belong to pipeline.c. */
	struct reorder reorder;
	struct tape_builder builder;
	struct tape *tape;
	/* A record's index is its number in the flush, modulo REORDER_AHEAD. */
	struct pipeline_prefetched prefetched[REORDER_AHEAD];
	/*
	 * The numbers of records that were prefetched, whose stacks were walked, and that were
	 * applied in the present flush.
	 */
	size_t prefetched_count, walked_count, applied_count;
	array_of(struct tape_anchor) anchors;
	array_of(struct pipeline_cpu) cpus;
	/* The part of the present tape that is already in the spool. */
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
 * Notes that a CPU went offline at or after time_ns, or that the CPU is online again since time_ns.
 * Returns 0 or -ENOMEM.
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
 * Applies all records before before_ns; the caller must not add earlier records later. Gives tapes
 * that end by then to the sealer. Returns 0 or a negative errno.
 */
int pipeline_flush(struct pipeline *pipeline, uint64_t before_ns);
/*
 * Ends the present tape at at_ns, or after its last record if that record is later. All records
 * before at_ns must be applied. Returns 0 or a negative errno.
 */
int pipeline_rotate(struct pipeline *pipeline, uint64_t at_ns);
/*
 * Spools the rows that were added to the present tape since the last block; all of them lie before
 * until_ns. While earlier blocks wait, does not spool; the next block is then larger. Returns 0 or
 * a negative errno.
 */
int pipeline_spool(struct pipeline *pipeline, uint64_t until_ns);
/*
 * Applies all records and seals the last tape. The tape ends at end_ns, or after its last record if
 * that record is later. `why` is the reason (TAPE_ENDED); NULL: none. Returns 0 or a negative
 * errno.
 */
int pipeline_end(struct pipeline *pipeline, uint64_t end_ns, const char *why);
