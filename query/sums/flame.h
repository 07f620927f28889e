/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Converts folded stacks to a tree of frames for a flame graph; the width of a frame is its share.
 * Leaves out frames that are too narrow to see. If more than `frames_max` remain, leaves out more
 * of the narrowest.
 */

#include "query/sums/folded.h"

enum flame_kind {
	/* the root */
	FLAME_ALL,
	FLAME_COMM,
	FLAME_KERNEL,
	FLAME_PROGRAM,
	FLAME_GO,
	FLAME_JIT,
	FLAME_VDSO,
	FLAME_UNKNOWN,
};
#define FLAME_KINDS 8

struct flame_frame {
	/* borrowed from the folded stacks; the root's name is "all" */
	const char *name;
	enum flame_kind kind;
	/* 0: the root */
	uint32_t depth;
	/* number of samples to the left of the frame */
	uint64_t start;
	uint64_t samples;
	/* the part of the samples that is of the earlier window; 0 without flame_options.earlier */
	uint64_t earlier;
};

/*
 * Frame 0 is the root. A frame comes before its children, which are its callees, or its callers in
 * a reversed tree. Siblings are sorted by name.
 */
struct flame {
	array_of(struct flame_frame) frames;
	/* depth of the deepest frame */
	uint32_t depth;
	/* number of frames left out */
	uint64_t left_out;
	/* some frames were left out only because of `frames_max` */
	bool over_max;
	/* the smallest share with which a frame stays */
	double least;
};

struct flame_options {
	/* frames with a smaller share of all samples are left out */
	double min_share;
	size_t frames_max;
	/*
	 * start the tree at the leaves: the callers of a function come after it, and the threads
	 * come last
	 */
	bool reverse;
	/*
	 * the stacks are of two windows: how much of the weight of each line is of the earlier one,
	 * indexed by line; NULL: one window
	 */
	const uint64_t *earlier;
};

/*
 * Makes the tree from stacks that were folded with `kinds`. Returns 0 or -ENOMEM.
 */
int flame_make(const struct folded *folded, const struct flame_options *options,
	       struct flame *ret_flame);
void flame_done(struct flame *flame);
