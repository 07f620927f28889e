/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A second opinion: elfutils' libdw walks the same copy of a stack. It reads the files itself, and
 * has nothing in common with unwind/ but the registers and the copy.
 */

#include "recorder/procs/tracker.h"
#include "unwind/stack-walk.h"

struct libdw_walk;

/* Returns NULL if the tests are built without libdw, or without memory. */
struct libdw_walk *libdw_walk_new(void);
struct libdw_walk *libdw_walk_free(struct libdw_walk *libdw);

/*
 * Walks a stack with the mappings that the tracker knows now. Fills in `addresses` and `count` of
 * `walk`, and leaves its end as it is. Only for x86-64.
 */
void libdw_walk_run(struct libdw_walk *libdw, struct tracker *tracker, int32_t pid, int32_t tid,
		    struct stack_walk *walk);
