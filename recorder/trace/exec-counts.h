/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How often the cgroups of units and containers were made: each start of a service makes one, and
 * each container is one. Fed with what the kernel tells of mkdir, it counts what starts and ends
 * between two looks of gauges/units.c, which sees one start a minute at the most. It counts from
 * its own start on; lost records are missing in it. With cgroup v1 one start makes a cgroup in
 * several hierarchies: the one with the most counts.
 */

#include "tape/tape.h"

/* Beyond so many names all is forgotten, and counted from 0: those of pods would add up. */
#define EXEC_COUNTS_MAX 4096

struct exec_counts;

/* 0 or -ENOMEM. */
int exec_counts_new(struct exec_counts **ret_starts);
struct exec_counts *exec_counts_free(struct exec_counts *starts);

/* A cgroup of that hierarchy, a number of the kernel's, was made. 0 or -ENOMEM. */
int exec_counts_made(struct exec_counts *starts, uint64_t root, const char *path);
/* Puts the counters into the tape (TAPE_GAUGE_MADE) once a minute, and the last time of a tape. 0
 * or -ENOMEM. */
int exec_counts_give(struct exec_counts *starts, struct tape *tape, uint64_t now_ns, bool last);
