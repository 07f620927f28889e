/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * From records to tapes, for whoever has records: the recorder's rings or a perf.data file. Puts
 * them into time order, keeps track of who runs, and cuts what comes out into tapes at wall-clock
 * multiples of the segment's length. Each sample is in exactly one.
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

/* Where a record came from: how it is decoded, and what a LOST record from there means. */
struct pipeline_source {
	const struct perf_layout *layout;
	/* records of one ring and CPU come in order: below ASSEMBLER_RINGS */
	uint32_t ring;
	/* else only comm, mmap and the like */
	bool samples;
	/* its samples are trace events */
	bool traced;
	/* these are not needed to know who made which cgroup */
	bool asked;
};
#define PIPELINE_RINGS 4

struct pipeline_fact {
	const char *key;
	const char *value;
};

/* Borrowed until the end. */
struct pipeline_options {
	uint64_t segment_ns;
	const struct pipeline_source *sources;
	/* for each tape; ends with a NULL key */
	const struct pipeline_fact *facts;
	struct sealer *sealer;
	/* of the timer that samples; 0: no timer does, or not at a fixed period */
	uint64_t period_ns;
	/*
	 * From a file of somebody else's: all its samples count, also from before the begin, and
	 * are of the threads that it names. Of our own recording those from before are not part,
	 * and a sample of a thread that the kernel has no number for any more is of the one that
	 * was seen to end on that CPU last.
	 */
	bool imported;
	/* what becomes of trace events; NULL: there are none */
	struct trace *trace;
};

/* What is kept of each CPU. */
struct pipeline_cpu {
	/* the last record of its ring that was added */
	uint64_t added_ns[PIPELINE_RINGS];
	/* when the last thread ended on it */
	uint64_t ended_ns;
	int32_t ended_pid;
	int32_t ended_tid;
};

/* A record that is to be applied soon. */
struct pipeline_expected {
	/* what perf_record_decode() said */
	int decoded;
	struct perf_record record;
	/* of a sample */
	struct chain chain;
};

struct pipeline {
	const struct pipeline_options *options;
	uint64_t samples;
	struct losses losses;
	struct tracker tracker;
	/* the rest is assembler.c's */
	struct reorder timeline;
	struct tape_builder filler;
	struct tape *tape;
	/* by their turn */
	struct pipeline_expected expected[REORDER_AHEAD];
	/* in this flush */
	size_t expected_count, applied_count;
	array_of(struct tape_anchor) anchors;
	array_of(struct pipeline_cpu) cpus;
	/* of the tape at hand */
	struct spool_mark spooled;
	uint64_t started_ns;
	/* the last record that was applied */
	uint64_t last_ns;
	/* the latest that was added */
	uint64_t added_ns;
	/* one that was not, being too far ahead */
	uint64_t jumped_ns;
	uint64_t sequence;
	/* when those that ended were last forgotten */
	uint64_t swept_ns;
};

int pipeline_init(struct pipeline *assembler, const struct pipeline_options *options);
void pipeline_done(struct pipeline *assembler);

/* The clocks at one moment; moments must come in order, one that does not is ignored. The first is
 * needed before the begin. */
int pipeline_anchor(struct pipeline *assembler, const struct tape_anchor *anchor);
const struct tape_anchor *pipeline_last_anchor(const struct pipeline *assembler);
/* The wall clock at a moment of the perf clock, by the last anchor. */
uint64_t pipeline_wall(const struct pipeline *assembler, uint64_t perf_ns);

/* A CPU went, at that moment at the earliest, or is there again from that moment on: between the
 * two nothing is recorded of it. */
int pipeline_cpu(struct pipeline *assembler, uint32_t cpu, bool online, uint64_t time_ns);
/* All that the kernel counted as lost of a CPU's samples, when what it had told of them was added.
 */
int pipeline_counted(struct pipeline *assembler, uint32_t cpu, uint64_t count, uint64_t time_ns);

/* The first tape begins there. */
int pipeline_begin(struct pipeline *assembler, uint64_t begin_ns);
/* Copies a record in, to be applied in its turn; its place as perf_record_place() says. */
int pipeline_add(struct pipeline *assembler, uint32_t source, const struct perf_record_place *place,
		 const uint8_t *record, size_t size);
/* Applies all records before a moment, before which no other will come; tapes that end before it
 * are sealed. */
int pipeline_flush(struct pipeline *assembler, uint64_t before_ns);
/* Ends the tape at hand at that moment, before which all has been applied. */
int pipeline_rotate(struct pipeline *assembler, uint64_t at_ns);
/*
 * Hands over what came into the tape at hand since the last time, all of which happened before that
 * moment, for the spool. Nothing is done while what was handed over before waits: then the next
 * time it is more.
 */
int pipeline_spool(struct pipeline *assembler, uint64_t until_ns);
/* Applies all that is left and seals the last tape, which ends there, or behind its last record if
 * that is later, and says why (TAPE_ENDED); NULL: it does not. */
int pipeline_end(struct pipeline *assembler, uint64_t end_ns, const char *why);
