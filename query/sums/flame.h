/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Folded stacks as a tree of frames, each as wide as its share: what a flame graph shows. Frames
 * too narrow to be seen are left out, and so many of the narrowest that the rest is no more than
 * was asked for.
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
	/* borrowed from the folded stacks; the root's is "all" */
	const char *name;
	enum flame_kind kind;
	/* 0: the root */
	uint32_t depth;
	/* how many samples are left of it */
	uint64_t start;
	uint64_t samples;
};

/* Frame 0 is the root; callers come before what they call, siblings by name. */
struct flame {
	array_of(struct flame_frame) frames;
	/* of the deepest */
	uint32_t depth;
	/* frames */
	uint64_t left_out;
	/* some of them for want of room, and not as they are narrower than was asked for */
	bool over_max;
	/* share that a frame must have had to be there */
	double least;
};

/* Of stacks that were folded with their kinds. min_share is of all samples. 0 or -ENOMEM. */
int flame_make(const struct folded *folded, double min_share, size_t frames_max,
	       struct flame *ret_flame);
void flame_done(struct flame *flame);
