/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * From records to tapes, for whoever has records: the recorder's rings or a perf.data file. Puts them into time order, keeps track of
 * who runs, and cuts what comes out into tapes at wall-clock multiples of the segment's length. Each sample is in exactly one.
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
struct assembler_source {
	const struct perf_layout *layout;
	uint32_t ring; /* records of one ring and CPU come in order: below ASSEMBLER_RINGS */
	bool samples; /* else only comm, mmap and the like */
	bool traced; /* its samples are trace events */
	bool asked; /* these are not needed to know who made which cgroup */
};
#define ASSEMBLER_RINGS 4

struct assembler_fact {
	const char *key;
	const char *value;
};

/* Borrowed until the end. */
struct assembler_options {
	uint64_t segment_ns;
	const struct assembler_source *sources;
	const struct assembler_fact *facts; /* for each tape; ends with a NULL key */
	struct sealer *sealer;
	uint64_t
		period_ns; /* of the timer that samples; 0: no timer does, or not at a fixed period */
	/*
	 * From a file of somebody else's: all its samples count, also from before the begin, and are of the threads that it names. Of our
	 * own recording those from before are not part, and a sample of a thread that the kernel has no number for any more is of the one
	 * that was seen to end on that CPU last.
	 */
	bool imported;
	struct trace *trace; /* what becomes of trace events; NULL: there are none */
};

/* What is kept of each CPU. */
struct assembler_cpu {
	uint64_t added_ns[ASSEMBLER_RINGS]; /* the last record of its ring that was added */
	uint64_t ended_ns; /* when the last thread ended on it */
	int32_t ended_pid;
	int32_t ended_tid;
};

/* A record that is to be applied soon. */
struct assembler_expected {
	int decoded; /* what perf_record_decode() said */
	struct perf_record record;
	struct chain chain; /* of a sample */
};

struct assembler {
	const struct assembler_options *options;
	uint64_t samples;
	struct losses losses;
	struct tracker tracker;
	/* the rest is assembler.c's */
	struct timeline timeline;
	struct filler filler;
	struct tape *tape;
	struct assembler_expected expected[TIMELINE_AHEAD]; /* by their turn */
	size_t expected_count, applied_count; /* in this flush */
	array_of(struct tape_anchor) anchors;
	array_of(struct assembler_cpu) cpus;
	struct spool_mark spooled; /* of the tape at hand */
	uint64_t started_ns;
	uint64_t last_ns; /* the last record that was applied */
	uint64_t added_ns; /* the latest that was added */
	uint64_t jumped_ns; /* one that was not, being too far ahead */
	uint64_t sequence;
	uint64_t swept_ns; /* when those that ended were last forgotten */
};

int assembler_init(struct assembler *assembler, const struct assembler_options *options);
void assembler_done(struct assembler *assembler);

/* The clocks at one moment; moments must come in order, one that does not is ignored. The first is needed before the begin. */
int assembler_anchor(struct assembler *assembler, const struct tape_anchor *anchor);
const struct tape_anchor *assembler_last_anchor(const struct assembler *assembler);
/* The wall clock at a moment of the perf clock, by the last anchor. */
uint64_t assembler_wall(const struct assembler *assembler, uint64_t perf_ns);

/* A CPU went, at that moment at the earliest, or is there again from that moment on: between the two nothing is recorded of it. */
int assembler_cpu(struct assembler *assembler, uint32_t cpu, bool online, uint64_t time_ns);
/* All that the kernel counted as lost of a CPU's samples, when what it had told of them was added. */
int assembler_counted(struct assembler *assembler, uint32_t cpu, uint64_t count, uint64_t time_ns);

/* The first tape begins there. */
int assembler_begin(struct assembler *assembler, uint64_t begin_ns);
/* Copies a record in, to be applied in its turn; its place as perf_record_place() says. */
int assembler_add(struct assembler *assembler, uint32_t source,
	const struct perf_record_place *place, const uint8_t *record, size_t size);
/* Applies all records before a moment, before which no other will come; tapes that end before it are sealed. */
int assembler_flush(struct assembler *assembler, uint64_t before_ns);
/* Ends the tape at hand at that moment, before which all has been applied. */
int assembler_rotate(struct assembler *assembler, uint64_t at_ns);
/*
 * Hands over what came into the tape at hand since the last time, all of which happened before that moment, for the spool. Nothing is
 * done while what was handed over before waits: then the next time it is more.
 */
int assembler_spool(struct assembler *assembler, uint64_t until_ns);
/* Applies all that is left and seals the last tape, which ends there, or behind its last record if that is later, and says why (TAPE_ENDED); NULL: it does not. */
int assembler_end(struct assembler *assembler, uint64_t end_ns, const char *why);
