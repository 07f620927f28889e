/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stacks of a tape by the callchains that the kernel gives. The leaf, where a sample was taken, is looked up apart from its callers, of which
 * there are far fewer.
 */

#include "base/array.h"
#include "recorder/frames.h"
#include "recorder/perf-record.h"
#include "recorder/recent.h"
#include "recorder/tracker.h"
#include "tape/tape.h"

/* A caller, from the inside outwards. */
struct chain_step {
	uint64_t address;
	uint64_t hash; /* of it and all that called it, under the mappings of the process */
	enum perf_cpu_mode mode;
};

/* The callchain at hand. */
struct chain {
	uint64_t mappings; /* hash of their versions */
	uint64_t hash; /* of all callers, under these mappings */
	uint64_t leaf;
	enum perf_cpu_mode leaf_mode;
	size_t first; /* of the callers, among the entries */
	size_t depth; /* how many they are */
	bool is_split; /* the steps are its callers */
	bool no_leaf; /* the kernel gave no address at all */
	bool cut; /* at a mark that means nothing to us: what called it is not known */
};

struct chains {
	struct tape *tape; /* borrowed; set with chains_start() */
	struct tracker *tracker;
	struct frames frames;
	struct recent known; /* the stack of callers by their hash and how many they are */
	struct chain chain;
	array_of(struct chain_step) steps; /* its callers */
};

/* The tracker must outlive the chains. 0 or -ENOMEM. */
int chains_init(struct chains *chains, struct tracker *tracker);
void chains_done(struct chains *chains);
/* From now on of this tape. */
void chains_start(struct chains *chains, struct tape *tape);

/* Asks for what chains_find() needs of the record, which comes next. process may be NULL. 0 or -ENOMEM. */
int chains_look(struct chains *chains, const struct tracker_process *process,
	const struct perf_record *record);
/* The leaf's frame and the stack of its callers. 0; 1 when the callchain had to be cut; -ENOMEM. */
int chains_find(struct chains *chains, struct tracker_process *process,
	const struct perf_record *record, uint32_t *ret_frame, uint32_t *ret_stack);
