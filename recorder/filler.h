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
 * A callchain that was seen in this tape, as 128 bits of hash over its addresses and the versions of the mappings that they were looked
 * up in. Two of a million chains are taken for one another once in 10^26 tapes.
 */
struct filler_chain {
	uint64_t hash;
	uint64_t check;
	uint32_t stack;
	uint32_t frame;
	bool cut; /* at a mark that means nothing to us */
};

struct filler {
	struct tracker *tracker;
	struct tape *tape; /* borrowed; set with filler_start() */
	array_of(uint32_t) module; /* of the tracker's modules: their number in the tape + 1 */
	uint64_t generation; /* of those modules' numbers */
	array_of(uint32_t) stack; /* scratch: the frames of one sample, leaf first */
	array_of(struct filler_chain) chains;
	struct table chain_table;
	bool cut; /* the callchain at hand */
};

/* The tracker must outlive the filler. */
void filler_init(struct filler *filler, struct tracker *tracker);
void filler_done(struct filler *filler);
/* From now on into this tape. */
void filler_start(struct filler *filler, struct tape *tape);
/* Adds a SAMPLE record. 0; 1 when its callchain had to be cut, which the caller counts; -ENOMEM. */
int filler_add(struct filler *filler, const struct perf_record *record);
