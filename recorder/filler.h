/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Fills a tape with samples: what the tracker knows of a thread and of an address at this moment, interned into the tape. The path
 * that every sample takes.
 */

#include "recorder/perf-record.h"
#include "recorder/tracker.h"
#include "tape/tape.h"

/*
 * Where samples were taken is told apart from how they came there: a busy function is sampled at each of its instructions under the same
 * callers, which are then found without a look at any of them.
 */

/*
 * Callers that were seen in this tape, as 128 bits of hash over their addresses and the versions of the mappings that they were looked up
 * in. Two of a million are taken for one another once in 10^26 tapes.
 */
struct filler_callers {
	uint64_t hash;
	uint64_t check;
	uint32_t stack;
	bool cut; /* at a mark that means nothing to us */
};

/* An address that was looked up in the mappings of a version. */
struct filler_address {
	uint64_t address;
	uint64_t version; /* + 1; 0: none was */
	uint32_t frame;
};

#define FILLER_ADDRESSES 4096

struct filler {
	struct tracker *tracker;
	struct tape *tape; /* borrowed; set with filler_start() */
	array_of(uint32_t) module; /* of the tracker's modules: their number in the tape + 1 */
	uint64_t generation; /* of those modules' numbers */
	array_of(uint32_t) stack; /* scratch: the frames of one sample's callers, innermost first */
	array_of(struct filler_callers) callers;
	struct table callers_table;
	struct filler_address *addresses; /* so many; each address has one place among them */
};

/* The tracker must outlive the filler. 0 or -ENOMEM. */
int filler_init(struct filler *filler, struct tracker *tracker);
void filler_done(struct filler *filler);
/* From now on into this tape. */
void filler_start(struct filler *filler, struct tape *tape);
/* Adds a SAMPLE record. 0; 1 when its callchain had to be cut, which the caller counts; -ENOMEM. */
int filler_add(struct filler *filler, const struct perf_record *record);
