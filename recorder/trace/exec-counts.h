/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * How often the cgroups of units and containers were made: each start of a service makes one, and each container is one. Fed with what the kernel
 * tells of mkdir, it counts what starts and ends between two looks of gauges/units.c, which sees one start a minute at the most. It counts from its
 * own start on; lost records are missing in it. With cgroup v1 one start makes a cgroup in several hierarchies: the one with the most counts.
 */

#include "tape/tape.h"

/* Beyond so many names all is forgotten, and counted from 0: those of pods would add up. */
#define STARTS_MAX 4096

struct starts;

/* 0 or -ENOMEM. */
int starts_new(struct starts **ret_starts);
struct starts *starts_free(struct starts *starts);

/* A cgroup of that hierarchy, a number of the kernel's, was made. 0 or -ENOMEM. */
int starts_made(struct starts *starts, uint64_t root, const char *path);
/* Puts the counters into the tape (TAPE_GAUGE_MADE) once a minute, and the last time of a tape. 0 or -ENOMEM. */
int starts_give(struct starts *starts, struct tape *tape, uint64_t now_ns, bool last);
