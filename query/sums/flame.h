/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Folded stacks as a tree of frames, each as wide as its share: what a flame graph shows. Frames too narrow to be seen are left out, and so
 * many of the narrowest that the rest is no more than was asked for.
 */

#include "query/sums/folded.h"

enum flame_kind {
	FLAME_ALL, /* the root */
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
	const char *name; /* borrowed from the folded stacks; the root's is "all" */
	enum flame_kind kind;
	uint32_t depth; /* 0: the root */
	uint64_t start; /* how many samples are left of it */
	uint64_t samples;
};

/* Frame 0 is the root; callers come before what they call, siblings by name. */
struct flame {
	array_of(struct flame_frame) frames;
	uint32_t depth; /* of the deepest */
	uint64_t left_out; /* frames */
	bool over_max; /* some of them for want of room, and not as they are narrower than was asked for */
	double least; /* share that a frame must have had to be there */
};

/* Of stacks that were folded with their kinds. min_share is of all samples. 0 or -ENOMEM. */
int flame_make(
	const struct folded *folded, double min_share, size_t frames_max, struct flame *ret_flame);
void flame_done(struct flame *flame);
